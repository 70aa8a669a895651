"""export by Spark: of a queue to Parquet, each message before it is acknowledged; of a stream to Delta or Iceberg.

`_checkpoint` below the folder has the progress, `_spool` the messages that were read and are not written yet; the same
command goes on from there. Other readers of the folder skip both, as Spark does with names that begin so.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pybroker.spark.pipeline import package, session
from pybroker.spark.pipeline.failure import UNAVAILABLE, FailureError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKPOINT: Final = "_checkpoint"
SPOOL: Final = "_spool"
LOGS: Final = "_log"
PORTION: Final = "20000"
LOOK_S: Final = 5
# How Spark says that it found no connector where its Python runs.
ABSENT: Final = ("DATA_SOURCE_NOT_FOUND", "No module named 'pybroker'")
# How Java says that a jar was made for other ones.
FOREIGN: Final = ("IncompatibleClassChangeError", "NoSuchMethodError", "NoClassDefFoundError", "AbstractMethodError")


def export(given: argparse.Namespace) -> dict[str, Any]:
    """Drain until it is ended, or what is there now. Raises FailureError."""
    if given.queue is None:
        return _export_stream(given)
    folder = Path(given.to).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with session.session(given.master, given.remote, folder / LOGS) as spark:
        rows = drain(spark, folder, source_options(given), available_now=given.available_now)
    message = f"{rows} messages of queue '{given.queue}' are in {folder}"
    return {"result": "ok", "rows": rows, "folder": str(folder), "message": message}


def _export_stream(given: argparse.Namespace) -> dict[str, Any]:
    name = given.stream or given.super_stream
    options = {"stream" if given.stream else "superStream": name, "startingOffsets": "earliest"}
    options |= source_options(given)
    checkpoint = Path(given.checkpoint).absolute()
    with session.session(given.master, given.remote, checkpoint / LOGS) as spark:
        rows = follow(spark, options, given.format, given.to, checkpoint, available_now=given.available_now)
    message = f"{rows} messages of {name} are in {given.to}"
    return {"result": "ok", "rows": rows, "table": given.to, "message": message}


def source_options(given: argparse.Namespace) -> dict[str, str]:
    """Return the connector's options."""
    options = {"includeProperties": "true"}
    names = {
        "queue": given.queue,
        "streamPort": given.stream_port,
        "virtualHost": given.vhost,
        "host": given.host,
        "port": given.port,
        "username": given.username,
    }
    names |= {"passwordFile": given.password_file, "uriFile": given.uri_file}
    return options | {name: value for name, value in names.items() if value is not None}


def drain(spark: "SparkSession", folder: Path, options: dict[str, str], *, available_now: bool) -> int:
    """Write what comes to Parquet; return how many rows that were. Raises FailureError."""
    bounded = options | {"spoolLocation": str(folder / SPOOL), "maxMessagesPerTrigger": PORTION}
    return follow(spark, bounded, "parquet", str(folder), folder / CHECKPOINT, available_now=available_now)


def follow(
    spark: "SparkSession", options: dict[str, str], kind: str, to: str, checkpoint: Path, *, available_now: bool
) -> int:
    """Write what comes to a folder, or a table, of a format; return how many rows that were. Raises FailureError."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - takes a moment
    from pyspark.errors import PySparkException  # noqa: PLC0415 - likewise

    if package.is_submitted():
        register(spark)
    try:
        frame = spark.readStream.format("pybroker").options(**options).load()
        writer = frame.writeStream.format(kind).option("checkpointLocation", str(checkpoint))
        writer = writer.trigger(availableNow=True) if available_now else writer
        rows = _watch(writer.toTable(to) if kind == "iceberg" else writer.start(to))
    except (PySparkException, Py4JError) as error:
        text = str(error)
        lines = [line for line in text.splitlines() if line.strip()]
        why = next((line for line in reversed(lines) if "Error: " in line), lines[0] if lines else "no reason given")
        if f"data source: {kind}" in text:
            why = f"Spark has no jar of {kind}: name it in spark.jars.packages"
        elif any(sign in text for sign in FOREIGN):
            why = f"the jars of {kind} are for another version of Spark: {why.strip().lstrip(': ')}"
        elif any(sign in text for sign in ABSENT):
            why = "pybroker is not installed in the Python that Spark runs: pip install 'pybroker[spark]'"
            raise FailureError(f"the export failed: {why}", UNAVAILABLE) from error
        raise FailureError(f"the export failed: {why.strip()}") from error
    return rows


def _watch(query: Any) -> int:
    """Wait until the query ends; return how many rows it wrote. Spark remembers its last hundred batches alone."""
    rows: dict[int, int] = {}
    while True:
        ended = query.awaitTermination(LOOK_S)
        rows |= {each.batchId: each.numInputRows for each in query.recentProgress}
        if ended:
            return sum(rows.values())


def register(spark: "SparkSession") -> None:
    """Name the connector's class: Spark looks for sources before it looks into what --py-files brought."""
    from pybroker.spark.source import PybrokerSource  # noqa: PLC0415 - takes a moment

    spark.dataSource.register(PybrokerSource)
