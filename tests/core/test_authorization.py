"""Permission x operation, generated: what each operation needs stands in one table, the cells are made from it."""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import pytest

from pybroker.core.auth.access import find_accessible_queue
from pybroker.core.auth.users import User
from pybroker.core.events.cause import BROKER
from pybroker.core.topology.exchange_declare import bind, delete_exchange, unbind
from pybroker.core.topology.queue_declare import QueueProperties, check_queue_declare
from pybroker.core.topology.vhost import VHost
from pybroker.errors import AccessRefused
from pybroker.wire.table import Table
from tests.topology import exchange, new_vhost, queue, refusal, wired

Need = tuple[str, str, str]  # permission, kind, name


class Operation(NamedTuple):
    """`needs` in the order in which they are asked for."""

    name: str
    needs: list[Need]
    run: Callable[[VHost, User], Any]


def declare_queue(arguments: Table) -> Callable[[VHost, User], Any]:
    asked = QueueProperties(durable=True, exclusive=False, auto_delete=False, arguments=arguments)
    return lambda vhost, user: check_queue_declare(vhost, user, None, "new", asked)


def binding(change: Any, kind: str, name: str, source: str = "x") -> Callable[[VHost, User], Any]:
    return lambda vhost, user: change(vhost, user, None, source, kind, name, "k", Table(), BROKER)


OPERATIONS = [
    Operation(
        "exchange.declare",
        [("configure", "exchange", "new")],
        lambda vhost, user: exchange(vhost, "new", user=user),
    ),
    # A2
    Operation(
        "exchange.declare with an alternate",
        [("configure", "exchange", "new"), ("read", "exchange", "new"), ("write", "exchange", "ae")],
        lambda vhost, user: exchange(vhost, "new", arguments=wired(alternate_exchange="ae"), user=user),
    ),
    Operation(
        "exchange.declare with the default exchange as alternate",
        [("configure", "exchange", "new"), ("read", "exchange", "new"), ("write", "exchange", "amq.default")],
        lambda vhost, user: exchange(vhost, "new", arguments=wired(alternate_exchange=""), user=user),
    ),
    Operation(
        "exchange.declare again, with an alternate",
        [("configure", "exchange", "chained")],
        lambda vhost, user: exchange(vhost, "chained", arguments=wired(alternate_exchange="ae"), user=user),
    ),
    Operation("exchange.declare, passive", [], lambda vhost, user: exchange(vhost, "x", passive=True, user=user)),
    Operation(
        "exchange.delete",
        [("configure", "exchange", "x")],
        lambda vhost, user: delete_exchange(vhost, user, "x", BROKER, if_unused=False),
    ),
    Operation("queue.declare", [("configure", "queue", "new")], declare_queue(Table())),
    Operation(
        "queue.declare with a dead letter exchange",
        [("configure", "queue", "new"), ("read", "queue", "new"), ("write", "exchange", "dlx")],
        declare_queue(wired(x_dead_letter_exchange="dlx")),
    ),
    Operation(
        "queue.declare with the default exchange for dead letters",
        [("configure", "queue", "new"), ("read", "queue", "new"), ("write", "exchange", "amq.default")],
        declare_queue(wired(x_dead_letter_exchange="")),
    ),
    Operation("queue.declare, passive", [], lambda vhost, _: find_accessible_queue(vhost, None, "q")),
    Operation("queue.bind", [("write", "queue", "q"), ("read", "exchange", "x")], binding(bind, "queue", "q")),
    Operation("queue.unbind", [("write", "queue", "q"), ("read", "exchange", "x")], binding(unbind, "queue", "q")),
    Operation("exchange.bind", [("write", "exchange", "y"), ("read", "exchange", "x")], binding(bind, "exchange", "y")),
    Operation(
        "exchange.unbind", [("write", "exchange", "y"), ("read", "exchange", "x")], binding(unbind, "exchange", "y")
    ),
]


def new_world() -> VHost:
    vhost = new_vhost()
    vhost.broker.add_vhost("other")
    queue(vhost, "q")
    for name in ("x", "y"):
        exchange(vhost, name, "fanout")
    exchange(vhost, "chained", arguments=wired(alternate_exchange="ae"))
    return vhost


def user_with(vhost: VHost, needs: list[Need], vhost_name: str = "/", tags: tuple[str, ...] = ()) -> User:
    """Return a user that is granted these names, each for its permission only."""
    users = vhost.broker.users
    users.add("U", "secret", tags)
    user = users.named("U")
    patterns = {
        permission: "^("
        + "|".join(sorted({name for p, _, name in needs if p == permission})).replace(".", "[.]")
        + ")$"
        for permission in ("configure", "write", "read")
    }
    users.set_permissions("U", vhost_name, **{p: "" if text == "^()$" else text for p, text in patterns.items()})
    return user


def text_of(need: Need) -> tuple[int, str]:
    permission, kind, name = need
    return 403, f"{permission} access to {kind} '{name}' in vhost '/' refused for user 'U'"


def cells() -> list[Any]:
    """Return (operation, granted, the need that is refused or None): each operation with all, and without each one."""
    found = []
    for operation in OPERATIONS:
        needs = operation.needs
        found.append(pytest.param(operation, needs, None, id=f"{operation.name}: all"))
        for missing in needs:
            granted = [need for need in needs if need != missing]
            found.append(pytest.param(operation, granted, missing, id=f"{operation.name}: no {missing[0]}"))
        # The permissions are there, but for the other two verbs.
        for first in needs[:1]:
            granted = [(p, k, n) for p, (_, k, n) in product(("configure", "write", "read"), needs) if p != first[0]]
            found.append(pytest.param(operation, granted, first, id=f"{operation.name}: other verbs"))
    return found


# A2 among them.
@pytest.mark.parametrize(("operation", "granted", "missing"), cells())
@pytest.mark.parametrize("tags", [(), ("administrator",), ("management", "policymaker", "monitoring", "impersonator")])
def test_a2_each_operation_needs_exactly_what_the_table_says(operation, granted, missing, tags):
    vhost = new_world()
    user = user_with(vhost, granted, tags=tags)
    if missing is None:
        operation.run(vhost, user)
        return
    generation = vhost.generation
    with pytest.raises(AccessRefused) as error:
        operation.run(vhost, user)
    assert refusal(error.value) == text_of(missing)
    assert vhost.generation == generation  # nothing was changed on the way


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.needs], ids=lambda each: each.name)
def test_permissions_in_another_virtual_host_do_not_count(operation):
    vhost = new_world()
    user = user_with(vhost, operation.needs, vhost_name="other")
    with pytest.raises(AccessRefused) as error:
        operation.run(vhost, user)
    assert refusal(error.value) == text_of(operation.needs[0])


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_the_broker_itself_needs_no_permission(operation):
    operation.run(new_world(), None)


# A2: not asked for when the exchange exists already; it would have been refused at creation.
def test_a2_the_alternates_permissions_are_asked_for_at_creation_only():
    vhost = new_world()
    user = user_with(vhost, [("configure", "exchange", "(new|chained)")])
    arguments = wired(alternate_exchange="ae")
    assert exchange(vhost, "chained", arguments=arguments, user=user).alternate == "ae"
    with pytest.raises(AccessRefused) as error:
        exchange(vhost, "new", arguments=arguments, user=user)
    assert refusal(error.value) == text_of(("read", "exchange", "new"))


def test_a_change_of_permissions_acts_at_once():
    vhost = new_world()
    users = vhost.broker.users
    user = user_with(vhost, [("configure", "exchange", "new")])
    exchange(vhost, "new", user=user)
    users.clear_permissions("U", "/")
    with pytest.raises(AccessRefused):
        delete_exchange(vhost, user, "new", BROKER, if_unused=False)
    users.set_permissions("U", "/", "new", "", "")
    delete_exchange(vhost, user, "new", BROKER, if_unused=False)
    users.set_permissions("U", "/", ".*", ".*", ".*")
    users.delete("U")
    with pytest.raises(AccessRefused):  # a session may hold the object still
        exchange(vhost, "new", user=user)


@pytest.mark.parametrize("change", [bind, unbind])
def test_a_topic_permission_is_asked_for_the_key_of_a_binding(change):
    vhost = new_world()
    users = vhost.broker.users
    user = user_with(vhost, [("write", "queue", "q"), ("read", "exchange", "(amq.topic|amq.direct)")])
    users.set_topic_permissions("U", "/", "amq.topic", "^mine$", "^k\\.")
    change(vhost, user, None, "amq.topic", "queue", "q", "k.1", Table(), BROKER)
    with pytest.raises(AccessRefused) as error:
        change(vhost, user, None, "amq.topic", "queue", "q", "mine", Table(), BROKER)
    text = "read access to topic 'mine' in exchange 'amq.topic' in vhost '/' refused for user 'U'"
    assert refusal(error.value) == (403, text)
    users.set_topic_permissions("U", "/", "amq.direct", "", "")
    change(vhost, user, None, "amq.direct", "queue", "q", "anything", Table(), BROKER)  # not a topic exchange
