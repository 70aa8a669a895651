"""Messages in the log at a start are in the queue again: in order, counted, and all of them on disk alone."""

import pytest
from hypothesis import given, strategies as st

from pybroker.core.queue import recover
from pybroker.core.queue.paging.eviction import SEGMENT_ELEMENTS
from pybroker.seq_ranges import SeqRanges
from tests.core.disk_log import PERSISTENT, DiskBench, on_disk, seq_ranges_of, shrink
from tests.readers import run_of
from tests.store.records import flat

BOTH = st.tuples(st.integers(0, 3), st.integers(1, 3))


@pytest.fixture
def bench(monkeypatch):
    shrink(monkeypatch)
    return DiskBench()


def drained(bench: DiskBench) -> list[tuple[int, bool]]:
    reader = bench.reader()
    bench.settle_down()
    bench.queue.consumers.remove(reader)
    return [(seq, seq in reader.redelivered) for seq in reader.seqs]


def test_recovered_messages_are_counted_and_none_is_read_before_somebody_wants_it(bench):
    bench.queue.restore([(0, False, on_disk(bench, range(1, 30)))], 0)
    bench.settle_down()
    queue = bench.queue
    assert (29, 29, 29, 29) == (
        queue.messages_ready,
        queue.backlog.octets_ready,
        queue.backlog.messages_evicted,
        queue.backlog.octets_evicted,
    )
    assert (0, None) == (bench.log.asked, queue.backlog.head())
    assert [(seq, False) for seq in range(1, 30)] == drained(bench)
    assert 0 == queue.backlog.messages_evicted == queue.backlog.octets_evicted == queue.messages_ready


def test_new_messages_come_after_the_recovered_ones(bench):
    bench.queue.restore([(0, False, on_disk(bench, range(1, 10)))], 1)
    bench.fill(9)
    assert [(seq, seq < 10) for seq in range(1, 19)] == drained(bench)


@given(owners=st.lists(st.integers(0, 3), min_size=1, max_size=60))
def test_parts_that_interleave_come_in_the_order_of_seqs(owners):
    with pytest.MonkeyPatch.context() as monkeypatch:
        shrink(monkeypatch)
        monkeypatch.setattr(recover, "SEGMENT_ELEMENTS", 3)
        bench = DiskBench()
        parts: dict[int, list[int]] = {}
        for seq, owner in enumerate(owners, 1):
            parts.setdefault(owner, []).append(seq)
        bench.queue.restore([(0, False, on_disk(bench, seqs)) for seqs in parts.values()], 0)
        assert [(seq, False) for seq in range(1, len(owners) + 1)] == drained(bench)


@given(gaps=st.lists(BOTH, max_size=8), parts=st.integers(1, 4))
def test_deliveries_are_what_they_were_message_by_message(gaps, parts):
    with pytest.MonkeyPatch.context() as monkeypatch:
        shrink(monkeypatch)
        bench = DiskBench()
        seqs = [seq for seq in range(3, 43) if seq % 7]
        deliveries, at = [], 1
        for gap, length in gaps:
            at += gap
            deliveries.append((at, at + length - 1, 1, 0))
            at += length
        each = -(-len(seqs) // parts)
        parts = [on_disk(bench, seqs[start : start + each]) for start in range(0, len(seqs), each)]
        bench.queue.restore([(0, False, seq_ranges) for seq_ranges in parts], 0, flat(deliveries))
        expected = [(seq, any(first <= seq <= last for first, last, *_ in deliveries)) for seq in seqs]
        assert expected == drained(bench)


def test_messages_of_one_record_that_were_delivered_differently_come_back_each_once(monkeypatch):
    shrink(monkeypatch)
    monkeypatch.setattr("pybroker.core.queue.paging.eviction.FETCH_MESSAGES", 10)
    bench = DiskBench()
    bench.log.append(run_of([b"x"] * 10, 1, PERSISTENT), range(10), (bench.queue.id,))
    bench.log.next_seq = bench.log.safe_seq = 11
    bench.queue.restore([(0, False, seq_ranges_of(range(1, 11)))], 0, flat([(3, 4, 1, 0), (6, 6, 2, 0)]))
    assert [(seq, seq in (3, 4, 6)) for seq in range(1, 11)] == drained(bench)
    assert 0 == bench.queue.unreadable


def test_each_priority_is_a_level_and_what_is_above_the_maximum_is_the_maximum(monkeypatch):
    shrink(monkeypatch)
    bench = DiskBench(x_max_priority=3)
    low, high, above = on_disk(bench, range(1, 5), 0), on_disk(bench, range(5, 9), 3), on_disk(bench, range(9, 12), 200)
    bench.queue.restore([(0, False, low), (3, False, high), (200, False, above)], 0)
    assert [*range(5, 12), *range(1, 5)] == [seq for seq, _ in drained(bench)]


def test_the_timer_is_set_when_the_first_has_been_read_and_no_other_is(monkeypatch):
    shrink(monkeypatch)
    bench = DiskBench()
    bench.queue.restore([(0, True, on_disk(bench, range(1, 30), ttl_ms=100))], 0)
    assert (True, 0) == (bench.queue.timed, bench.queue.timer_ms)
    bench.settle_down()
    assert (bench.now_ms + 100, 1) == (bench.queue.timer_ms, bench.log.asked)
    bench.advance(100)
    bench.settle_down()
    assert (29, 0) == (bench.queue.expired, bench.queue.messages_ready)
    assert not bench.log.live[bench.queue.id]


def test_the_queues_own_ttl_applies_to_what_was_recovered(monkeypatch):
    shrink(monkeypatch)
    bench = DiskBench(x_message_ttl=50)
    bench.queue.restore([(0, False, on_disk(bench, range(1, 9)))], 0)
    bench.settle_down()
    bench.advance(50)
    bench.settle_down()
    assert 8 == bench.queue.expired


def test_a_length_limit_holds_at_once(monkeypatch):
    shrink(monkeypatch)
    bench = DiskBench(x_max_length=5)
    bench.queue.restore([(0, False, on_disk(bench, range(1, 30)))], 0)
    assert (5, 24, 0) == (bench.queue.messages_ready, bench.queue.dropped, bench.log.asked)
    assert set(range(25, 30)) == bench.log.live[bench.queue.id]


def test_nothing_recovered_is_an_empty_queue(bench):
    bench.queue.restore([], 0)
    bench.queue.restore([(0, False, SeqRanges())], [])
    assert (0, None) == (bench.queue.messages, bench.queue.backlog.levels[0].segments)


def test_parts_are_not_arbitrarily_long():
    bench = DiskBench()
    seq_ranges = seq_ranges_of(range(1, 2 * (2 * SEGMENT_ELEMENTS + 5), 2))
    bench.queue.restore([(0, False, seq_ranges)], 0)
    segments = bench.queue.backlog.levels[0].segments
    assert [SEGMENT_ELEMENTS, SEGMENT_ELEMENTS, 5] == [len(part.seq_ranges) for part in segments.parts]
    assert 2 * SEGMENT_ELEMENTS + 5 == bench.queue.messages_ready


def test_short_seq_ranges_join():
    bench = DiskBench()
    parts = [(0, False, seq_ranges_of(range(first, first + 10, 2))) for first in range(1, 1_000, 10)]
    bench.queue.restore(parts, 1)
    assert 1 == len(bench.queue.backlog.levels[0].segments.parts)


def test_messages_that_differ_one_by_one_are_not_a_part_each():
    bench = DiskBench()
    bench.queue.restore(
        [(0, False, seq_ranges_of(range(1, 1_001)))], -1, flat([(seq, seq, 1, 0) for seq in range(1, 1_001, 2)])
    )
    (level,) = bench.queue.backlog.levels
    assert 1 == len(level.segments.parts)
