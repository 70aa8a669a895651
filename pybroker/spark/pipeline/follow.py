"""follow: runs the jobs once a minute, for as long as it is let, where there is new telemetry.

It is the run of `runner` again and again: the same jobs, and the same noted octets of each file. So the
hourly run, `report --fresh` and this one take turns on one warehouse: each has it for as long as a run takes. Spark's
own stream of files looks at each but once, so that tables would be as old as the open files are long, and has a second
record of what was read. Without new lines a look costs a few system calls for each file. A virtual
machine is there only while a run has enough to read for Spark's tasks: at first, or after a pause.
"""

import argparse
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from pybroker.spark.pipeline import files
from pybroker.spark.pipeline.failure import RUNNING, FailureError
from pybroker.spark.pipeline.jobs import JOBS
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.runner import open_spark, perform
from pybroker.spark.pipeline.stream_export import stream_options
from pybroker.spark.pipeline.stream_spool import TELEMETRY, StreamSpool
from pybroker.spark.pipeline.tables import FOLLOWED, Warehouse

# From one look to the next: a row is in a report after this and a run.
PERIOD_S: Final = 60.0
# A source beside the node's files, and where in the warehouse its rows become files.
STREAMS: Final = "streams"
SPOOL: Final = "_stream"
# Lines that no run could read yet: until one has, the stream keeps what comes.
UNREAD_OCTETS_MAX: Final = 1 << 30


def follow(given: argparse.Namespace, read_since: Callable[[datetime], datetime]) -> None:
    """Follow the telemetry until this process is ended; `read_since` says where the window that ends now begins.

    Raises FailureError: also when another process follows into this warehouse.
    """
    spool = _spool(given)
    if spool is None and not given.telemetry.is_dir():
        raise FailureError(f"there is no telemetry in {given.telemetry}: is telemetry.enabled, and has the node run?")
    from pybroker.spark.pipeline import session  # noqa: PLC0415 - after what is cheap to find

    warehouse = Warehouse(given.warehouse)
    with warehouse.lock(FOLLOWED):
        session.check(given.master, given.remote)
        say(given, f"following {given.telemetry if spool is None else TELEMETRY}")
        is_first, is_filled = True, False
        while True:
            began_s = time.monotonic()
            if spool is not None:
                # Also what an earlier run read of which a job failed.
                spool.remove_read(warehouse.state())
                if octets_unread(warehouse, given.telemetry) < UNREAD_OCTETS_MAX:
                    is_filled |= fill(given, spool, is_first=not is_filled)
            if is_first or octets_unread(warehouse, given.telemetry):
                is_first = not run_jobs(given, read_since)
            time.sleep(max(0.0, PERIOD_S - (time.monotonic() - began_s)))


def _spool(given: argparse.Namespace) -> StreamSpool | None:
    """Return what reads the node's own stream, if that is followed; its files are the telemetry then."""
    if given.source != STREAMS:
        return None
    given.telemetry = given.warehouse / SPOOL
    given.stream, given.super_stream = TELEMETRY, None
    return StreamSpool(given.telemetry, stream_options(given), partial(say, given))


def fill(given: argparse.Namespace, spool: StreamSpool, *, is_first: bool) -> bool:
    """Read what came; tell whether that was possible.

    A broker that has gone is looked for again, but not at the start: its address may be wrong.
    """
    try:
        spool.fill()
    except FailureError as failure:
        if is_first:
            raise
        say(given, f"{failure.text}; trying again")
        return False
    return True


def octets_unread(warehouse: Warehouse, journal: Path) -> int:
    """Return how many octets of lines were not read."""
    return files.octets_waiting(journal, warehouse.state())


def run_jobs(given: argparse.Namespace, read_since: Callable[[datetime], datetime]) -> bool:
    """Run all jobs once; tell whether that was possible: another run may have the warehouse at the time."""
    from pybroker.spark.pipeline import session  # noqa: PLC0415 - after what is cheap to find

    now = datetime.now(UTC)
    warehouse, window = Warehouse(given.warehouse, now), Window(read_since(now), now)
    try:
        with warehouse.lock(), session.when_needed(partial(open_spark, given, warehouse)) as spark:
            warehouse.sweep()
            perform(Run(spark, warehouse, given.telemetry, window, quiet=True), [*JOBS])
    except FailureError as failure:
        if failure.code != RUNNING:
            raise
        say(given, failure.text)
        return False
    return True


def say(given: argparse.Namespace, text: str) -> None:
    """Tell people what happens."""
    if not given.quiet:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
