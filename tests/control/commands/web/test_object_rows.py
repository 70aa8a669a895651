"""Facts of objects, for those who may see them."""

import pytest

from pybroker.control.access import ActingUser
from pybroker.control.objects.kinds import KINDS
from pybroker.control.spec import BadArguments, Refused

ADMINISTRATOR = ActingUser("guest", ("administrator",))
ANN = ActingUser("ann", ("management",))


@pytest.fixture
def ask(operator, two):
    users = two.broker.users
    users.add("ann", "ann", ("management",))
    users.set_permissions("ann", "other", ".*", ".*", ".*")
    two.connect(user="ann", password="ann", vhost="other").declare("of-ann")

    def ask(kind, *facts, user=ADMINISTRATOR, **more):
        batches = operator.stream("object_rows", user, kind=kind, facts=list(facts), **more)
        return [row for batch in batches for row in batch]

    return ask


def test_a_row_has_the_facts_in_the_order_asked_for(ask):
    assert ask("queue", "messages", "name", "arguments") == [[4, "a", {}], [0, "b", {}], [0, "of-ann", {}]]
    assert ask("exchange", "name", only="other")[0] == [""]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_all_facts_of_all_kinds_can_be_read(ask, kind):
    facts = sorted(KINDS[kind].readers)
    assert all(len(row) == len(facts) for row in ask(kind, *facts))


def test_those_of_some_keys(ask):
    found = ask("queue", "name", keys=["/", "b", "other", "of-ann", "/", "none", "no", "a"], key_parts=2)
    assert found == [["b"], ["of-ann"]]
    (name, _) = ask("connection", "name")
    assert ask("connection", "name", keys=[*name, "none"]) == [name]
    assert ask("channel", "number", keys=[f"{name[0]} (1)", f"{name[0]} (2)", "none (1)", "odd"]) == [[1]]


def test_users_see_their_virtual_hosts_and_connections(ask):
    assert ask("queue", "name", user=ANN) == [["of-ann"]]
    assert ask("queue", "name", user=ANN, keys=["/", "a"], key_parts=2) == []
    assert ask("vhost", "name", user=ANN) == [["other"]]
    assert ask("connection", "user", user=ANN) == [["ann"]]
    assert ask("channel", "user", user=ANN) == [["ann"]]
    assert len(ask("connection", "user", user=ActingUser("ann", ("monitoring",)))) == 2


@pytest.mark.parametrize(
    ("user", "kind", "more", "text"),
    [
        (ANN, "queue", {"only": "/"}, "User not authorised to access virtual host"),
        (ANN, "queue", {"only": "none"}, "User not authorised to access virtual host"),
        (ADMINISTRATOR, "queue", {"only": "none"}, "Virtual host 'none' does not exist"),
        (ANN, "user", {}, "Not administrator user"),
        (ANN, "permission", {}, "Not administrator user"),
        (ANN, "parameter", {}, "User not authorised to access object"),
    ],
)
def test_refusals(ask, user, kind, more, text):
    with pytest.raises(Refused) as caught:
        ask(kind, user=user, **more)
    assert caught.value.text == text


@pytest.mark.parametrize(
    "more",
    [
        {"kind": "queue", "facts": ["nothing"]},
        {"kind": "queue", "facts": [], "keys": ["a"], "key_parts": 2},
        {"kind": "queue", "facts": [], "keys": ["a"], "key_parts": 0},
        {"kind": "policy", "facts": [], "keys": ["a"]},
        {"kind": "cow", "facts": []},
    ],
)
def test_bad_questions(operator, more):
    with pytest.raises(BadArguments):
        list(operator.stream("object_rows", ADMINISTRATOR, **more))
