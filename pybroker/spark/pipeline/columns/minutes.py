"""Minutes of a window, date by date, as Arrow's columns in the order of the things that they are of, and of time.

Some reports look at each minute of each queue. Spark would sort and group all of them for each such report; in the
files they are nearly in this order, and a date at a time is in memory.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pybroker.spark.pipeline.columns import codes

MINUTE_S: Final = 60
# A row without the time of its last sample is of an older node: it took the last one about then.
SAMPLED_S: Final = 50
MICROSECONDS: Final = 1_000_000

Key = tuple[Any, ...]


class Minutes:
    """Tables of a date each, sorted, with further columns: `n`, the number of the thing, `at`, the begin of the minute
    in seconds since 1970, and `last_us`, the time of its last sample in microseconds.

    `things` has the key of each number, once its first row was read.
    """

    def __init__(self, key: Sequence[str], dates: Iterable[pa.Table]) -> None:
        self.things: list[Key] = []
        self._key = key
        self._dates = dates
        self._numbers: dict[Key, int] = {}

    def __iter__(self) -> Iterator[pa.Table]:
        for rows in self._dates:
            if rows.num_rows:
                yield in_order(self._timed(rows.append_column("n", self._number(rows)).drop_columns([*self._key])))

    def followed(self) -> Iterator[pa.Table]:
        """Yield each row once it is known when the next of the same thing begins.

        Their columns are also `next_at`, empty in the last row, and `previous_us`, the `last_us` of the row before.
        """
        held = None
        for rows in self:
            found = rows.append_column("previous_us", pa.nulls(rows.num_rows, pa.int64()))
            found = found if held is None else in_order(pa.concat_tables([held, found]))
            is_next = _is_next(found)
            before = pc.if_else(is_next, codes.shifted(found["last_us"].combine_chunks()), found["previous_us"])
            found = found.set_column(found.column_names.index("previous_us"), "previous_us", before)
            has_next = pa.concat_arrays([is_next.slice(1), pa.array([False])])
            found = found.append_column("next_at", pc.if_else(has_next, _following(found["at"]), None))
            yield found.filter(has_next)
            held = found.filter(pc.invert(has_next)).drop_columns(["next_at"])
        if held is not None:
            yield held.append_column("next_at", pa.nulls(held.num_rows, pa.int64()))

    def _number(self, rows: pa.Table) -> pa.Array:
        """Return the number of the thing of each row: the same in each date."""
        code, values = codes.encode(rows, self._key)
        known = pc.unique(code)
        columns = [column.to_pylist() for column in codes.decode(known, values)]
        numbers = [self._number_of(key) for key in zip(*reversed(columns), strict=True)]
        return pa.array(numbers, pa.int64()).take(pc.index_in(code, value_set=known))

    def _number_of(self, key: Key) -> int:
        number = self._numbers.setdefault(key, len(self.things))
        if number == len(self.things):
            self.things.append(key)
        return number

    @staticmethod
    def _timed(rows: pa.Table) -> pa.Table:
        us = rows["ts"].cast(pa.int64())
        at, last = pc.divide(us, MICROSECONDS), pc.add(us, SAMPLED_S * MICROSECONDS)
        if "last_ts" in rows.column_names:
            last = pc.coalesce(rows["last_ts"].cast(pa.int64()), last)
        return rows.append_column("at", at).append_column("last_us", last)


class Counts(NamedTuple):
    """How many minutes had each of the highest values of a column: `rows` has n, value and count.

    So many of each thing are kept as the `share` of its minutes above a percentile may be, of `minutes` at most.
    """

    rows: pa.Table
    share: float
    minutes: int

    @classmethod
    def of(cls, percentile: float, minutes: int) -> "Counts":
        """Return none so far."""
        names = [(name, pa.int64()) for name in ("n", "value", "count")]
        return cls(pa.schema(names).empty_table(), percentile, minutes)

    def add(self, rows: pa.Table, name: str) -> "Counts":
        """Return them with those of more rows."""
        known = rows.filter(pc.is_valid(rows[name]))
        ones = pa.repeat(1, known.num_rows)
        more = pa.table({"n": known["n"], "value": known[name], "count": ones})
        # In a date there are few values of a thing; across dates there may be very many.
        counted = sums(pa.concat_tables([self.rows, sums(more, ["n", "value"])]), ["n", "value"])
        ordered = counted.sort_by([("n", "ascending"), ("value", "descending")])
        kept = self.minutes - int(self.minutes * self.share) + 1
        is_kept = pc.less(pc.subtract(_up_to(ordered), ordered["count"]), kept)
        return self._replace(rows=ordered.filter(is_kept))

    def percentile(self, totals: Mapping[int, int]) -> dict[int, int]:
        """Return the percentile of each thing, by the number of all of its minutes."""
        found: dict[int, int] = {}
        columns = (self.rows["n"], self.rows["value"], _up_to(self.rows))
        for n, value, up_to in zip(*(column.to_pylist() for column in columns), strict=True):
            if up_to > totals[n] - math.ceil(totals[n] * self.share):
                found.setdefault(n, value)
        return found


def in_order(rows: pa.Table) -> pa.Table:
    """Return rows by their things and times."""
    order = codes.in_order(rows, [rows["n"].combine_chunks(), rows["at"].combine_chunks()])
    return (rows if order is None else rows.take(order)).combine_chunks()


def by_thing(rows: pa.Table, made: Mapping[str, tuple[str, str]], by: Sequence[str] = ("n",)) -> pa.Table:
    """Return a row for each thing: columns made of others by sum, max, min or last; empty values are passed over."""
    found = rows.group_by([*by], use_threads=False).aggregate([(column, how) for column, how in made.values()])
    columns = {name: found[name] for name in by}
    return pa.table(columns | {name: found[f"{column}_{how}"] for name, (column, how) in made.items()})


def together(parts: Sequence[pa.Table], how: Mapping[str, str], by: Sequence[str] = ("n",)) -> pa.Table:
    """Return a row for each thing of what was made of parts of its rows."""
    return by_thing(pa.concat_tables(parts), {name: (name, kind) for name, kind in how.items()}, by)


def sums(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """Return rows with the sums of all other columns."""
    return by_thing(rows, {name: (name, "sum") for name in rows.column_names if name not in by}, by)


def foremost(rows: pa.Table, name: str, how: str) -> pa.Table:
    """Return those rows of each thing that have its highest (`max`) or lowest value; an empty one is the lowest."""
    value = pc.fill_null(rows[name], -1)
    best = by_thing(pa.table({"n": rows["n"], "value": value}), {"value": ("value", how)})
    of_thing = best["value"].take(pc.index_in(rows["n"], value_set=best["n"].combine_chunks()))
    return rows.filter(pc.equal(value, of_thing))


def last(rows: pa.Table) -> pa.Table:
    """Return the row of each thing that the node wrote last: its clock may have been set back."""
    for name in ("last_epoch", "last_seq", "at"):
        rows = foremost(rows, name, "max")
    return rows


def zero(rows: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column with 0 for what is empty."""
    return pc.fill_null(rows[name], 0)


def _following(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return pa.concat_arrays([whole.slice(1), pa.nulls(min(1, len(whole)), whole.type)])


def _is_next(rows: pa.Table) -> pa.Array:
    """Return whether each row is of the same thing as the one before."""
    return codes.is_next([rows["n"].combine_chunks()])


def _up_to(ordered: pa.Table) -> pa.Array:
    """Return for each row how many the counts of its thing are together, up to its own."""
    sum_of_all = pc.cumulative_sum(ordered["count"]).combine_chunks()
    is_first = pc.invert(_is_next(ordered))
    before = pc.subtract(sum_of_all, ordered["count"].combine_chunks()).filter(is_first)
    return pc.subtract(sum_of_all, before.take(pc.subtract(pc.cumulative_sum(is_first.cast(pa.int64())), 1)))
