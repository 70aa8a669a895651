"""A day's telemetry as it was written so far, and the warehouse that jobs without reports make of it; runs are killed.

As a program, `told.py TELEMETRY WAREHOUSE`, it runs these jobs once: a process to kill.
"""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.runner import perform
from pybroker.spark.pipeline.schemas import TABLES
from pybroker.spark.pipeline.tables import Warehouse
from tests.spark.pipeline.day import START
from tests.spark.pipeline.jobs.rows import rows_there
from tests.spark.pipeline.test_replacement import Killed, Steps

# Later than what samples are kept for, as far as LATER is concerned.
NOW = datetime(2026, 1, 7, tzinfo=UTC)
LATER = datetime(2026, 2, 20, tzinfo=UTC)
JOBS = ("ingest", "rollup", "retention")


def run(spark, telemetry, warehouse, now=NOW):
    warehouse = Warehouse(warehouse, now)
    with warehouse.lock():
        warehouse.sweep()
        return perform(Run(lambda: spark, warehouse, telemetry, Window(START, now), quiet=True), [*JOBS])["jobs"]


class Told:
    """The telemetry of `day` as far as it was written at some time, and the warehouse that is made of it."""

    def __init__(self, day, folder, spark=None):
        self.spark, self.day = spark, day
        self.telemetry, self.warehouse = folder / "telemetry", folder / "w"

    def tell(self, hours):
        """Have the files as they were so many hours after midnight."""
        for path in sorted(self.day.folder.glob("*/*.ndjson*")):
            begin = int(path.name[9:11])
            table = self.telemetry / path.parent.name
            table.mkdir(parents=True, exist_ok=True)
            octets, name = path.read_bytes(), path.name.removesuffix(".open")
            still_open = table / f"{name}.open"
            if begin <= hours < begin + 1:
                still_open.write_bytes(octets[: int(len(octets) * (hours - begin))])
            elif begin < hours:
                still_open.unlink(missing_ok=True)
                (table / path.name).write_bytes(octets)

    def run(self, now=NOW):
        return run(self.spark, self.telemetry, self.warehouse, now)

    def run_killed(self, monkeypatch, last, now=NOW):
        """Run, and be killed before a step; tell whether there were so many."""
        with monkeypatch.context() as patch:
            steps = Steps(patch, last)
            try:
                self.run(now)
            except Killed:
                return True
            finally:
                steps.last = None
        return False

    def content(self):
        warehouse = Warehouse(self.warehouse)
        return {
            (table.name, str(day)): rows_there(warehouse, table, day)
            for table in TABLES.values()
            for day in warehouse.dates(table.name)
        }


if __name__ == "__main__":
    sys.stdout.write("begin\n")
    sys.stdout.flush()
    run(None, Path(sys.argv[1]), Path(sys.argv[2]))
    os._exit(0)
