"""Aggregation: rows of a span of time become one for each thing and minute, or hour, with counts made of totals.

By Arrow, some hours at a time, so that a date of any size takes little memory. Knows neither the tables nor the
warehouse: it goes to Spark's executors as it stands, which need pyarrow and nothing of pybroker.
"""

import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

# Names, not the modules: these would go to executors whole, and have names of modules that they lack.
from pybroker.spark.pipeline.columns.codes import decode, encode, in_order, is_next, shifted
from pybroker.spark.pipeline.columns.increments import Part, between, bounds, parts as parts_of, place, read, stage

# Everything is sampled at least every five minutes, so what came before a row is not older than that by much.
BEFORE_S: Final = 600
# A clock that is set back by less is not told of.
BACK_S: Final = 10
HOUR_S: Final = 3_600
DAY_S: Final = 86_400
# So many rows are worked on together, and so many are read together, which takes less memory.
ROWS_MAX: Final = 25_000
READ_ROWS_MAX: Final = 400_000
BEGIN: Final = "begin"
# A column of connections: the cause of the flow control that an interval had, if it had any.
FLOW_CAUSE: Final = "flow_cause"
IS_THERE: Final = "_is_there"
THING: Final = "_thing"
_MICROSECONDS: Final = 1_000_000


class Recipe(NamedTuple):
    """How rows of a table are made of those of a source.

    `key` tells things of the source apart, `by` those of the table. `totals` has the total of each count, `made` the
    column that each of the table's is made of, and how: max, min, sum, count, or, in the order of rows, first, last,
    last_known (not empty) or last_is_there (whether it was not).
    """

    source: pa.Schema
    table: pa.Schema
    key: tuple[str, ...]
    by: tuple[str, ...]
    totals: Mapping[str, str]
    made: Mapping[str, tuple[str, str]]
    unit_s: int


class Span(NamedTuple):
    """A part of a date, from `begin` to its `end`; clocks were set `back` from each second time to the first.

    `folders` have the source's rows, `here` what the table has of the date; `new` takes its place.
    """

    begin: datetime
    end: datetime
    back: list[tuple[datetime, datetime]]
    folders: list[Path]
    here: Path
    new: Path


def make(span: Span, recipe: Recipe, number: str) -> None:
    """Make the folder that a date of the table is to be replaced by; without any rows there is none."""
    made = pa.concat_tables([recipe.table.empty_table(), *_made(span, recipe)])
    newest = bounds(made)[1] if made.num_rows else span.begin
    # The end of a date that goes on is soon another.
    hot = newest if newest + timedelta(seconds=recipe.unit_s) < span.end else None
    mine = span.new.with_name(f"{span.new.name}.{uuid.uuid4().hex}")
    order = [*recipe.by, "ts"]
    stage(span.here, mine, made, order, number, since=span.begin, hot=hot)
    place(mine, span.new)
    shutil.rmtree(mine, ignore_errors=True)
    del made
    # Spark keeps the process; Arrow would keep three times what it needs until the next date.
    pa.default_memory_pool().release_unused()


def _made(span: Span, recipe: Recipe) -> Iterator[pa.Table]:
    """Yield the rows of the table, hour by hour or many hours together."""
    parts = [part for folder in span.folders for part in parts_of(folder)]
    rows = sum(part.rows for part in parts if part.has(span.begin, span.end))
    begin, hours = span.begin, -(-(span.end - span.begin) // timedelta(hours=1))
    step = timedelta(hours=max(1, hours * ROWS_MAX // max(rows, 1)))
    source = Source(parts, _needed(recipe), begin - _before(recipe), rows)
    while begin < span.end:
        end = min(floor(begin, HOUR_S) + step, span.end)
        # The row before one may have a later time.
        until = max([end + timedelta(seconds=BACK_S), *(last for first, last in span.back if first < end < last)])
        before = begin - _before(recipe)
        samples = ordered(source.read(before, until), recipe)
        if recipe.totals and _has_unpreceded(samples, recipe, begin):
            # Telemetry was silent for longer. Of the rows before, what they were at most is enough.
            midnight = floor(begin, DAY_S) - timedelta(seconds=BEFORE_S)
            older = read(parts, _totals(recipe), since=midnight, until=before)
            samples = pa.concat_tables([_highest(older, recipe), samples], promote_options="default")
        if samples.num_rows:
            yield between(roll_up(samples, recipe), begin, end)
        begin = end


def _before(recipe: Recipe) -> timedelta:
    return timedelta(seconds=BEFORE_S if recipe.totals else 0)


class Source:
    """Columns of files: read once if they have few rows from `since` on, else some hours at a time."""

    def __init__(self, parts: Sequence[Part], columns: pa.Schema, since: datetime, rows: int) -> None:
        self._parts = parts
        self._columns = columns
        self._whole = read(parts, columns, since=since) if rows <= READ_ROWS_MAX else None

    def read(self, since: datetime, until: datetime) -> pa.Table:
        """Return the rows from `since` on that are before `until`."""
        if self._whole is None:
            return read(self._parts, self._columns, since=since, until=until)
        return between(self._whole, since, until)


def roll_up(samples: pa.Table, recipe: Recipe) -> pa.Table:
    """Return the table's rows of all of these."""
    rows = ordered(samples, recipe)
    things, values = encode(rows, recipe.by)
    rows = rows.append_column(THING, things)
    for name, count in counts(rows, recipe).items():
        rows = rows.append_column(name, count)
    if "last_blocked_cause" in rows.column_names:
        in_flow = pc.and_kleene(pc.equal(rows["last_blocked_by"], "flow"), pc.greater(rows["flow_ms"], 0))
        rows = rows.append_column(FLOW_CAUSE, pc.if_else(in_flow, rows["last_blocked_cause"], None))
    us = rows["ts"].cast(pa.int64())
    unit_us = recipe.unit_s * _MICROSECONDS
    rows = rows.append_column(BEGIN, pc.multiply(pc.divide(us, unit_us), unit_us))
    everything, known = (pc.ScalarAggregateOptions(skip_nulls=is_skipped) for is_skipped in (False, True))
    asked, names = [], []
    for name, (column, how) in recipe.made.items():
        kind, _, more = how.partition("_")
        if more == "is_there":
            rows = rows.append_column(column + IS_THERE, pc.is_valid(rows[column]))
            column += IS_THERE
        asked.append((column, kind, everything if kind in {"first", "last"} and more != "known" else known))
        names.append((name, f"{column}_{kind}"))
    found = rows.group_by([THING, BEGIN], use_threads=False).aggregate(
        [(column, kind) if kind == "count" else (column, kind, options) for column, kind, options in asked]
    )
    keys = decode(found[THING].combine_chunks(), values)
    made = {name: found[column] for name, column in names} | dict(zip(reversed(recipe.by), keys, strict=True))
    made["ts"] = found[BEGIN]
    return pa.table([made[field.name].cast(field.type) for field in recipe.table], schema=recipe.table)


def counts(rows: pa.Table, recipe: Recipe) -> dict[str, pa.Array]:
    """Return a count for each total of rows in their order: how much it grew over all before of the same thing.

    A total never falls, so where rows do not tell their order and the clock was set back, the highest before counts.
    Rows before the last minutes of the day before do not: a date is the same whether it is made alone or with others.
    """
    if not recipe.totals or not rows.num_rows:
        return {}
    follows = _is_next(rows, recipe)
    us = rows["ts"].combine_chunks().cast(pa.int64())
    day_us = DAY_S * _MICROSECONDS
    midnight = pc.multiply(pc.divide(us, day_us), day_us)
    is_near = pc.greater_equal(shifted(us), pc.subtract(midnight, BEFORE_S * _MICROSECONDS))
    is_near = pc.and_(follows, pc.fill_null(is_near, False))
    is_first = pc.fill_null(rows["first"].combine_chunks(), False)
    zero, found = pa.scalar(0, pa.int64()), {}
    for name, total in recipe.totals.items():
        column = rows[total].combine_chunks()
        grown = pc.if_else(is_near, pc.subtract(column, _highest_before(column, follows)), None)
        since_ever = pc.if_else(is_first, column, None)
        found[name] = pc.max_element_wise(pc.coalesce(grown, since_ever, zero), zero)
    return found


def ordered(samples: pa.Table, recipe: Recipe) -> pa.Table:
    """Return rows by the thing that they are of, and in the order in which they were written."""
    keys = [encode(samples, recipe.by)[0]]
    if recipe.totals:
        # Things of the same name, such as a queue that is declared again, follow one another.
        keys += [samples[name].combine_chunks() for name in recipe.key if name not in recipe.by]
        # Rows that do not tell their order are older.
        keys.append(pc.fill_null(samples["seq"], -1).combine_chunks())
    order = in_order(samples, [*keys, samples["ts"].combine_chunks()])
    return samples if order is None else samples.take(order)


def floor(when: datetime, unit_s: int) -> datetime:
    """Return the begin of the minute, hour or day, by its length in seconds."""
    return datetime.fromtimestamp(int(when.timestamp()) // unit_s * unit_s, UTC)


def at_ms(ms: int) -> datetime:
    """Return the time so many milliseconds after the beginning of 1970."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def _needed(recipe: Recipe) -> pa.Schema:
    names = {*recipe.key, *recipe.by, "ts", "seq", "first", "last_blocked_by", "last_blocked_cause"}
    names |= {*recipe.totals.values(), *(column for column, _ in recipe.made.values())}
    return pa.schema([field for field in recipe.source if field.name in names])


def _totals(recipe: Recipe) -> pa.Schema:
    names = {*recipe.key, "ts", "seq", *recipe.totals.values()}
    return pa.schema([field for field in recipe.source if field.name in names])


def _has_unpreceded(samples: pa.Table, recipe: Recipe, begin: datetime) -> bool:
    """Tell whether a row from `begin` on, of rows in their order, follows none of its thing, and is not its first."""
    alone = pc.and_(
        pc.invert(_is_next(samples, recipe)), pc.invert(pc.fill_null(samples["first"].combine_chunks(), False))
    )
    is_asked = pc.greater_equal(samples["ts"], pa.scalar(begin, samples.schema.field("ts").type))
    return bool(pc.any(pc.and_(alone, is_asked)).as_py())


def _highest(rows: pa.Table, recipe: Recipe) -> pa.Table:
    """Return a row for each thing: its last time and order, and the highest that each total was."""
    names = ["ts", "seq", *recipe.totals.values()]
    found = rows.group_by([*recipe.key]).aggregate([(name, "max") for name in names])
    columns = {name: found[name] for name in recipe.key} | {name: found[f"{name}_max"] for name in names}
    return pa.table([columns[name] for name in rows.column_names], schema=rows.schema)


def _is_next(rows: pa.Table, recipe: Recipe) -> pa.Array:
    """Return whether each row is of the same thing as the one before."""
    things = rows[THING].combine_chunks() if THING in rows.column_names else encode(rows, recipe.by)[0]
    return is_next([things, *(rows[name].combine_chunks() for name in recipe.key if name not in recipe.by)])


def _highest_before(column: pa.Array, follows: pa.Array) -> pa.Array:
    """Return the highest value of the rows before of the same thing; empty where there is none."""
    before = pc.if_else(follows, shifted(column), None)
    if not column.null_count and pc.all(pc.fill_null(pc.greater_equal(column, before), True)).as_py() is not False:
        return before
    # A thing's values are lifted above all of the one before, so that one pass over all finds the highest of each.
    number = pc.cumulative_sum(pc.invert(follows).cast(pa.int64()))
    known = pc.fill_null(column, -1)
    highest = pa.table({"n": number, "of": known}).group_by("n", use_threads=False).aggregate([("of", "max")])
    room = pc.add(highest["of_max"].combine_chunks(), 2)
    lift = pc.subtract(pc.cumulative_sum(room), room).take(pc.subtract(number, 1))
    found = pc.subtract(shifted(pc.cumulative_max(pc.add(known, lift))), lift)
    return pc.if_else(pc.and_(follows, pc.greater_equal(found, 0)), found, None)
