"""Ranges of messages that were delivered differently often are what a plain dict says."""

from array import array

from hypothesis import given, strategies as st

from pybroker.core.queue.paging.delivery_counts import DeliveryCounts, delivered_alike, deliveries_at

GAPS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(-1, 3)), max_size=8)


@given(GAPS, st.integers(-1, 1), st.integers(1, 30), st.integers(0, 10))
def test_it_says_what_a_dict_says(gaps, others, first, count):
    columns = array("Q"), array("Q"), array("i")
    model = dict.fromkeys(range(1, 100), others)
    at = 1
    for gap, length, times in gaps:
        at += gap
        for column, number in zip(columns, (at, at + length - 1, times), strict=True):
            column.append(number)
        model |= dict.fromkeys(range(at, at + length), times)
        at += length
    counts = DeliveryCounts(*columns, others)
    last = first + count
    alike = list(delivered_alike(counts, first, last))
    assert [(seq, model[seq]) for seq in range(first, last + 1)] == [
        (seq, times) for start, stop, times in alike for seq in range(start, stop + 1)
    ]
    assert all(model[seq] == deliveries_at(counts, seq) for seq in range(first, last + 1))
    assert [(first, last, 3)] == list(delivered_alike(3, first, last))
