"""Rows that a start found find their messages, whatever the sizes of these and wherever they begin and end."""

from array import array

from hypothesis import given, strategies as st

from pybroker.core.due_index import DUE_MAX
from pybroker.core.queue.retry import recovered
from pybroker.core.queue.retry.index import RetryIndex
from pybroker.core.queue.retry.recovered import RecoveredRows
from pybroker.seq_ranges import SeqRanges

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(1, 3), st.integers(1, 9)), max_size=12)
ELEMENTS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=12)


@given(ROWS, ELEMENTS, st.integers(1, 12))
def test_it_finds_what_a_plain_list_finds(rows, elements, cut):
    columns = array("Q"), array("Q"), array("Q"), array("Q")
    waits, at = {}, 1
    for gap, length, times, due_ms in rows:
        at += gap
        for column, number in zip(columns, (at, at + length - 1, times, due_ms), strict=True):
            column.append(number)
        waits |= dict.fromkeys(range(at, at + length), (times, due_ms))
        at += length
    parts, sizes, at = [SeqRanges(), SeqRanges()], {}, 1
    for number, (gap, count, size) in enumerate(elements):
        at += gap
        parts[number >= cut].add(at, count, size)
        sizes |= dict.fromkeys(range(at, at + count), size)
        at += count
    found = RecoveredRows(*columns)
    left = [found.split_off(part) for part in parts if part.count]
    assert {seq: size for seq, size in sizes.items() if seq not in waits} == {
        seq: size for part in left for first, count, size in part.ranges() for seq in range(first, first + count)
    }
    index = RetryIndex()
    index.load(found.columns())
    expected = {seq: (size, *waits[seq]) for seq, size in sizes.items() if seq in waits}
    assert expected == {
        row.seq + at: (row.size, row.deliveries, row.due_ms) for row in index for at in range(row.messages)
    }
    assert [(row.due_ms, row.seq) for row in index] == sorted((row.due_ms, row.seq) for row in index)
    assert (len(expected), sum(size for size, *_ in expected.values())) == (found.messages, found.octets)
    assert (len(expected), sum(1 for _ in index)) == (index.total, index.count)


def test_rows_are_no_larger_than_a_window_and_due_times_no_larger_than_a_column(monkeypatch):
    monkeypatch.setattr(recovered, "FETCH_MESSAGES", 4)
    monkeypatch.setattr(recovered, "FETCH_OCTETS", 10)
    for size, messages in ((0, [4, 4, 1]), (5, [2, 2, 2, 2, 1]), (50, [1] * 9)):
        found = RecoveredRows(*[array("Q", [number]) for number in (1, 9, 1, (1 << 64) - 1)])
        seq_ranges = SeqRanges()
        seq_ranges.add(1, 9, size)
        assert 0 == found.split_off(seq_ranges).count
        dues, _, counts, _, _ = found.columns()
        assert (messages, {DUE_MAX}) == (list(counts), set(dues))
