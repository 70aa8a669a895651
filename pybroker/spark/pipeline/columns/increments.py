"""Increments: what is new of a date is written beside what is there, so that it costs what is new, not what there is.

The new folder of a date has the old files under second names (hard links; copies where the file system has none), and
files of the new rows; `replacement` puts it into place. Files that are small beside what is written are merged into it:
a row is rewritten a few times, and a date has few files. Needs no Spark. But for `schema`, it goes to Spark's executors
as it stands, which need pyarrow and nothing of pybroker.
"""

import os
import shutil
from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pybroker.spark.pipeline.columns.codes import encode, in_order, is_next
from pybroker.spark.pipeline.replacement import SUFFIX
from pybroker.spark.pipeline.schemas import DATE

if TYPE_CHECKING:
    from pybroker.spark.pipeline.schemas import Table

# A file that is no larger than so many times what is written is merged into it, up to so many rows.
MERGED: Final = 2
FILE_ROWS_MAX: Final = 200_000


class Part(NamedTuple):
    """A file of a date; its rows are from `since` to `until`, None where the file does not say."""

    path: Path
    rows: int
    since: datetime | None
    until: datetime | None

    def has(self, since: datetime | None, until: datetime | None) -> bool:
        """Tell whether it may have rows from `since` on that are before `until`."""
        is_before = since and self.until and self.until < since
        return not is_before and not (until and self.since and self.since >= until)


def schema(table: "Table", names: Container[str] | None = None) -> pa.Schema:
    """Return the columns of the files of a table, or some of them: the date is in the name of their folder."""
    fields = [field for field in table.struct() if field.name != DATE.name]
    columns = StructType([field for field in fields if names is None or field.name in names])
    return to_arrow_schema(columns, timezone="UTC")


def parts(folder: Path) -> list[Part]:
    """Return the files of a date, the newest last; none if it is not there."""
    # Ours have the number of their write before all else, Spark's begin with a letter.
    paths = sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: (path.name[0].isdecimal(), path.name))
    return [_part(path) for path in paths]


def _part(path: Path) -> Part:
    metadata = parquet.read_metadata(path)
    column = metadata.schema.names.index("ts")
    groups = [metadata.row_group(n).column(column).statistics for n in range(metadata.num_row_groups)]
    if not groups or not all(group is not None and group.has_min_max for group in groups):
        return Part(path, metadata.num_rows, None, None)
    return Part(path, metadata.num_rows, min(group.min for group in groups), max(group.max for group in groups))


def read(
    found: Sequence[Part], columns: pa.Schema, *, since: datetime | None = None, until: datetime | None = None
) -> pa.Table:
    """Return the columns of the rows from `since` on that are before `until`."""
    tables = [columns.empty_table()]
    for part in found:
        if not part.has(since, until):
            continue
        table = parquet.ParquetFile(part.path).read(columns=columns.names)
        # A column that is newer than the file has no values there.
        table = pa.table(
            [
                table[field.name].cast(field.type) if field.name in table.column_names else _nulls(table, field)
                for field in columns
            ],
            schema=columns,
        )
        tables.append(between(table, since, until))
    return pa.concat_tables(tables)


def between(rows: pa.Table, since: datetime | None, until: datetime | None) -> pa.Table:
    """Return the rows from `since` on that are before `until`."""
    if not rows.num_rows or not (since or until):
        return rows
    first, last = bounds(rows)
    # A copy of all columns costs more than all else: often there is nothing to leave out.
    wanted = []
    if since and first < since:
        wanted.append(pc.greater_equal(rows["ts"], pa.scalar(since, rows["ts"].type)))
    if until and last >= until:
        wanted.append(pc.less(rows["ts"], pa.scalar(until, rows["ts"].type)))
    return rows.filter(reduce(pc.and_, wanted)) if wanted else rows


def _nulls(table: pa.Table, field: pa.Field) -> pa.Array:
    return pa.nulls(table.num_rows, field.type)


def unseen(rows: pa.Table, there: pa.Table, identity: Sequence[str]) -> pa.Table:
    """Return each row once, in the order of `identity`, which tells rows apart, and none that `there` has."""
    rows = ordered(rows, identity)
    again = is_next([*_keys(rows, identity)])
    if pc.any(again).as_py():
        rows = rows.filter(pc.invert(again))
    if not there.num_rows:
        return rows
    # Of nearly all rows the times alone tell that they are new.
    is_old = pc.less_equal(rows["ts"], pc.max(there["ts"]))
    names, old = [*identity], rows.filter(is_old)
    both = pa.concat_tables([there.select(names), old.select(names)])
    both = both.append_column("_n", pa.array(range(both.num_rows), pa.int64()))
    first = both.group_by(names).aggregate([("_n", "min")])["_n_min"]
    new = pc.subtract(first.filter(pc.greater_equal(first, there.num_rows)), there.num_rows)
    if len(new) == old.num_rows:
        return rows
    return ordered(pa.concat_tables([old.take(new), rows.filter(pc.invert(is_old))]), identity)


def ordered(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return rows in the order of these columns."""
    order = in_order(rows, [*_keys(rows, names)])
    return rows if order is None else rows.take(order)


def _keys(rows: pa.Table, names: Sequence[str]) -> Iterator[pa.Array]:
    """Yield keys that have the order of these columns: of time, and what follows, a code has too many values."""
    at = names.index("ts") if "ts" in names else len(names)
    yield encode(rows, names[:at])[0]
    for name in names[at:]:
        yield rows[name].combine_chunks()


def extend(here: Path, new: Path, rows: pa.Table, identity: Sequence[str], number: str) -> pa.Table:
    """Make the folder that a date is to be replaced by: what it has, and those of `rows` that it lacks.

    Return these; without any, there is no folder.
    """
    there, (first, last) = parts(here), bounds(rows)
    columns = rows.select([*identity]).schema
    seen = [part for part in there if part.has(first, None) and not (part.since and part.since > last)]
    lacking = unseen(rows, read(seen, columns, since=first), identity)
    if lacking.num_rows:
        stage(here, new, lacking, identity, number)
    return lacking


def bounds(rows: pa.Table) -> tuple[datetime, datetime]:
    """Return the first and the last time of rows."""
    found = pc.min_max(rows["ts"])
    return found["min"].as_py(), found["max"].as_py()


def stage(
    here: Path,
    new: Path,
    rows: pa.Table,
    order: Sequence[str],
    number: str,
    *,
    since: datetime | None = None,
    hot: datetime | None = None,
) -> None:
    """Make the folder that a date is to be replaced by: what it has, and `rows`, sorted.

    With `since` they take the place of all rows from then on. Rows from `hot` on are soon replaced themselves, so they
    are a file of their own. No two files of a table have the same `number`.
    """
    kept, cold = [], []
    for part in parts(here):
        if since is None or (part.until and part.until < since):
            kept.append(part)
        else:
            cold.append(read([part], rows.schema, until=since))
    cold.append(between(rows, None, hot))
    count = sum(table.num_rows for table in cold)
    while count and kept and kept[-1].rows <= MERGED * count and kept[-1].rows + count <= FILE_ROWS_MAX:
        cold.append(read([kept.pop()], rows.schema))
        count = sum(table.num_rows for table in cold)
    new.mkdir(parents=True)
    for part in kept:
        _link(part.path, new / part.path.name)
    _write(pa.concat_tables(cold), order, new / f"{number}-0{SUFFIX}")
    if hot:
        _write(between(rows, hot, None), order, new / f"{number}-1{SUFFIX}")


def place(made: Path, new: Path) -> None:
    """Name the folder that a task has made. A task may run twice, even at once: the first that is done counts."""
    try:
        made.rename(new)
    except OSError:
        if not new.exists():
            raise


def _write(rows: pa.Table, order: Sequence[str], path: Path) -> None:
    if not rows.num_rows:
        return
    # Rows of a thing follow one another, so whole numbers differ little: a tenth of the octets, in less time.
    whole = [field.name for field in rows.schema if pa.types.is_integer(field.type) or field.name == "ts"]
    others = [name for name in rows.column_names if name not in whole]
    parquet.write_table(
        ordered(rows, order),
        path,
        compression="zstd",
        use_dictionary=others,
        column_encoding=dict.fromkeys(whole, "DELTA_BINARY_PACKED"),
    )


def _link(old: Path, new: Path) -> None:
    try:
        os.link(old, new)
    except OSError:
        shutil.copy2(old, new)
