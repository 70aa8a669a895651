"""The program `python -m pybroker.spark.pipeline`, which `pybrokerctl pipeline` starts and spark-submit may run.

Its answer is one JSON document on standard output; messages and errors go to standard error.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from pybroker import paths
from pybroker.spark.pipeline.failure import INTERRUPTED, UNAVAILABLE, USAGE, FailureError
from pybroker.spark.pipeline.jobs import JOBS
from pybroker.text import duration

SINCE_DEFAULT: Final = "7d"


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    parser = argparse.ArgumentParser(prog="python -m pybroker.spark.pipeline", description=__doc__)
    places = argparse.ArgumentParser(add_help=False)
    places.add_argument(
        "--warehouse", type=_folder, default=paths.data_dir() / "warehouse", help="folder of the tables"
    )
    places.add_argument("--telemetry", type=_folder, default=paths.data_dir() / "telemetry", help="the daemon's files")
    places.add_argument("--quiet", action="store_true", help="no progress")
    # pybrokerctl tells of failures itself.
    parser.add_argument("--tell", action="store_true", help=argparse.SUPPRESS)
    spark = argparse.ArgumentParser(add_help=False)
    spark.add_argument("--master", help="Spark master: local[2], spark://HOST:PORT, yarn, k8s://...")
    spark.add_argument("--remote", help="Spark Connect: sc://HOST:PORT")
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", parents=[places, spark], help="run a job, or all")
    run.add_argument("job", nargs="+", choices=[*JOBS, "all"])
    run.add_argument("--since", default=SINCE_DEFAULT, help="7d, 36h, or a time in UTC")
    run.add_argument("--until", default="", help="likewise; now without it")
    run.add_argument("--dry-run", action="store_true", help="only say what would be done")
    verbs.add_parser("status", parents=[places], help="how the last runs went, and what there is")
    verbs.add_parser("doctor", parents=[places], help="whether a run could work here")
    verbs.add_parser("gc", parents=[places], help="remove what is too old or was left behind")
    package = verbs.add_parser("package", help="make a zip for spark-submit --py-files")
    package.add_argument("--output", type=Path, required=True)
    reading = argparse.ArgumentParser(add_help=False)
    for name in ("stream", "super-stream", "stream-port", "vhost", "host", "username", "password-file", "uri-file"):
        reading.add_argument(f"--{name}")
    follow = verbs.add_parser("follow", parents=[places, spark, reading], help="run all jobs on new telemetry")
    follow.add_argument("--since", default=SINCE_DEFAULT, help="7d, 36h, or a time in UTC")
    follow.add_argument("--from", dest="source", default="files", choices=["files", "streams"])
    export = verbs.add_parser("export", parents=[places, spark, reading], help="messages to Parquet")
    for name in ("queue", "port", "format", "checkpoint"):
        export.add_argument(f"--{name}")
    export.add_argument("--to", required=True)
    export.add_argument("--available-now", action="store_true")
    search = verbs.add_parser("search", parents=[places, reading], help="messages of a stream by what is in them")
    for name in ("key", "text", "correlation-id", "message-id", "since", "until"):
        search.add_argument(f"--{name}")
    search.add_argument("--header", action="append", default=[])
    search.add_argument("--limit", type=int, default=100)
    return parser


def _folder(word: str) -> Path:
    """Return a folder by its whole name: Spark may be elsewhere, and has a current folder of its own."""
    return Path(word).absolute()


def read_time(text: str, now: datetime) -> datetime:
    """Return the moment that `7d` (ago) or a time in UTC means. Raises FailureError."""
    ago_ms = duration.milliseconds(text)
    try:
        if ago_ms is not None:
            return now - timedelta(milliseconds=ago_ms)
        when = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise FailureError(f"'{text}' is not a time: use 7d, 36h or 2026-01-31T13:00", USAGE) from None
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def act(given: argparse.Namespace) -> dict[str, Any]:
    """Do what the command line says; return the answer. Raises FailureError."""
    now = datetime.now(UTC)
    match given.verb:
        case "run":
            from pybroker.spark.pipeline import runner  # noqa: PLC0415 - one of seven

            until = read_time(given.until, now) if given.until else now
            since = read_time(given.since, until)
            return runner.run(given, since, until, now)
        case "follow":
            from pybroker.spark.pipeline import follow  # noqa: PLC0415 - one of seven

            read_time(given.since, now)
            follow.follow(given, lambda until: read_time(given.since, until))
            return {"result": "ok", "message": ""}
        case "status":
            from pybroker.spark.pipeline import status  # noqa: PLC0415 - one of seven

            return status.status(given.warehouse, given.telemetry, now)
        case "doctor":
            from pybroker.spark.pipeline import doctor  # noqa: PLC0415 - one of seven

            return doctor.examine(given.warehouse, given.telemetry)
        case "package":
            from pybroker.spark.pipeline import package  # noqa: PLC0415 - one of seven

            return package.make(given.output)
        case "export" if given.queue is None and given.format is None:
            from pybroker.spark.pipeline import stream_export  # noqa: PLC0415 - one of seven

            return stream_export.export(given)
        case "export":
            from pybroker.spark.pipeline import export  # noqa: PLC0415 - one of seven

            return export.export(given)
        case "search":
            from pybroker.spark.pipeline import search  # noqa: PLC0415 - one of seven

            begin, end = (read_time(each, now) if each else None for each in (given.since, given.until))
            return search.search(given, begin, end)
        case _:
            from pybroker.spark.pipeline.tables import Warehouse  # noqa: PLC0415 - one of seven

            warehouse = Warehouse(given.warehouse, now)
            if not warehouse.folder.is_dir():
                raise FailureError(f"there is no warehouse in {warehouse.folder}", UNAVAILABLE)
            with warehouse.lock():
                gone = {**warehouse.sweep(), "dates": sum(warehouse.expire().values())}
            return {"result": "ok", **gone, "message": "\n".join(f"{name} removed: {n}" for name, n in gone.items())}


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line; return the exit code."""
    given = parser().parse_args(words)
    try:
        answer = act(given)
    except KeyboardInterrupt:
        # The next run removes unfinished work.
        return INTERRUPTED
    except FailureError as failure:
        answer = {"result": "error", "message": failure.text, "exit_code": failure.code}
        if not given.tell:
            sys.stderr.write(f"Error:\n{failure.text}\n")
            return failure.code
    sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    sys.stdout.flush()
    return int(answer.get("exit_code", 0))
