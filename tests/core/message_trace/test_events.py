"""A reader that is slow costs nobody anything."""

from pybroker.core.message_trace import events as module
from tests.core.message_trace.conftest import names


def test_a_reader_that_is_slow_loses_events_and_learns_how_many(world, peer, follow, monkeypatch):
    monkeypatch.setattr(module, "EVENTS_MAX", 3)
    trace = follow(queue="q", count=2)
    for _ in range(2):
        peer.publish("", "q")
        peer.get("q")
    assert names(trace) == ["published", "routed", "delivered", "ended", "events_dropped"]
    assert trace.over == "count"


def test_the_number_of_those_that_were_dropped_comes_where_they_would_have(monkeypatch):
    monkeypatch.setattr(module, "EVENTS_MAX", 2)
    events = module.EventBuffer()
    for number in range(4):
        events.add({"event": str(number)})
    assert [{"event": "0"}] == events.pop(1)
    assert [{"event": "1"}, {"event": "events_dropped", "count": 2}] == events.pop(9)
    events.add({"event": "4"})
    events.clear()
    assert [] == events.pop(9)
