"""One Spark session for the whole run (a JVM costs ten seconds and half a gigabyte), one broker, and names for both.

Tests that go through Spark take the fixture `spark` and bear the marker `spark`; they are skipped, with the reason,
where pyspark, pyarrow or Java is missing. With INTEROP_BROKER=HOST:PORT:PID another broker is used, e.g. RabbitMQ.
"""

import fcntl
import os
import pkgutil
import re
import socket
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pybroker.client import Address, Connection, Options
from pybroker.spark import spark_home
from pybroker.spark.pipeline import java, remote
from pybroker.spark.pipeline.failure import FailureError
from tests.interop.broker_process import BrokerProcess

WAIT_S = 30.0
TIMEOUT_S = 300
# The tests ignore what somebody's shell tells Spark.
FOREIGN = re.compile(r"SPARK_|PYSPARK_|JAVA_TOOL_OPTIONS$|_JAVA_OPTIONS$")

# A short-lived JVM is cheapest without the second compiler and with one collector (-40 % CPU).
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
CONFIG = {
    "spark.driver.extraJavaOptions": JVM,
    "spark.driver.memory": "768m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "2",
}


def pytest_collection_modifyitems(items):
    # The first one starts the session; one that is cut off amid a call leaves the virtual machine beyond use.
    for item in items:
        if item.get_closest_marker("spark") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


def why_no_spark() -> str | None:
    """Return why no Spark session can be had here, None if one can."""
    for module in ("pyspark", "pyarrow"):
        try:
            __import__(module)
        except ImportError:
            return f"no {module} here: pip install 'pybroker[spark]'"
    try:
        java.find()
    except FailureError as error:
        return error.text
    return None


def spark_environment() -> dict[str, str]:
    """Return the environment of a process that starts Spark: loopback only, this interpreter, a Java that was found.

    The home is one whose Python processes are soon there: Spark waits ten seconds for them, however busy the machine.
    """
    import pyspark

    kept = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
    home = java.find().home
    if home:
        kept["JAVA_HOME"] = home
    folder = Path(tempfile.gettempdir()) / f"pybroker-tests-spark-{pyspark.__version__}-{os.getuid()}"
    kept["SPARK_HOME"] = str(spark_home.make(Path(pyspark.__file__).parent, folder))
    return kept | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


@pytest.fixture(scope="session")
def spark_is_possible():
    """Skip what needs Spark where there is none."""
    reason = why_no_spark()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture
def connect_environment(spark_is_possible) -> Iterator[dict[str, str]]:
    """Return what makes a program start a Connect server for itself: one at a time, since its port cannot be chosen."""
    lacking = remote.missing_packages()
    if lacking:
        pytest.skip(f"Spark Connect needs {', '.join(lacking)}: pip install 'pyspark[connect]'")
    settings = CONFIG | {"spark.connect.grpc.binding.address": "127.0.0.1"}
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    submit = " ".join([*(f'"{word}"' if " " in word else word for word in words), "pyspark-shell"])
    with (Path(tempfile.gettempdir()) / "pybroker-tests-connect.lock").open("a") as lock, socket.socket() as there:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if there.connect_ex(("127.0.0.1", remote.PORT)) == 0:
            pytest.skip(f"port {remote.PORT} is taken, the only one for a Connect server that Spark starts by itself")
        yield {"SPARK_REMOTE": "local[2]", "PYSPARK_SUBMIT_ARGS": submit}


@pytest.fixture(scope="session")
def spark(spark_is_possible, tmp_path_factory: pytest.TempPathFactory):
    """Return the session that all tests share; do not stop it, do not change its configuration for good."""
    from pyspark.sql import SparkSession

    from pybroker.spark.source import PybrokerSource

    folder = tmp_path_factory.mktemp("spark")
    before, environment = dict(os.environ), spark_environment()
    os.environ.clear()
    os.environ.update(environment)
    try:
        builder = SparkSession.builder.master("local[2]").appName("tests")
        for name, value in CONFIG.items():
            builder = builder.config(name, value)
        for name in ("spark.sql.warehouse.dir", "spark.local.dir"):
            builder = builder.config(name, str(folder / name))
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        if not any(each.name == "pyspark_pybroker" for each in pkgutil.iter_modules()):
            session.dataSource.register(PybrokerSource)  # run from the sources, not installed
        yield session
        session.stop()
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """Return one broker for all tests."""
    broker = BrokerProcess(tmp_path_factory.mktemp("broker"))
    yield broker
    status = broker.stop()
    assert "Traceback" not in broker.log
    assert status == (0, "")


@pytest.fixture
def uri(broker) -> str:
    return f"amqp://{broker.host}:{broker.port}"


@pytest.fixture
def name() -> str:
    """Return a name that nobody else uses: the broker may be one that lives longer than the tests."""
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def channel(broker):
    """Return a channel of a client of our own, in confirm mode."""
    options = Options(addresses=(Address(broker.host, broker.port),), rpc_timeout_s=WAIT_S, recovery=False)
    with Connection(options) as connection:
        channel = connection.channel()
        channel.confirm_select()
        yield channel


@pytest.fixture
def queue(channel, name):
    """Return the name of a durable queue that ends with the test."""
    channel.queue_declare(name, durable=True)
    yield name
    channel.queue_delete(name)


@pytest.fixture
def spool(tmp_path) -> Path:
    return tmp_path / "spool"
