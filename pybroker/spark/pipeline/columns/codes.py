"""Codes: one whole number for the values that a row has in several columns, in the order of these values.

Rows are sorted and grouped by one number at a fraction of what that costs by texts. Goes to Spark's executors as it
stands, which need pyarrow and nothing of pybroker.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc


def encode(rows: pa.Table, names: Sequence[str]) -> tuple[pa.Array, list[pa.Array]]:
    """Return the code of each row, and the values of each column in their order; empty ones are the last."""
    codes, values = pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows), []
    for name in names:
        column = rows[name].combine_chunks().dictionary_encode(null_encoding="encode")
        order = pc.sort_indices(column.dictionary)
        values.append(column.dictionary.take(order))
        rank = pc.sort_indices(order).cast(pa.int64()).take(column.indices)
        # Of 64 bits, all things that a table has need about fifty.
        codes = pc.add(pc.multiply_checked(codes, max(1, len(order))), rank)
    return codes, values


def decode(codes: pa.Array, values: Sequence[pa.Array]) -> Iterator[pa.Array]:
    """Yield the columns that codes stand for, the last one first."""
    for value in reversed(values):
        above = pc.divide(codes, max(1, len(value)))
        yield value.take(pc.subtract(codes, pc.multiply(above, max(1, len(value)))))
        codes = above


def shifted(column: pa.Array) -> pa.Array:
    """Return a column in which each value is that of the row before."""
    return pa.concat_arrays([pa.nulls(min(1, len(column)), column.type), column.slice(0, max(0, len(column) - 1))])


def is_next(columns: Sequence[pa.Array]) -> pa.Array:
    """Return whether each row has the same values, or none, in these columns as the one before."""
    same = pa.repeat(True, max(0, len(columns[0]) - 1))
    for column in columns:
        before, after = column.slice(0, len(same)), column.slice(1)
        is_same = pc.fill_null(pc.equal(before, after), False)
        if column.null_count:
            is_same = pc.or_(is_same, pc.and_(pc.is_null(before), pc.is_null(after)))
        same = pc.and_(same, is_same)
    return pa.concat_arrays([pa.repeat(False, min(1, len(columns[0]))), same])


def in_order(rows: pa.Table, keys: Sequence[pa.Array]) -> pa.Array | None:
    """Return the indices of rows in the order of these keys, of which the first decides; None if they are in it.

    Empty values are the last.
    """
    ahead = pa.repeat(True, max(0, rows.num_rows - 1))
    for key in reversed(keys):
        before, after = key.slice(0, len(ahead)), key.slice(1)
        ahead = pc.or_kleene(pc.less(before, after), pc.and_kleene(pc.equal(before, after), ahead))
    # Only the sort tells of empty values.
    if pc.all(pc.fill_null(ahead, False)).as_py() is not False:
        return None
    table = pa.table([*keys], names=[str(n) for n in range(len(keys))])
    return pc.sort_indices(table, [(name, "ascending") for name in table.column_names])
