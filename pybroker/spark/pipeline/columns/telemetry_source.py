"""The daemon's files become rows of a date: lines are read as Arrow's columns, at a tenth of what Spark's reader costs.

A line that is no row of its table is kept with the file it is of. Some megabytes are read and written at a time, so a
date of any size takes little memory. Knows neither the tables nor the warehouse: it goes to Spark's executors as it
stands, which need pyarrow and nothing of pybroker.
"""

import shutil
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

# Names, not the module: it would go to executors whole, and has names of modules that they lack.
from pybroker.spark.pipeline.columns.increments import bounds, extend, place

OPEN: Final = ".open"
BLOCK_OCTETS: Final = 4 << 20
# Lines of so many octets are sorted and written together: two hundred thousand rows.
WRITTEN_OCTETS: Final = 128 << 20
# Of a file that is garbage throughout, so much text is kept; lines on top are counted.
TEXT_OCTETS_MAX: Final = 1 << 20
DAY_MS: Final = 86_400_000
BLANKS: Final = b" \t\r\n"


class Piece(NamedTuple):
    """The lines of a file that begin within a range of octets."""

    path: Path
    start: int
    end: int


class Day(NamedTuple):
    """A date of a table, the lines that are added to it, and the folders that it has and is to have."""

    day: date
    pieces: list[Piece]
    here: Path
    new: Path


class Added(NamedTuple):
    """Figures of a date: lines, new rows, the earliest of these in ms since 1970, and lines that are none.

    `texts` has these by file, and by the octet at which its piece begins, so that those of an earlier piece stay.
    """

    lines: int
    rows: int
    since_ms: int
    bad: int
    texts: dict[str, list[str]]


def add(day: Day, parser: "LineParser", identity: Sequence[str], number: str) -> Added:
    """Make the folder that a date is to be replaced by, if there are new rows; they have the `number` in their files.

    Raises OSError.
    """
    added = Added(0, 0, 0, 0, {})
    mine, here = day.new.with_name(f"{day.new.name}.{uuid.uuid4().hex}"), day.here
    for count, (lines, rows) in enumerate(_gathered(day, parser, added.texts)):
        new = mine / str(count)
        lacking = extend(here, new, rows, identity, f"{number}.{count:04}") if rows.num_rows else rows
        bad = lines - rows.num_rows
        added = added._replace(lines=added.lines + lines, bad=added.bad + bad)
        if lacking.num_rows:
            since_ms = int(bounds(lacking)[0].timestamp() * 1000)
            earliest_ms = min(since_ms, added.since_ms) if added.rows else since_ms
            added = added._replace(rows=added.rows + lacking.num_rows, since_ms=earliest_ms)
            here = new
    if added.rows:
        place(here, day.new)
    shutil.rmtree(mine, ignore_errors=True)
    # Spark keeps the process; Arrow would keep its memory until the next date.
    pa.default_memory_pool().release_unused()
    return added


def _gathered(day: Day, parser: "LineParser", texts: dict[str, list[str]]) -> Iterator[tuple[int, pa.Table]]:
    """Yield a number of lines and the rows that they are, some at a time; put those that are none into `texts`."""
    lines, octets, rows = 0, 0, [parser.schema.empty_table()]
    for piece in day.pieces:
        name = piece.path.name.removesuffix(OPEN)
        file = f"{name}.{piece.start}" if piece.start else name
        octets_left = TEXT_OCTETS_MAX
        for block in blocks(*piece):
            octets += len(block)
            for found in parser.parse(block, day.day):
                if isinstance(found, pa.Table):
                    lines += found.num_rows
                    rows.append(found)
                    continue
                lines += len(found)
                octets_left -= sum(map(len, found))
                if octets_left >= 0:
                    texts.setdefault(file, []).extend(line.decode(errors="replace") for line in found)
            if octets >= WRITTEN_OCTETS:
                yield lines, pa.concat_tables(rows)
                lines, octets, rows = 0, 0, [parser.schema.empty_table()]
    yield lines, pa.concat_tables(rows)


class LineParser:
    """Reads lines of a table as Arrow's columns; `schema` is that of its files, `key` what a row has to have."""

    def __init__(self, schema: pa.Schema, key: Sequence[str], version: int) -> None:
        self.schema = schema
        self._needed = key
        self._version = version
        line = [pa.field("ts", pa.int64()) if field.name == "ts" else field for field in schema]
        self._line = pa.schema([pa.field("v", pa.int64()), *line])

    def parse(self, block: bytes, day: date) -> Iterator[pa.Table | list[bytes]]:
        """Yield the rows of whole lines, and lines that are none."""
        waiting = [block]
        while waiting:
            part = waiting.pop()
            table = self._table(part)
            # In halves until the bad line is alone: so the others cost a dozen times reading a block, not each its own.
            middle = len(part) // 2
            cut = part.rfind(b"\n", 0, middle) + 1 or part.find(b"\n", middle) + 1
            if table is not None:
                yield from self._judge(table, part, day)
            elif 0 < cut < len(part):
                waiting += (part[cut:], part[:cut])
            elif line := part.strip(BLANKS):
                table = self._table(line) if line != part else None
                yield from [[line]] if table is None else self._judge(table, line, day)

    def _table(self, part: bytes) -> pa.Table | None:
        """Return a row for each line; None if that is not what lines are."""
        count = part.count(b"\n") + (part[-1:] != b"\n")
        # An object in two lines and two objects in one make the right number together; but then a line does not begin
        # or not end as an object does.
        if part.count(b"}\n{") != count - 1 or not part.startswith(b"{") or not part.endswith((b"}", b"}\n")):
            return None
        try:
            if not part.isascii():
                part.decode()
            table = arrow_json.read_json(
                pa.BufferReader(part),
                arrow_json.ReadOptions(use_threads=False, block_size=len(part) + 1),
                arrow_json.ParseOptions(explicit_schema=self._line, unexpected_field_behavior="ignore"),
            )
        except (pa.ArrowInvalid, UnicodeDecodeError):
            return None
        return table if table.num_rows == count else None

    def _judge(self, table: pa.Table, part: bytes, day: date) -> Iterator[pa.Table | list[bytes]]:
        begin_ms = round(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000
        ms = table["ts"]
        good = pc.and_(pc.equal(table["v"], self._version), pc.greater_equal(ms, begin_ms))
        good = pc.fill_null(pc.and_(good, pc.less(ms, begin_ms + DAY_MS)), False)
        for name in self._needed:
            good = pc.and_(good, pc.is_valid(table[name]))
        count = pc.sum(good).as_py() or 0
        if count < table.num_rows:
            yield [line for line, is_good in zip(part.split(b"\n"), good.to_pylist(), strict=False) if not is_good]
            table = table.filter(good)
        if count:
            ts = pc.multiply(table["ts"], 1000).cast(self.schema.field("ts").type)
            columns = [ts if field.name == "ts" else table[field.name] for field in self.schema]
            yield pa.table(columns, schema=self.schema)


def found(path: Path) -> Path:
    """Return the path, or that which a file that was written to has since it is closed."""
    return path if path.exists() else path.with_name(path.name.removesuffix(OPEN))


def blocks(path: Path, start: int, end: int) -> Iterator[bytes]:
    """Yield whole lines, those that begin between two octets of a file."""
    with found(path).open("rb") as file:
        # Of the line that ends with the octet before, nothing is left.
        file.seek(max(0, start - 1))
        if start:
            file.readline()
        while file.tell() < end:
            block = file.read(min(BLOCK_OCTETS, end - file.tell()))
            block += b"" if block.endswith(b"\n") else file.readline()
            if path.name.endswith(OPEN) and not block.endswith(b"\n"):
                block = block[: block.rfind(b"\n") + 1]
                if not block:
                    return
            if not block:
                return
            yield block
