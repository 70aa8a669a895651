"""Definitions in and out as a whole: RabbitMQ's own, all or nothing, in shares."""

import gc

import pytest

from pybroker.core.transfer.checked import NO_INTERNAL
from pybroker.core.transfer.transfer import SHARE_MS, bulleted
from tests.core.transfer.documents import finish, golden, imported, normal, planned
from tests.fakes import World

QUEUE = {"vhost": "/", "name": "q", "durable": True, "auto_delete": False, "arguments": {"x-max-length": 5}}
USER = {"name": "u", "password_hash": "", "tags": "monitoring"}


@pytest.fixture
def world():
    return World()


def test_what_rabbitmq_exported_is_exported_again(world):
    """F9-F13: import, export, and a plan that has nothing to do."""
    world.broker.delete_user("guest")
    outcome = imported(world, golden())
    assert ((), "") == (outcome.faults, outcome.stopped)
    # RabbitMQ leaves internal exchanges out, so their bindings lead nowhere.
    assert 2 == len(outcome.warnings)
    assert all(text.endswith(f"exchange 'inner' does not exist; {NO_INTERNAL}") for text in outcome.warnings)
    expected = golden()
    expected["bindings"] = [b for b in golden()["bindings"] if "inner" not in (b["source"], b["destination"])]
    exported = world.broker.transfer.whole()
    assert normal(expected) == normal(exported)
    again = planned(world, exported)
    assert ([], ()) == (again.changes, again.faults)
    # A second import leaves out the same, and has nothing else to do.
    assert {"skip"} == {change.action for change in planned(world, golden()).changes}


def test_one_fault_and_nothing_is_changed(world):
    """Differs from RabbitMQ, which makes what comes before it."""
    before = world.broker.transfer.whole()
    bad = {"vhost": "/", "name": "b", "arguments": {"x-max-length": -1}}
    outcome = imported(world, {"users": [USER], "queues": [QUEUE, bad, {"name": "x"}]})
    assert (
        "item 3 of queues: it has no virtual host; import definitions of a single virtual host with --vhost",
        "invalid arg 'x-max-length' for queue 'b' in vhost '/': {value_negative,-1}",
    ) == outcome.faults
    assert outcome.fault_text == (
        "The definitions cannot be imported; nothing was changed:\n * item 3 of queues: it has no virtual "
        "host; import definitions of a single virtual host with --vhost\n * invalid arg 'x-max-length' for "
        "queue 'b' in vhost '/': {value_negative,-1}\nuse --skip-unsupported to skip 1 of these, which the "
        "node does not support"
    )
    assert before == world.broker.transfer.whole()


def test_what_is_there_is_updated_or_stays(world):
    assert {"create": 2} == imported(world, {"users": [USER], "queues": [QUEUE]}).counts
    changed = {**QUEUE, "durable": False}
    outcome = imported(world, {"users": [{**USER, "tags": "management"}], "queues": [changed]})
    assert {"update": 1, "conflict": 1} == outcome.counts
    assert (
        "Definitions imported: 1 updated, 1 kept although the file differs (definitions_plan shows which)"
        == outcome.text
    )
    assert ("management",) == world.broker.users.get("u").tags
    assert world.vhost.queues["q"].durable


def test_nothing_is_done_twice(world):
    content = {"users": [USER], "queues": [QUEUE]}
    imported(world, content)
    commit_position = world.broker.definitions.commit_position
    again = imported(world, content)
    assert ({}, "Definitions imported: nothing to change") == (again.counts, again.text)
    assert commit_position == world.broker.definitions.commit_position


def test_what_stays_as_it_is_is_told_all_the_same(world):
    imported(world, {"queues": [QUEUE]})
    outcome = imported(world, {"queues": [{**QUEUE, "durable": False}]})
    assert (
        "Definitions imported: nothing to change, 1 kept although the file differs (definitions_plan shows which)"
        == outcome.text
    )


def test_a_plan_changes_nothing(world):
    before = world.broker.transfer.whole()
    assert {"create": 1} == planned(world, {"queues": [QUEUE]}).counts
    assert before == world.broker.transfer.whole()


def test_the_same_again_is_skipped_where_that_is_wanted(world):
    content = {"users": [USER], "queues": [QUEUE]}
    assert not imported(world, content, skip_if_unchanged=True).unchanged
    world.broker.users.set_tags("u", ())
    reordered = {"queues": [QUEUE], "users": [dict(reversed(USER.items()))]}
    outcome = imported(world, reordered, skip_if_unchanged=True)
    assert outcome.unchanged
    assert "The definitions are unchanged since the last import and were skipped" == outcome.text
    assert () == world.broker.users.get("u").tags
    # The mark is the node's own and no part of an export.
    assert [] == world.broker.transfer.whole()["global_parameters"]
    assert not imported(world, content).unchanged
    assert not imported(world, {"queues": []}, skip_if_unchanged=True).unchanged


def test_what_cannot_be_imported_is_not_remembered(world):
    bad = {"queues": [{**QUEUE, "vhost": "nowhere"}]}
    for _ in range(2):
        assert imported(world, bad, skip_if_unchanged=True).faults


def test_one_virtual_host_goes_into_another(world):
    world.broker.add_vhost("a")
    world.broker.add_vhost("b")
    imported(world, {"queues": [{**QUEUE, "vhost": "a"}]})
    exported = world.broker.transfer.whole("a")
    assert {"exchanges", "policies", "parameters", "queues", "bindings"} == exported.keys() - {
        *("rabbit_version", "rabbitmq_version", "product_name", "product_version")
    }
    assert "vhost" not in exported["queues"][0]
    assert () == imported(world, exported, "b").faults
    assert ["q"] == list(world.broker.vhosts["b"].queues)
    assert ('Please create virtual host "c" prior to importing definitions.',) == imported(world, exported, "c").faults


def test_others_have_the_loop_between_two_shares(world):
    document = world.broker.transfer.document()
    for _ in document.read("queues", [{**QUEUE, "name": str(n)} for n in range(100)]):
        pass
    pauses = []
    world.broker.clock = moving = _Moving()
    steps = list(world.broker.transfer.imported(document, pauses.append))
    assert {300} == {total for _, total in steps}
    assert steps == sorted(steps)
    assert (296, 300) == steps[-1]
    assert len(steps) == len(pauses) > 10
    assert moving.now_ms


class _Moving:
    """A clock on which each look costs a share."""

    now_ms = timestamp_ms = 1

    def refresh(self):
        self.now_ms += SHARE_MS


def test_a_change_in_between_ends_it(world):
    world.broker.add_vhost("v")
    document = world.broker.transfer.document()
    for _ in document.read("queues", [{**QUEUE, "vhost": "v", "name": str(n)} for n in range(20)]):
        pass
    world.broker.clock = _Moving()

    def pause(_):
        if len(world.broker.vhosts.get("v").queues if "v" in world.broker.vhosts else ()) >= 8:
            world.broker.delete_vhost("v")

    outcome = finish(world.broker.transfer.imported(document, pause))
    assert outcome.stopped.startswith("queue '12' in vhost 'v': its virtual host was deleted meanwhile. ")
    assert outcome.stopped.endswith("12 of 20 changes were made; import again to complete them")


def test_collections_wait_for_the_end_of_many(world, monkeypatch):
    monkeypatch.setattr("pybroker.core.transfer.transfer.COLLECTED_MAX", 1)
    seen = []
    world.broker.clock = _Moving()
    document = world.broker.transfer.document()
    for _ in document.read("queues", [{**QUEUE, "name": str(n)} for n in range(20)]):
        pass
    try:
        finish(world.broker.transfer.imported(document, lambda _: seen.append(gc.isenabled())))
        assert {False} == set(seen)
        assert gc.isenabled()
    finally:
        gc.unfreeze()


def test_long_lists_are_cut():
    assert "t:\n * 0\n" == bulleted("t", tuple(map(str, range(25))))[:8]
    assert bulleted("t", tuple(map(str, range(25)))).endswith(" * 19\n * and 5 more")
