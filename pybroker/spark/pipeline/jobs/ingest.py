"""ingest: the daemon's files become tables.

Each line is read once, also of a file that is still written to: what was read of a file is noted. A little is added
to what there is by this process (`_add`); much is merged with it by Spark (`_merge`), date by date. Either way a row
that is there already is left out, so files may come late, twice, and in any order. Lines that are no rows are set
aside.
"""

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import Observation, Window, functions as f
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from pybroker.spark.pipeline import telemetry_source
from pybroker.spark.pipeline.failure import BAD_DATA, FailureError
from pybroker.spark.pipeline.files import OPEN, SUFFIX, Files, find
from pybroker.spark.pipeline.schemas import RAW, VERSION, Table
from pybroker.spark.pipeline.telemetry_source import DATE, FILE, TEXT, JournalReader, LineParser, Piece

if TYPE_CHECKING:
    from datetime import date

    from pyspark.sql import DataFrame

    from pybroker.spark.pipeline.run import Run

# Spark takes seconds of CPU to say that it has begun: so much is read and written here in less.
ADDED_OCTETS_MAX: Final = 32 << 20
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
        if files.parts:
            count = len(files.parts)
            run.say(f"ingest: {table.name}: {count} file{'s' * (count != 1)}")
            try:
                (_add if files.octets <= ADDED_OCTETS_MAX else _merge)(run, table, files, figures)
            except OSError as error:
                raise FailureError(f"{error.filename}: {error.strerror}", BAD_DATA) from None
            figures["files"] += count
            there = {path.name.removesuffix(OPEN) for path in (run.journal / table.name).glob(f"*{SUFFIX}*")}
            read = {part.name: part.end for part in files.parts}
            kept = {name: octets for name, octets in known.items() if name in there}
            run.warehouse.note("files", table.name, {**kept, **read})
    return figures


def _add(run: "Run", table: Table, files: Files, figures: dict[str, int]) -> None:
    """Add what is new to what there is, without Spark."""
    struct = table.struct()
    whole = StructType([*struct.fields, StructField(TEXT, StringType()), StructField(FILE, StringType())])
    lines = to_arrow_schema(whole, timezone="UTC")
    reader = JournalReader([], LineParser(lines, table.key, VERSION))
    by_day: dict[date, list[pa.RecordBatch]] = {}
    for part in files.parts:
        # A part of a file has bad lines of its own: what was kept of those before it stays.
        file = f"{part.name}.{part.start}" if part.start else part.name
        texts = []
        for batch in reader.read(InputPartition([Piece(str(part.path), part.start, part.end)])):
            figures["lines"] += batch.num_rows
            if batch[FILE].null_count:
                by_day.setdefault(part.day, []).append(batch.select(struct.names).drop_columns([DATE]))
            else:
                figures["bad lines"] += batch.num_rows
                texts += [text for text in batch[TEXT].to_pylist() if text is not None]
        if texts:
            run.warehouse.add_bad(table.name, [(file, text) for text in texts])
    rows = {day: pa.Table.from_batches(batches) for day, batches in by_day.items()}
    figures["new rows"] += run.warehouse.add(table, rows)


def _merge(run: "Run", table: Table, files: Files, figures: dict[str, int]) -> None:
    """Write dates anew, of their old and new rows, with Spark."""
    seen = Observation()
    bad = f.col(FILE).isNotNull()
    lines = telemetry_source.read(run.spark, files.paths, table.struct(), table.key, VERSION)
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
    figures["lines"] += found["lines"]
    figures["new rows"] += run.warehouse.count(table.name, files.dates) - count_before
    figures["bad lines"] += found["bad"]
    run.warehouse.add_bad(table.name, [(file.removesuffix(OPEN), text) for file, text in found["texts"]])
