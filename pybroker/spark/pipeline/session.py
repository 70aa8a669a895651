"""The Spark session: one for a run, modest, on this machine unless told otherwise.

Spark's own lines go to a file. Nothing listens beyond the loopback; the versions of what is needed are looked at before
a virtual machine is started for nothing.
"""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from pybroker.spark.pipeline import java, remote as elsewhere
from pybroker.spark.pipeline.failure import UNAVAILABLE, USAGE, FailureError
from pybroker.spark.pipeline.tables import SCRATCH

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    Spark = Callable[[], SparkSession]

# pyproject.toml says the same to pip.
SPARK_MIN: Final = (4, 2)
ARROW_MIN: Final = (18,)
# Virtual machine, Python, and what a sort needs.
MEMORY_OCTETS_MIN: Final = 1 << 30
LOG_FILE: Final = "spark.log"
# A job of seconds is cheapest without the second compiler and with one collector: 40 % less CPU.
JVM_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
TASKS: Final = "pybroker_tasks"
LOCAL: Final = {
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": JVM_OPTIONS,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
QUIET: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
ALWAYS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    # The older type, Spark's default, has no bounds in the files: nothing could be left out by its time.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}


def check(master: str | None, remote: str | None) -> None:
    """Raise FailureError if a session cannot be had, as far as that is cheap to find."""
    check_packages()
    if remote:
        elsewhere.check(remote)
    elif master is None or master.startswith("local"):
        java.find()


@contextlib.contextmanager
def when_needed(open_it: "Callable[[], AbstractContextManager[SparkSession]]") -> "Iterator[Spark]":
    """Yield what returns the session; it is opened when that is called first, and ended at last."""
    with contextlib.ExitStack() as stack:
        yield cache(lambda: stack.enter_context(open_it()))


@contextlib.contextmanager
def session(master: str | None, remote: str | None, log_folder: Path) -> "Iterator[SparkSession]":
    """Yield a session, and end it. Raises FailureError when one cannot be had."""
    check_packages()
    from pyspark.errors import PySparkException  # noqa: PLC0415 - takes a moment

    try:
        spark = _open(master, remote, log_folder)
    except (PySparkException, OSError, RuntimeError) as error:
        first = str(error).strip().partition("\n")[0]
        raise FailureError(f"Spark did not start: {first} (see {log_folder / LOG_FILE})", UNAVAILABLE) from error
    try:
        yield spark
    finally:
        spark.stop()


def in_tasks(spark: "Spark", work: Callable[[Any], Any], items: Sequence[Any], *modules: ModuleType) -> list[Any]:
    """Do work for each item in a task of its own; return the results, which have to be JSON.

    The code of `modules` goes with it: a Connect server, or an executor, may not have ours.
    """
    if not items:
        return []

    # The one way from Arrow to a task that asks for no pandas. Classes that are made here go by value, too.
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition  # noqa: PLC0415 - takes a moment

    class Tasks(DataSource):
        @classmethod
        def name(cls) -> str:
            return TASKS

        def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002 - Spark's
            return Reader()

    class Reader(DataSourceReader):
        def partitions(self) -> Sequence[InputPartition]:
            return [InputPartition(n) for n in range(len(items))]

        def read(self, partition: InputPartition) -> Iterator[tuple[int, str]]:
            yield partition.value, json.dumps(work(items[partition.value]))

    opened = spark()
    with _by_value(modules):
        opened.dataSource.register(Tasks)
        found = opened.read.format(TASKS).schema("n BIGINT, result STRING").load().collect()
    results = {row.n: json.loads(row.result) for row in found}
    return [results[n] for n in range(len(items))]


@contextlib.contextmanager
def _by_value(modules: Sequence[ModuleType]) -> Iterator[None]:
    from pyspark import cloudpickle  # noqa: PLC0415 - takes a moment

    for module in modules:
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


def check_packages() -> None:
    """Raise FailureError if pyspark or pyarrow is missing or too old."""
    for name, least in (("pyspark", SPARK_MIN), ("pyarrow", ARROW_MIN)):
        wanted = f"{name} {'.'.join(map(str, least))}+"
        version = version_of(name)
        if version is None:
            raise FailureError(f"the pipeline needs {wanted}: pip install 'pybroker[spark]'", UNAVAILABLE)
        numbers = tuple(int(part) for part in version.split(".")[: len(least)] if part.isdecimal())
        if numbers < least:
            text = f"the pipeline needs {wanted}, but {version} is installed: pip install 'pybroker[spark]'"
            raise FailureError(text, UNAVAILABLE)


def version_of(name: str) -> str | None:
    """Return the version of a package; None if it is not here."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
    try:
        # Spark that was not installed by pip, as on a cluster, is a module without a distribution.
        return str(import_module(name).__version__)
    except ImportError:
        return None


def memory_octets() -> int:
    """Return how much memory is to be had, by the kernel and by the control group; 0 if nobody says."""
    # Without psutil: this also runs out of the zip (package.py), on machines that lack what is not Python alone.
    found = []
    with contextlib.suppress(OSError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    with contextlib.suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        limit, used = (int((group / name).read_text()) for name in ("memory.max", "memory.current"))
        found.append(limit - used)
    return min(found, default=0)


def check_memory() -> None:
    """Raise FailureError if there is too little memory for a virtual machine of ours."""
    octets = memory_octets()
    if 0 < octets < MEMORY_OCTETS_MIN:
        text = f"the pipeline needs {MEMORY_OCTETS_MIN >> 20} MiB of memory, but only {octets >> 20} MiB are available"
        raise FailureError(text, UNAVAILABLE)


def _open(master: str | None, remote: str | None, log_folder: Path) -> "SparkSession":
    from pyspark.sql import SparkSession  # noqa: PLC0415 - takes a moment

    log_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    remote = remote or (None if master else os.environ.get("SPARK_REMOTE"))
    settings = dict(ALWAYS)
    if remote:
        if master:
            raise FailureError("either --master or --remote", USAGE)
        elsewhere.check(remote)
        builder = SparkSession.builder.remote(remote)
    else:
        settings |= QUIET
        # Spark would take it before a master.
        os.environ.pop("SPARK_REMOTE", None)
        # A program started by spark-submit knows its master, and the environment may name one.
        submitted = "PYSPARK_GATEWAY_PORT" in os.environ
        master = master or os.environ.get("MASTER") or (None if submitted else "local[*]")
        builder = SparkSession.builder.appName("pybroker pipeline")
        if master:
            builder = builder.master(master)
        if master and master.startswith("local"):
            check_memory()
            settings |= LOCAL
            settings["spark.local.dir"] = str(log_folder / SCRATCH)
            _set_environment()
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _output_to(log_folder / LOG_FILE):
        spark: SparkSession = builder.getOrCreate()
    return spark


def _set_environment() -> None:
    """Say to the virtual machine that this process starts which Java and Python it is to use."""
    home = java.find().home
    if home:
        os.environ["JAVA_HOME"] = home
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


@contextlib.contextmanager
def _output_to(path: Path) -> Iterator[None]:
    """Have whatever a process that is started writes go to a file: standard output is for the answer."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        for number in (1, 2):
            os.dup2(file, number)
        yield
    finally:
        for number, descriptor in enumerate(kept, 1):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.close(file)
