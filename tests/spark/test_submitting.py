"""Spark as it is run elsewhere: spark-submit with a zip of sources, Spark Connect. Slow: each has a JVM of its own."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from pybroker.spark.pipeline import package
from tests.ports import free_port
from tests.spark.conftest import CONFIG, spark_environment
from tests.spark.pipeline.day import Day
from tests.spark.sink.streams import super_stream
from tests.spark.stream.conftest import stream_port

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

JOB = Path(__file__).with_name("submitted_job.py")
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
STREAMS_JOB = Path(__file__).with_name("streams_job.py")


def run(command, begin="found ", **environment):
    """Return the line of a program's output that begins so."""
    kept = spark_environment() | environment
    with tempfile.TemporaryDirectory() as folder:  # Spark leaves a warehouse where it is started
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500, env=kept, cwd=folder)
    found = [line for line in done.stdout.splitlines() if line.startswith(begin)]
    errors = [line for line in done.stderr.splitlines() if " INFO " not in line and not line.startswith("\tat ")]
    assert found, done.stdout[-2_000:] + "\n".join(errors)[-6_000:]
    return found[0]


@pytest.fixture
def filled(channel, queue):
    for body in (b"one", b"two"):
        channel.publish_and_wait("", queue, body)
    return queue


@pytest.fixture
def streams(channel, broker, uri, name, tmp_path):
    """Make the streams of the job; return its arguments, and a check of what it found."""
    partitions = super_stream(channel, name, "a", "b")
    single = [f"{name}-{each}" for each in ("source", "batch", "rows", "counts", "sql")]
    for each in single:
        channel.queue_declare(each, durable=True, arguments={"x-queue-type": "stream"})
    how = "task" if broker.is_ours else "rows"

    def check(line):
        found = json.loads(line.removeprefix("found "))
        whole = [1_000, 1_000, 499_500]
        for each in ("batch", "parquet", "rows", "super stream", "super stream, followed"):
            assert found[each] == whole, each
        assert found.get("task", whole) == whole
        assert found["partitions"] == [[each, number, 500] for number, each in enumerate(partitions)]
        assert found["counts"] == [f"{key} 250" for key in range(4)]
        assert found["table"] == found["table, followed"] == [10, 10, 45]
        assert found["table, with options"] == 4

    yield [uri, str(stream_port(broker)), name, str(tmp_path / "streams"), how], check
    for each in (*partitions, *single):
        channel.queue_delete(each)
    channel.exchange_delete(name)


def configuration():
    return [word for name, value in CONFIG.items() for word in ("--conf", f"{name}={value}")]


@pytest.fixture
def submit(spark_is_possible, tmp_path):
    """Return what runs spark-submit as our manual pages print it, where nothing of ours is installed."""
    import pyspark

    # As on a cluster: an interpreter that has pyspark and pyarrow, and neither pybroker nor what that brings along.
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("pyspark", "py4j", "pyarrow"):
        place = Path(importlib.util.find_spec(name).origin).parent
        (bare / name).symlink_to(place)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    home = Path(pyspark.__file__).parent
    packed = package.make(tmp_path / "pybroker_spark.zip")

    def submit(job, *words, begin="found "):
        command = [str(home / "bin/spark-submit"), "--master", "local[2]", *configuration()]
        command += ["--py-files", packed["package"], str(job or packed["driver"]), *words]
        return run(
            command,
            begin,
            PYTHONPATH=str(bare),
            PYSPARK_PYTHON=str(python),
            PYSPARK_DRIVER_PYTHON=str(python),
            SPARK_HOME=str(home),
        )

    return submit


def test_spark_submit_serves_the_source_out_of_py_files(submit, uri, filled):
    assert submit(JOB, uri, filled, "register") == f"found [('one', '{filled}'), ('two', '{filled}')]"


def test_the_driver_in_the_package_runs_jobs(submit, tmp_path):
    day = Day(tmp_path / "telemetry", 2, 60, 60).write()
    words = ["run", "ingest", "--warehouse", str(tmp_path / "w"), "--telemetry", str(day.folder), "--quiet"]
    answer = json.loads(submit(None, *words, begin='{"result"'))
    assert answer["jobs"]["ingest"]["new rows"] == day.rows


def test_the_driver_in_the_package_knows_the_connector(submit, broker, filled, tmp_path):
    words = ["export", "--queue", filled, "--to", str(tmp_path / "out"), "--available-now"]
    answer = json.loads(submit(None, *words, "--host", broker.host, "--port", str(broker.port), begin='{"result"'))
    assert answer["rows"] == 2


def test_spark_submit_serves_streams_out_of_py_files(submit, streams):
    words, check = streams
    check(submit(STREAMS_JOB, *words, "register"))


@pytest.fixture
def connect(connect_environment):
    """Return what runs a program with a Connect server that Spark starts for it."""
    environment = connect_environment | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    return lambda *command: run([sys.executable, *map(str, command)], **environment)


def test_spark_connect_runs_the_source_unchanged(connect, uri, filled):
    assert connect(JOB, uri, filled) == f"found [('one', '{filled}'), ('two', '{filled}')]"


@pytest.fixture
def server(connect_environment, tmp_path):
    """Start a Connect server as pybroker-spark(7) prints it; return its address."""
    import pyspark

    port = free_port()
    command = [str(Path(pyspark.__file__).parent / "bin/spark-submit"), "--class", SERVER]
    command += ["--conf", "spark.connect.grpc.binding.address=127.0.0.1", *configuration()]
    command += ["--conf", f"spark.connect.grpc.binding.port={port}"]
    with (tmp_path / "server").open("wb") as output:
        process = subprocess.Popen(
            command, env=spark_environment(), stdout=output, stderr=output, cwd=tmp_path, start_new_session=True
        )
    try:
        deadline = time.monotonic() + 200
        while socket.socket().connect_ex(("127.0.0.1", port)):
            assert process.poll() is None, (tmp_path / "server").read_text()[-4_000:]
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def test_a_connect_server_has_clients_without_pybroker(server, uri, filled):
    # The packages without what .pth files of ours add.
    packages = str(Path(importlib.util.find_spec("pyspark").origin).parent.parent)
    found = run([sys.executable, "-S", str(JOB), uri, filled], SPARK_REMOTE=server, PYTHONPATH=packages)
    assert found == f"found [('one', '{filled}'), ('two', '{filled}')]"


def test_spark_connect_reads_and_writes_streams(connect, streams):
    words, check = streams
    check(connect(STREAMS_JOB, *words))
