"""Messages that left without being consumed, counted by origin and cause."""

import pytest

from pybroker.core.routing.publish import names_of
from pybroker.core.stats import drops
from pybroker.core.stats.drops import DropCounts
from tests.fakes import World


class FakeLimits:
    def __init__(self, dead_letter_exchange=None):
        self.dead_letter_exchange = dead_letter_exchange


class FakeQueue:
    def __init__(self, dead_letter_exchange=None):
        self.limits = FakeLimits(dead_letter_exchange)


class FakeRun:
    def __init__(self, *names):
        self.names = names_of(*names)


class FakeEntry:
    def __init__(self, run, messages, octets):
        self.run, self.indexes, self.body_octets = run, range(messages), octets


def told(found):
    return [(loss.kind, loss.reason, loss.names.routing_key, loss.returned, *counts) for loss, *counts in found.pop()]


def test_messages_of_one_way_are_one_counter():
    found, vhost = DropCounts(), World().vhost
    for _ in range(3):
        found.unroutable(vhost, names_of("orders", "new"), [b"abc", b"de"], "NO_ROUTE", returned=False)
    found.unroutable(vhost, names_of("orders", "new"), [b"x"], "NO_ROUTE", returned=True)
    assert told(found) == [
        ("unroutable", "NO_ROUTE", "new", False, 6, 15),
        ("unroutable", "NO_ROUTE", "new", True, 1, 1),
    ]
    assert found.pop() == []


@pytest.mark.parametrize(("exchange", "kind"), [(None, "expired"), ("dead", "dead_letter")])
def test_what_leaves_a_queue_unread_goes_to_its_dead_letter_exchange_or_ends(exchange, kind):
    found = DropCounts()
    found.departed(
        FakeQueue(exchange), [FakeEntry(FakeRun("", "q"), 2, 20), FakeEntry(FakeRun("", "q"), 1, 5)], "expired"
    )
    if exchange is None:
        assert told(found) == [(kind, "expired", "q", False, 3, 25)]
    else:
        assert [each[:2] for each in told(found)] in ([(kind, "expired")], [(kind, "expired")] * 2)


def test_what_is_too_much_is_counted_together(monkeypatch):
    monkeypatch.setattr(drops, "COUNTERS_MAX", 2)
    found, vhost = DropCounts(), World().vhost
    for key in "abca":
        found.unroutable(vhost, names_of("x", key), [b"1"], "NO_ROUTE", returned=False)
    assert [(each[2], each[4]) for each in told(found)] == [("a", 2), ("b", 1), ("(others)", 1)]


def test_the_broker_tells_of_what_reaches_no_queue_and_of_what_expires():
    world = World()
    found = world.broker.losses = DropCounts()
    peer = world.connect()
    peer.declare("short", {"x-message-ttl": 0})
    peer.declare("dying", {"x-message-ttl": 0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "short"})
    peer.publish("", "nowhere", b"lost")
    peer.publish("", "nowhere", b"returned", mandatory=True)
    peer.publish("", "short", b"old")
    peer.publish("", "dying", b"dead")
    world.run()
    assert sorted(each[:5] for each in told(found)) == [
        ("dead_letter", "expired", "dying", False, 1),
        ("expired", "expired", "short", False, 2),
        ("unroutable", "NO_ROUTE", "nowhere", False, 1),
        ("unroutable", "NO_ROUTE", "nowhere", True, 1),
    ]
