"""A Spark that is not this process's own: a Connect server, a cluster. Whether it can do what is wanted of it.

Tables are renamed into place by this process, so it and Spark must see the same folder: that is tried before anything
is replaced.
"""

import re
import shutil
import socket
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pybroker.spark.pipeline.failure import UNAVAILABLE, USAGE, FailureError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTRA: Final = "connect"
SCHEME: Final = "sc://"
PORT: Final = 15_002
# gRPC by itself tries for minutes.
ANSWER_S_MAX: Final = 10.0
_NEED: Final = re.compile(r"([\w.-]+)\s*>=\s*([\d.]+).*;.*extra == ['\"]" + EXTRA)
_ADDRESS: Final = re.compile(r"(\[[^\]]+\]|[^:/;\[\]]+)(?::(\d{1,5}))?(?:/.*)?")


def check(url: str) -> None:
    """Raise FailureError if a package is missing here, or nobody answers at `sc://host:port`."""
    missing = missing_packages()
    if missing:
        text = f"Spark Connect needs {', '.join(missing)} here: pip install 'pyspark[{EXTRA}]'"
        raise FailureError(text, UNAVAILABLE)
    if not url.startswith(SCHEME):
        return  # Spark starts a server of its own: SPARK_REMOTE=local[2]
    host, port = address(url)
    try:
        socket.create_connection((host, port), timeout=ANSWER_S_MAX).close()
    except OSError as error:
        why = error.strerror or str(error)
        raise FailureError(f"no Spark Connect server responds at {host}:{port}: {why}", UNAVAILABLE) from None


def missing_packages() -> list[str]:
    """Return what the client of Spark Connect needs and is not here, or too old, as pyspark itself says."""
    found = []
    try:
        needs = metadata.requires("pyspark") or []
    except metadata.PackageNotFoundError:
        return []  # not installed by pip: Spark itself says what it lacks, one after the other
    for line in needs:
        need = _NEED.match(line)
        if need is None:
            continue
        name, least = need.groups()
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            version = ""
        if _numbers(version) < _numbers(least):
            found.append(f"{name} {least}+")
    return found


def address(url: str) -> tuple[str, int]:
    """Return host and port of `sc://host:port/;options`. Raises FailureError."""
    match = _ADDRESS.fullmatch(url.removeprefix(SCHEME))
    if match is None:
        raise FailureError(f"'{url}' is not an address of a Spark Connect server: sc://host:{PORT}", USAGE)
    return match[1].strip("[]"), int(match[2] or PORT)


def is_elsewhere(spark: "SparkSession") -> bool:
    """Tell whether this is a Connect server's session, or a cluster's."""
    connect = type(spark).__module__.startswith("pyspark.sql.connect")
    return connect or not str(spark.conf.get("spark.master", "local")).startswith("local")


def prepare(spark: "SparkSession", folder: Path) -> None:
    """Look at a session that others set up. Raises FailureError if the folder will not do."""
    if is_elsewhere(spark):
        check_folder(spark, folder)


def check_folder(spark: "SparkSession", folder: Path) -> None:
    """Raise FailureError unless what Spark writes to the folder is there for us, and ours to move."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - takes a moment

    written, moved = folder / "tried", folder / "tried.moved"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        spark.range(1).coalesce(1).write.mode("overwrite").parquet(str(written))
        if not any(written.glob("*.parquet")):
            raise FailureError(
                f"Spark wrote to {folder}, but the files are not there: it uses another disk", UNAVAILABLE
            )
        written.rename(moved)
    except OSError as error:
        raise FailureError(
            f"no permission to move the files that Spark writes to {folder}: {error.strerror}", UNAVAILABLE
        ) from None
    except PySparkException as error:
        first = str(error).strip().partition("\n")[0]
        raise FailureError(f"Spark cannot write to {folder}: {first}", UNAVAILABLE) from error
    finally:
        for each in (written, moved):
            shutil.rmtree(each, ignore_errors=True)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
