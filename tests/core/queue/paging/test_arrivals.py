"""Marks tell when a message arrived, up to the pause between two of them, and stay few."""

from pybroker.core.queue.paging import arrivals
from pybroker.core.queue.paging.arrivals import Arrivals


def test_a_message_came_at_the_last_mark_before_it():
    marks = Arrivals()
    marks.start(100, 5_000)
    marks.mark(100, 6_000)
    marks.mark(110, 7_000)
    marks.mark(110, 9_000)
    marks.mark(200, 10_000)
    found = [marks.arrived_ms(seq) for seq in (99, 100, 109, 110, 199, 200, 1_000)]
    assert found == [None, 6_000, 6_000, 9_000, 9_000, 10_000, 10_000]
    assert len(marks) == 3


def test_another_log_has_other_messages():
    marks = Arrivals()
    marks.start(1, 0)
    marks.mark(50, 1_000)
    marks.start(10, 2_000)
    assert (marks.arrived_ms(5), marks.arrived_ms(60)) == (None, 2_000)


def test_old_marks_thin_out(monkeypatch):
    monkeypatch.setattr(arrivals, "MARKS_MAX", 256)
    monkeypatch.setattr(arrivals, "FINENESS", 16)
    marks = Arrivals()
    marks.start(1, 0)
    for second in range(1, 5_000):
        marks.mark(1 + 10 * second, 1_000 * second)
    assert len(marks) <= 256
    for second in range(1, 5_000):
        early_ms = 1_000 * second - marks.arrived_ms(1 + 10 * second)
        assert 0 <= early_ms <= 1_000 + (5_000_000 - 1_000 * second) // 16
