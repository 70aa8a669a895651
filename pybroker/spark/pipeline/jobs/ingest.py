"""ingest: the daemon's files become tables.

Each line is read once, also of a file that is still written to: what was read of a file is noted. The lines of a date
are added to what there is of it, a little by this process, much in Spark's tasks, one a date. A row that is there
already is left out, so files may come late, twice, and in any order. Lines that are no rows are set aside.
"""

from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pybroker.spark.pipeline import session
from pybroker.spark.pipeline.columns import codes, increments, telemetry_source
from pybroker.spark.pipeline.columns.telemetry_source import Added, Day, LineParser, Piece
from pybroker.spark.pipeline.failure import BAD_DATA, FailureError
from pybroker.spark.pipeline.files import Files, note, waiting
from pybroker.spark.pipeline.replacement import PARTITION
from pybroker.spark.pipeline.schemas import RAW, VERSION, Table
from pybroker.spark.pipeline.tables import STATE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pybroker.spark.pipeline.run import Run

# Spark takes seconds of CPU to say that it has begun: so much is read and written here in less.
HERE_OCTETS_MAX: Final = 32 << 20


def run(run: "Run") -> dict[str, Any]:
    """Read what came of every table; return how many lines, rows, and bad lines that were."""
    figures = {"files": 0, "lines": 0, "new rows": 0, "bad lines": 0}
    for name, files in waiting(run.journal, run.warehouse.state()).items():
        if files.parts:
            table = RAW[name]
            count = len(files.parts)
            run.say(f"ingest: {name}: {count} file{'s' * (count != 1)}")
            try:
                run.warehouse.change(table, partial(_add, run, table, files, figures))
            except OSError as error:
                raise FailureError(f"{error.filename}: {error.strerror}", BAD_DATA) from None
            figures["files"] += count
            state = run.warehouse.state()
            note(state, run.journal, name, files)
            run.warehouse.write_json(STATE, state)
    return figures


def _add(
    run: "Run", table: Table, files: Files, figures: dict[str, int], staging: "Path", number: str
) -> "Mapping[date, datetime]":
    """Have dates made of what they have and the new lines; return from when on each has new rows."""
    days = []
    for day in sorted(files.dates):
        pieces = [Piece(part.path, part.start, part.end) for part in files.parts if part.day == day]
        days.append(Day(day, pieces, run.warehouse.partition(table.name, day), staging / f"{PARTITION}{day}"))
    parser = LineParser(increments.schema(table), table.key, VERSION)
    work = partial(telemetry_source.add, parser=parser, identity=table.identity, number=number)
    if files.octets <= HERE_OCTETS_MAX:
        found = [work(day) for day in days]
    else:
        results = session.in_tasks(run.spark, work, days, telemetry_source, increments, codes)
        found = [Added(*result) for result in results]
    for added in found:
        figures["lines"] += added.lines
        figures["new rows"] += added.rows
        figures["bad lines"] += added.bad
        run.warehouse.add_bad(table.name, [(file, text) for file, texts in added.texts.items() for text in texts])
    return {
        day.day: datetime.fromtimestamp(added.since_ms / 1000, UTC)
        for day, added in zip(days, found, strict=True)
        if added.rows
    }
