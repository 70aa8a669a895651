"""Spans of which a table has nothing are rows themselves: when they begin, and when they end."""

from pybroker.daemon.telemetry.gaps import Gaps


def test_a_gap_is_told_of_at_both_ends():
    written = []
    gaps = Gaps(written.extend)
    gaps.end("queue_sample", 5)
    assert written == []
    gaps.begin("queue_sample", 10, "disk")
    gaps.begin("queue_sample", 20, "disk")
    gaps.begin("connection_sample", 20, "overflow", 7)
    gaps.begin("connection_sample", 30, "overflow", 5)
    gaps.end("queue_sample", 40)
    gaps.end("queue_sample", 50)
    gaps.end("connection_sample", 60)
    assert written == [
        {"table": "queue_sample", "from_ms": 10, "to_ms": None, "why": "disk", "rows": None},
        {"table": "connection_sample", "from_ms": 20, "to_ms": None, "why": "overflow", "rows": 7},
        {"table": "queue_sample", "from_ms": 10, "to_ms": 40, "why": "disk", "rows": None},
        {"table": "connection_sample", "from_ms": 20, "to_ms": 60, "why": "overflow", "rows": 12},
    ]


def test_a_clock_that_was_set_leaves_out_a_span_or_has_it_twice():
    written = []
    gaps = Gaps(written.extend)
    gaps.clock_set(100, 900)
    gaps.clock_set(950, 150)
    assert [(each["why"], each["from_ms"], each["to_ms"], each["table"]) for each in written] == [
        ("clock_forward", 100, 900, ""),
        ("clock_back", 150, 950, ""),
    ]
