"""The daemon's files as a source for Spark: blocks of lines become Arrow batches, a tenth of what Spark's reader costs.

Files are read in ranges of octets, a line by the range that it begins in, so that every core has its part of a large
one. A line that is no row of its table is a row with nothing but its text. Knows neither the tables nor the warehouse,
and no module of ours: it goes to executors as it stands, which need pyarrow and nothing of pybroker.
"""

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCE: Final = "pybroker_journal"
OPEN: Final = ".open"
# Columns behind those of the table: the day of the file, the text of a line that is no row and the file it is of.
DATE: Final = "date"
TEXT: Final = "_text"
FILE: Final = "_file"
BLOCK_OCTETS: Final = 4 << 20
# Input that is no larger is read by this process at once: starting another one takes longer.
HERE_OCTETS: Final = 8 << 20
# A task of a hundredth of a second costs more to start than to do; one of a minute keeps the other cores waiting.
SPLIT_OCTETS_MIN: Final = 1 << 20
SPLIT_OCTETS_MAX: Final = 64 << 20
SPLITS: Final = 4
# Of a split that is garbage throughout, so much text is kept; lines on top are counted.
TEXT_OCTETS_MAX: Final = 1 << 20
DAY_MS: Final = 86_400_000
BLANKS: Final = b" \t\r\n"


class Piece(NamedTuple):
    """The lines of a file that begin within a range of octets."""

    path: str
    start: int
    end: int


def read(
    spark: "SparkSession", paths: Sequence[Path], struct: StructType, key: Sequence[str], version: int
) -> "DataFrame":
    """Return the rows of a table, `struct` with its date at the end, that files hold; bad lines have `_text`, `_file`.

    A line is bad if it is no JSON object, is not of the version, has a column of another type, lacks `ts` or all of the
    `key`, is of another day than the file, or is not UTF-8. A last line without an end is left out of a file still
    written to. Raises OSError.
    """
    whole = StructType([*struct.fields, StructField(TEXT, StringType()), StructField(FILE, StringType())])
    options = {"paths": json.dumps([str(path) for path in paths]), "key": json.dumps([*key]), "line": str(version)}
    if sum(found(path).stat().st_size for path in paths) <= HERE_OCTETS:
        reader = JournalSource(options).reader(whole)
        batches = [batch for partition in reader.partitions() for batch in reader.read(partition)]
        return spark.createDataFrame(pa.Table.from_batches(batches, to_arrow_schema(whole, timezone="UTC")), whole)
    register(spark)
    return spark.read.format(SOURCE).schema(whole).options(**options).load()


def register(spark: "SparkSession") -> None:
    """Have a session know the source."""
    with by_value():
        spark.dataSource.register(JournalSource)


@contextlib.contextmanager
def by_value() -> Iterator[None]:
    """Have what is pickled meanwhile go with its code: a Connect server, or an executor, may not have our modules."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


class JournalSource(DataSource):
    """Spark's entry point; call `read`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return SOURCE

    def reader(self, schema: StructType) -> "JournalReader":
        """Return what reads the files."""
        given = self.options
        parser = LineParser(to_arrow_schema(schema, timezone="UTC"), json.loads(given["key"]), int(given["line"]))
        return JournalReader(json.loads(given["paths"]), parser)


class JournalReader(DataSourceReader):
    """A task for each split."""

    def __init__(self, paths: list[str], parser: "LineParser") -> None:
        self._paths = paths
        self._parser = parser

    def partitions(self) -> Sequence[InputPartition]:
        """Return the splits, by the sizes that files have now."""
        sizes = {path: found(Path(path)).stat().st_size for path in self._paths}
        return [InputPartition(pieces) for pieces in split(sizes)]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a split."""
        octets_left = TEXT_OCTETS_MAX
        for path, start, end in partition.value or ():
            name = Path(path).name
            for block in blocks(Path(path), start, end):
                for lines in self._parser.parse(block, date.fromisoformat(name[:8])):
                    if isinstance(lines, pa.Table):
                        yield from lines.combine_chunks().to_batches()
                    else:
                        octets_left -= sum(map(len, lines))
                        yield self._parser.bad(lines if octets_left >= 0 else [None] * len(lines), name)


class LineParser:
    """Reads lines of a table as Arrow's columns; `schema` is that of the table, its date, text and file."""

    def __init__(self, schema: pa.Schema, key: Sequence[str], version: int) -> None:
        self._schema = schema
        self._needed = key
        self._version = version
        columns = [field for field in schema if field.name not in {DATE, TEXT, FILE}]
        line = [pa.field("ts", pa.int64()) if field.name == "ts" else field for field in columns]
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

    def bad(self, lines: Sequence[bytes | None], file: str) -> pa.RecordBatch:
        """Return bad lines of a file as rows; those whose text is not kept are None."""
        texts = [None if line is None else line.decode(errors="replace") for line in lines]
        columns = {TEXT: pa.array(texts, pa.string())}
        columns[FILE] = pa.array([file] * len(lines), pa.string())
        nothing = [columns.get(field.name, pa.nulls(len(lines), field.type)) for field in self._schema]
        return pa.record_batch(nothing, schema=self._schema)

    def _table(self, part: bytes) -> pa.Table | None:
        """Return a row for each line; None if that is not what lines are."""
        count = part.count(b"\n") + (part[-1:] != b"\n")
        # An object in two lines and two objects in one make the right number together; but then a line does not begin
        # or not end as an object does.
        if part.count(b"\n{") + part.startswith(b"{") != count or part.count(b"}\n") + part.endswith(b"}") != count:
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
            made: Mapping[str, Any] = {
                "ts": pc.multiply(table["ts"], 1000).cast(self._schema.field("ts").type),
                DATE: pa.repeat(pa.scalar(day), count),
            }
            columns = [
                made[field.name]
                if field.name in made
                else pa.nulls(count, field.type)
                if field.name in {TEXT, FILE}
                else table[field.name]
                for field in self._schema
            ]
            yield pa.table(columns, schema=self._schema)


def found(path: Path) -> Path:
    """Return the path, or that which a file that was written to has since it is closed."""
    return path if path.exists() else path.with_name(path.name.removesuffix(OPEN))


def split(sizes: Mapping[str, int]) -> list[list[Piece]]:
    """Return tasks of about equal size: small files together, large ones in pieces."""
    octets = min(max(-(-sum(sizes.values()) // SPLITS), SPLIT_OCTETS_MIN), SPLIT_OCTETS_MAX)
    tasks: list[list[Piece]] = []
    room = 0
    for path, size in sizes.items():
        start = 0
        while start < size:
            if not room:
                tasks.append([])
                room = octets
            end = min(start + room, size)
            tasks[-1].append(Piece(path, start, end))
            room -= end - start
            start = end
    return tasks


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
