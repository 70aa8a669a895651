"""Rows in flat arrays: columns and back, in order, and joined where they touch."""

from array import array

from hypothesis import given, strategies as st

from pybroker.store.segments.returned_rows import append, ascending, columns_of, flat, of_queues
from tests.store.records import flat as flat_rows, rows_of

ROW = st.tuples(*[st.integers(0, (1 << 64) - 1)] * 4)


@given(st.lists(ROW))
def test_columns_are_what_the_rows_were(rows):
    made = flat_rows(rows)
    assert made == flat(*columns_of(made))
    assert rows == list(rows_of(made))


@given(st.lists(ROW))
def test_rows_in_order_are_others_than_those_they_were_made_of(rows):
    before = flat_rows(rows)
    after = ascending(before)
    assert sorted(rows, key=lambda row: row[0]) == list(rows_of(after))
    after.append(1)
    assert before == flat_rows(rows)


def test_rows_that_touch_and_say_the_same_are_one():
    rows = array("Q")
    for row in ((1, 2, 1, 0), (3, 5, 1, 0), (6, 6, 2, 0), (7, 7, 2, 9), (9, 9, 2, 9)):
        append(rows, row)
    assert [(1, 5, 1, 0), (6, 6, 2, 0), (7, 7, 2, 9), (9, 9, 2, 9)] == list(rows_of(rows))


def test_rows_of_queues_that_are_gone_are_gone():
    rows = {1: flat_rows([(1, 1, 1, 0)]), 2: flat_rows([(2, 2, 1, 0)])}
    assert {2: rows[2]} == of_queues(rows, {2, 3})
