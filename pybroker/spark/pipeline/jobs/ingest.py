"""ingest: the daemon's files become tables.

A closed file is read once. A file that is still written to is read each time, without a last line that is cut: every
date is rebuilt from its old and new rows, without duplicates. So files may come late, twice, and in any order. Lines
that are no rows are set aside.
"""

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Observation, Window, functions as f

from pybroker.spark.pipeline import telemetry_source
from pybroker.spark.pipeline.failure import BAD_DATA, FailureError
from pybroker.spark.pipeline.files import OPEN, SUFFIX, Files, find
from pybroker.spark.pipeline.schemas import RAW, VERSION, Table
from pybroker.spark.pipeline.telemetry_source import FILE, TEXT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pybroker.spark.pipeline.run import Run

# So many rows a task sorts within the memory there is; a date has a file of each.
ROWS_PER_PART: Final = 1_500_000
PARTS_MAX: Final = 8
LINE_OCTETS: Final = 350


def rows(lines: "DataFrame", table: Table) -> "DataFrame":
    """Return what is good of lines as rows of the table."""
    return lines.where(f.col(FILE).isNull()).select(table.struct().names)


def merge(before: "DataFrame", new: "DataFrame", table: Table, parts: int) -> "DataFrame":
    """Return both, each row once. Equal rows move together and are sorted as they are written, so that is done once."""
    same = Window.partitionBy("date", *table.key, "ts").orderBy("ts")
    both = before.unionByName(new)
    together = both.repartition("date") if parts == 1 else both.repartition(parts, "date", *table.key)
    numbered = together.withColumn("which", f.row_number().over(same))
    return numbered.where(f.col("which") == 1).drop("which")


def run(run: "Run") -> dict[str, Any]:
    """Read what came of every table; return how many lines, rows, and bad lines that were."""
    figures = {"files": 0, "lines": 0, "new rows": 0, "bad lines": 0}
    for table in RAW.values():
        known = run.warehouse.state().get("files", {}).get(table.name, {})
        files = find(run.journal, table.name, known)
        if files.paths:
            count = len(files.paths)
            run.say(f"ingest: {table.name}: {count} file{'s' * (count != 1)}")
            _ingest(run, table, files, figures)
            there = {path.name for path in (run.journal / table.name).glob(f"*{SUFFIX}")}
            read = {path.name: path.stat().st_size for path in files.closed if path.exists()}
            kept = {name: octets for name, octets in known.items() if name in there}
            run.warehouse.note("files", table.name, {**kept, **read})
    return figures


def _ingest(run: "Run", table: Table, files: Files, figures: dict[str, int]) -> None:
    seen = Observation()
    # Bad lines of a file that is still written to are counted later, when it is closed.
    bad = f.col(FILE).isNotNull() & ~f.col(FILE).endswith(OPEN)
    try:
        lines = telemetry_source.read(run.spark, files.paths, table.struct(), table.key, VERSION)
    except OSError as error:
        raise FailureError(f"{error.filename}: {error.strerror}", BAD_DATA) from None
    lines = lines.observe(
        seen,
        f.count(f.lit(1)).alias("lines"),
        f.count(f.when(bad, True)).alias("bad"),
        f.collect_list(f.when(bad & f.col(TEXT).isNotNull(), f.struct(FILE, TEXT))).alias("texts"),
    )
    before = run.warehouse.read(run.spark, table, files.dates)
    count_before = run.warehouse.count(table.name, files.dates)
    parts = min(1 + (count_before + files.octets // LINE_OCTETS) // ROWS_PER_PART, PARTS_MAX)
    merged = merge(before, rows(lines, table), table, parts)
    run.warehouse.write(merged, table, files.dates, is_partitioned=True)
    found = seen.get
    figures["files"] += len(files.paths)
    figures["lines"] += found["lines"]
    figures["new rows"] += run.warehouse.count(table.name, files.dates) - count_before
    figures["bad lines"] += found["bad"]
    run.warehouse.add_bad(table.name, found["texts"])
