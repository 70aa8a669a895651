"""ingest: the daemon's files become tables.

A closed file is read once. Those that are still written to are read each time, without their last line where that is
cut: every date is made anew of what it had and what came, and a row that is there already is not there twice. So files
may come late, twice, and in any order. Lines that are none are kept aside.
"""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import Observation, Window, functions as f

from pybroker.spark.pipeline.schemas import BROKEN, RAW, VERSION, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pybroker.spark.pipeline.run import Run

SUFFIX: Final = ".ndjson"
OPEN: Final = f"{SUFFIX}.open"
# More of them are counted; who sent so many has to be asked anyway.
BAD_KEPT_MAX: Final = 10_000


class Files(NamedTuple):
    """Journal files of a table: those that are complete and were not read yet, and those still written to."""

    closed: list[Path]
    open: list[Path]

    @property
    def dates(self) -> set[date]:
        """Return the dates that they are of."""
        return {date.fromisoformat(path.name[:8]) for path in (*self.closed, *self.open)}


def find(journal: Path, table: str, known: dict[str, int]) -> Files:
    """Return what there is to be read; a file is `known` by its name and size."""
    closed, still_open = [], []
    for path in sorted((journal / table).glob(f"*{SUFFIX}*")):
        try:
            date.fromisoformat(path.name[:8])
            octets = path.stat().st_size
        except (ValueError, FileNotFoundError):
            continue
        if path.name.endswith(OPEN):
            still_open.append(path)
        elif path.name.endswith(SUFFIX) and known.get(path.name) != octets:
            closed.append(path)
    return Files(closed, still_open)


def read(spark: "SparkSession", paths: list[Path], table: Table) -> "DataFrame":
    """Return what the lines of files say, with the names of these; by Spark's own reader, which is much the fastest."""
    reader = spark.read.schema(table.line_struct()).options(**_options())
    return reader.json([str(path) for path in paths]).select("*", f.col("_metadata.file_name").alias("file"))


def read_texts(spark: "SparkSession", paths: list[Path], table: Table) -> "DataFrame":
    """Return the same with each line as it stands there, `value`."""
    lines = spark.read.text([str(path) for path in paths])
    return parse(lines.select("value", f.col("_metadata.file_name").alias("file")).where(f.length("value") > 0), table)


def parse(lines: "DataFrame", table: Table) -> "DataFrame":
    """Return what lines, `value`, say."""
    parsed = lines.withColumn("row", f.from_json("value", table.line_struct(), _options()))
    return parsed.select("value", "file", "row.*")


def _options() -> dict[str, str]:
    return {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": BROKEN}


def judge(parsed: "DataFrame", table: Table) -> "DataFrame":
    """Return lines with their date, and whether each is `bad`: no JSON, no key, another day than its file."""
    day = f.to_date(f.timestamp_millis(f.col("ts")))
    bad = f.col(BROKEN).isNotNull() | (f.col("v") != VERSION)
    for name in ("ts", *table.key):
        bad |= f.col(name).isNull()
    bad |= f.date_format(day, "yyyyMMdd") != f.substring("file", 1, 8)
    return parsed.withColumn("bad", f.coalesce(bad, f.lit(True))).withColumn("date", day)


def rows(judged: "DataFrame", table: Table) -> "DataFrame":
    """Return what is good of them as rows of the table."""
    columns = [
        f.timestamp_millis(f.col("ts")).alias("ts") if column.name == "ts" else f.col(column.name)
        for column in table.columns
    ]
    return judged.where(~f.col("bad")).select(*columns, "date")


def merge(before: "DataFrame", new: "DataFrame", table: Table) -> "DataFrame":
    """Return both, each row once. Each date moves together and is sorted as it is written, so that is done once."""
    same = Window.partitionBy("date", *table.key, "ts").orderBy("ts")
    numbered = before.unionByName(new).repartition("date").withColumn("which", f.row_number().over(same))
    return numbered.where(f.col("which") == 1).drop("which")


def run(run: "Run") -> dict[str, Any]:
    """Read what came of every table; return how many lines, rows, and bad lines that were."""
    figures = {"files": 0, "lines": 0, "new rows": 0, "bad lines": 0}
    for table in RAW.values():
        known = run.warehouse.state().get("files", {}).get(table.name, {})
        files = find(run.journal, table.name, known)
        if files.closed or files.open:
            count = len(files.closed) + len(files.open)
            run.say(f"ingest: {table.name}: {count} file{'s' * (count != 1)}")
            _ingest(run, table, files, figures)
            there = {path.name for path in (run.journal / table.name).glob(f"*{SUFFIX}")}
            read = {path.name: path.stat().st_size for path in files.closed if path.exists()}
            kept = {name: octets for name, octets in known.items() if name in there}
            run.warehouse.note("files", table.name, {**kept, **read})
    return figures


def _ingest(run: "Run", table: Table, files: Files, figures: dict[str, int]) -> None:
    seen = Observation()
    lines = judge(read(run.spark, [*files.closed, *files.open], table), table).observe(
        seen, f.count(f.lit(1)).alias("lines"), f.collect_set(f.when(f.col("bad"), f.col("file"))).alias("files")
    )
    before = run.warehouse.read(run.spark, table, files.dates)
    count_before = run.warehouse.count(table.name, files.dates)
    run.warehouse.write(merge(before, rows(lines, table), table), table, files.dates, by_date=True)
    figures["files"] += len(files.closed) + len(files.open)
    figures["lines"] += seen.get["lines"]
    figures["new rows"] += run.warehouse.count(table.name, files.dates) - count_before
    # One that is still written to may be cut in the midst of a line.
    names = set(seen.get["files"])
    damaged = [path for path in files.closed if path.name in names]
    if damaged:
        bad = judge(read_texts(run.spark, damaged, table), table).where("bad").select("file", "value")
        figures["bad lines"] += run.warehouse.keep_bad(table.name, bad.limit(BAD_KEPT_MAX).toLocalIterator())
