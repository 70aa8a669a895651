"""Rows of delayed messages, and what a purge settles of them."""

from pybroker.core.due_index import DUE_MAX
from pybroker.core.queue.retry.index import ROW_OCTETS, LeavingBlock, RetryIndex, Row


def test_a_row_costs_what_it_says():
    index = RetryIndex()
    index.add(Row(5, 1, 3, 1, 10))
    index.add(Row(DUE_MAX + 9, 9, 1, 2, 0))
    assert [Row(5, 1, 3, 1, 10), Row(DUE_MAX, 9, 1, 2, 0)] == list(index)
    assert (2, 4, 30) == (len(index), index.total, index.first(1)[0].octets)
    (block,) = index.clear()
    assert ROW_OCTETS == sum(column.itemsize for column in block.columns)


def test_rows_that_leave_are_settled_in_order_unless_they_are_in_memory():
    index = RetryIndex()
    for row in (Row(5, 7, 2, 1, 10), Row(6, 1, 3, 1, 10), Row(7, 5, 1, 1, 10)):
        index.add(row)
    (block,) = index.clear()
    assert [(1, 3), (7, 8)] == list(LeavingBlock(block, {5: []}).spans())
