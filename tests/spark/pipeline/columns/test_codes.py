"""Codes stand for values of several columns, and have their order."""

import pytest

pa = pytest.importorskip("pyarrow")

from hypothesis import given, strategies as st  # noqa: E402 - pyarrow may not be there

from pybroker.spark.pipeline.columns import codes  # noqa: E402 - likewise

SCHEMA = pa.schema([("a", pa.string()), ("b", pa.int64())])
ROWS = st.lists(st.fixed_dictionaries({"a": st.sampled_from(["", "a", "b", "ü"]), "b": st.none() | st.integers(-2, 2)}))


def order(row):
    """Return by what Arrow sorts: empty values are the last."""
    return row["a"].encode(), row["b"] is None, row["b"] or 0


@given(ROWS)
def test_codes_have_the_order_of_the_values_and_stand_for_them(rows):
    found, values = codes.encode(pa.Table.from_pylist(rows, SCHEMA), ["a", "b"])
    ranks = {code: rank for rank, code in enumerate(sorted({*found.to_pylist()}))}
    keys = {key: rank for rank, key in enumerate(sorted({order(row) for row in rows}))}
    assert [ranks[code] for code in found.to_pylist()] == [keys[order(row)] for row in rows]
    b, a = (column.to_pylist() for column in codes.decode(found, values))
    assert [{"a": x, "b": y} for x, y in zip(a, b, strict=True)] == rows


@given(ROWS)
def test_rows_are_sorted_unless_they_are_in_order(rows):
    table = pa.Table.from_pylist(rows, SCHEMA)
    found = codes.in_order(table, [table["a"].combine_chunks(), table["b"].combine_chunks()])
    indices = sorted(range(len(rows)), key=lambda n: (order(rows[n]), n))
    if found is not None:
        assert found.to_pylist() == indices
    else:
        assert indices == [*range(len(rows))]


def test_a_row_follows_one_with_the_same_values():
    first, second = pa.array([1, 1, 1, None, None]), pa.array(["x", "x", "y", "y", "y"])
    assert codes.is_next([first, second]).to_pylist() == [False, True, False, False, True]
    assert codes.is_next([first.slice(0, 0)]).to_pylist() == []
    assert codes.shifted(first).to_pylist() == [None, 1, 1, 1, None]
