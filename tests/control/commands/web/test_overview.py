"""Sums over all that a user sees."""

import pytest

from pybroker.control.access import ActingUser
from pybroker.control.execute import Executor
from pybroker.control.objects import lengths


@pytest.fixture
def overview(operator, two):
    users = two.broker.users
    users.add("ann", "ann", ("management",))
    users.set_permissions("ann", "other", ".*", ".*", ".*")
    executor = Executor(two.broker, operator.daemon, lambda _: None)

    def overview(name, *tags):
        try:
            next(executor.run("overview", {}, ActingUser(name, tags)))
        except StopIteration as end:
            return end.value.value

    return overview


def test_administrators_see_the_node(overview):
    found = overview("guest", "administrator")
    assert found["object_totals"] == {"channels": 1, "connections": 1, "consumers": 0, "exchanges": 15, "queues": 2}
    assert found["queue_totals"] == {"messages": 4, "messages_ready": 4, "messages_unacknowledged": 0}
    assert (found["message_stats"]["publish"], found["churn"]["connections_opened"]) == (4, 1)
    assert {"direct", "fanout", "headers", "topic", "x-delayed-message"} <= set(found["exchange_types"])


def test_others_see_their_part(overview, two):
    found = overview("ann", "management")
    assert found["object_totals"] == {"channels": 0, "connections": 0, "consumers": 0, "exchanges": 7, "queues": 0}
    assert found["message_stats"]["publish"] == 0
    assert found["churn"] is None
    two.connect(user="ann", password="ann", vhost="other").declare("q")
    assert overview("ann", "management")["object_totals"]["queues"] == 1


def test_very_many_queues_are_counted_in_shares(operator, peer, monkeypatch):
    monkeypatch.setattr(lengths, "QUEUES_PER_STEP", 2)
    for number in range(5):
        peer.declare(f"q{number}")
    operator.pauses.clear()
    assert operator.ask("overview")["object_totals"]["queues"] == 5
    assert operator.pauses == [0, 0, 0]
