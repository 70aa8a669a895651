"""Runs jobs one after another in one session, and notes how they went."""

import argparse
import contextlib
import sys
from datetime import datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from pybroker.spark.pipeline.failure import BAD_DATA, UNTOLD, USAGE, FailureError
from pybroker.spark.pipeline.files import waiting
from pybroker.spark.pipeline.jobs import JOBS, REPORTS
from pybroker.spark.pipeline.run import Run, Window, iso
from pybroker.spark.pipeline.tables import LOGS, STAGING, Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


def run(given: argparse.Namespace, since: datetime, until: datetime, now: datetime) -> dict[str, Any]:
    """Run a job or all of them. Raises FailureError."""
    if since >= until:
        raise FailureError(f"there are no rows between {iso(since)} and {iso(until)}", USAGE)
    names = [*JOBS] if "all" in given.job else [*given.job]
    warehouse, window = Warehouse(given.warehouse, now), Window(since, until)
    if given.dry_run:
        return _plan(warehouse, given, names, window)
    if "ingest" in names and not given.telemetry.is_dir():
        raise FailureError(f"there is no telemetry in {given.telemetry}: is telemetry.enabled, and has the node run?")
    from pybroker.spark.pipeline import session  # noqa: PLC0415 - after what is cheap to find

    with warehouse.lock():
        warehouse.sweep()
        session.check(given.master, given.remote)
        with session.when_needed(partial(open_spark, given, warehouse)) as spark:
            return perform(Run(spark, warehouse, given.telemetry, window, given.quiet), names)


@contextlib.contextmanager
def open_spark(given: argparse.Namespace, warehouse: Warehouse) -> "Iterator[SparkSession]":
    """Yield a session that can do our tasks. Raises FailureError."""
    from pybroker.spark.pipeline import remote, session  # noqa: PLC0415 - after what is cheap to find

    if not given.quiet:
        sys.stderr.write("starting Spark\n")
    with session.session(given.master, given.remote, warehouse.folder / LOGS) as spark:
        remote.prepare(spark, warehouse.folder / STAGING)
        yield spark


def perform(run: Run, names: list[str]) -> dict[str, Any]:
    """Run jobs, note how each went, return their figures. Raises FailureError at the first that fails."""
    import pyarrow as pa  # noqa: PLC0415 - takes a moment
    from py4j.protocol import Py4JError  # noqa: PLC0415 - likewise
    from pyspark.errors import PySparkException  # noqa: PLC0415 - likewise

    from pybroker.spark.pipeline import jobs  # noqa: PLC0415 - beside what it needs
    from pybroker.spark.pipeline.alerts.alerts import Alerts  # noqa: PLC0415 - likewise

    run, told, lines = run._replace(alerts=Alerts.of(run.warehouse)), {}, []
    for name in names:
        run.say(f"{name}: {JOBS[name]}")
        began_s = monotonic()
        try:
            figures = jobs.load(name).run(run)
        except (PySparkException, Py4JError) as error:
            # The second line has the exception of the virtual machine, after its name.
            first = " ".join(str(error).strip().splitlines()[:2])
            run.warehouse.note("jobs", name, {"at": iso(run.warehouse.now), "failed": first})
            raise FailureError(f"{name} failed: {first} (see {run.warehouse.folder / LOGS})", BAD_DATA) from error
        seconds = round(monotonic() - began_s, 1)
        told[name] = {**figures, "seconds": seconds}
        window = {"since": iso(run.window.since), "until": iso(run.window.until)}
        run.warehouse.note(
            "jobs", name, {"at": iso(run.warehouse.now), "seconds": seconds, **window, "figures": figures}
        )
        pa.default_memory_pool().release_unused()
        lines.append(f"{name}: {', '.join(f'{what} {n}' for what, n in figures.items())} ({seconds} s)")
    bad = told.get("ingest", {}).get("bad lines", 0)
    if bad:
        lines.append(f"{bad} lines were invalid and are kept in {run.warehouse.folder / '_bad'}")
    failed = run.alerts.deliver() if run.alerts is not None else []
    code = {"exit_code": UNTOLD} if failed else {}
    return {"result": "ok", "jobs": told, **code, "message": "\n".join([*lines, *failed])}


def _plan(warehouse: Warehouse, given: argparse.Namespace, names: list[str], window: Window) -> dict[str, Any]:
    """Return what would be done."""
    lines = [f"from {iso(window.since)} to {iso(window.until)}, warehouse {warehouse.folder}"]
    for name in names:
        if name == "ingest":
            found = [
                (table, len(files.parts))
                for table, files in waiting(given.telemetry, warehouse.state()).items()
                if files.parts
            ]
            lines += [f"ingest: {table}: {n} file{'s' * (n != 1)}" for table, n in found] or ["ingest: no files"]
        elif name in REPORTS:
            lines.append(f"{name}: write {warehouse.folder / '_reports' / name}.json")
        else:
            lines.append(f"{name}: {JOBS[name]}")
    return {"result": "ok", "jobs": names, "message": "\n".join(lines)}
