"""package: the connector and the pipeline as one zip, for `spark-submit --py-files`, with the driver to submit.

pybrokerctl pipeline package -o pybroker_spark.zip
spark-submit --py-files pybroker_spark.zip run_job.py run all --warehouse /lake/pybroker --telemetry /lake/telemetry

The archive includes the dependencies that machines of a cluster lack, as far as they are pure Python: pamqp and
platformdirs. Spark looks for sources before it looks into the archive, so the program registers the connector where it
uses it.
"""

import zipfile
from pathlib import Path
from typing import Any, Final

import pamqp
import platformdirs

import pybroker
from pybroker.spark.pipeline.failure import UNAVAILABLE, FailureError

DRIVER: Final = "run_job.py"
DRIVER_TEXT: Final = '''"""Runs the pipeline where spark-submit was told to; the words are those of the program."""

import sys

from pybroker.spark.pipeline.program import main

sys.exit(main())
'''
# Of ours, what the connector and the pipeline load; no daemon.
PARTS: Final = (
    "__init__.py",
    "version.py",
    "paths.py",
    "spark",
    "client",
    "wire",
    "errors.py",
    "run.py",
    "seq_ranges.py",
    "entries_run.py",
)
PARTS_TOO: Final = (
    *("message.py", "clock.py", "session.py", "content_view.py", "log_event.py"),
    *("humanize.py", "text", "verdicts.py"),
)
# The table of metrics, of which the telemetry's tables are made.
METRICS: Final = ("core/__init__.py", "core/stats/__init__.py", "core/stats/metrics")
# By which Spark finds the connector.
DISCOVERY: Final = ("spark/discovery.py", "pyspark_pybroker.py")
# Always the same octets for the same sources.
DATE: Final = (1980, 1, 1, 0, 0, 0)


def make(output: Path) -> dict[str, Any]:
    """Write the zip and the driver beside it. Raises FailureError."""
    driver = output.with_name(DRIVER)
    try:
        count = write_archive(output)
        driver.write_text(DRIVER_TEXT, encoding="utf-8")
    except OSError as error:
        raise FailureError(f"{error.filename or output}: {error.strerror}", UNAVAILABLE) from None
    command = f"spark-submit --py-files {output} {driver} run all --warehouse DIR --telemetry DIR"
    message = f"{output} has {count} files; its driver is {driver}. Where Spark is:\n{command}"
    facts = {"package": str(output), "driver": str(driver), "files": count, "command": command}
    return {"result": "ok", **facts, "message": message}


def is_submitted() -> bool:
    """Tell whether this code itself came in such a zip."""
    return not Path(pybroker.__file__).exists()


def write_archive(output: Path) -> int:
    """Write the zip; return how many files it has. Raises OSError."""
    root = Path(pybroker.__file__).parent
    files: dict[str, bytes] = {}
    for part in (*PARTS, *PARTS_TOO, *METRICS):
        path = root / part
        found = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        files |= {f"pybroker/{each.relative_to(root)}": each.read_bytes() for each in found}
    files[DISCOVERY[1]] = (root / DISCOVERY[0]).read_bytes()
    for theirs in (Path(pamqp.__file__).parent, Path(platformdirs.__file__).parent):
        files |= {f"{theirs.name}/{each.relative_to(theirs)}": each.read_bytes() for each in theirs.rglob("*.py")}
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, octets in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, DATE), octets, zipfile.ZIP_DEFLATED)
    return len(files)
