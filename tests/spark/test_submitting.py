"""Spark as it is run elsewhere: spark-submit with a zip of sources, Spark Connect. Slow: each has a JVM of its own."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pybroker.spark.pipeline import package
from tests.spark.conftest import CONFIG, spark_environment
from tests.spark.pipeline.day import Day

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]

JOB = Path(__file__).with_name("submitted_job.py")
CONNECT = ("grpc", "grpc_status", "google.rpc", "zstandard", "pandas")


def lacks(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is None
    except ModuleNotFoundError:
        return True


def run(command, begin="found ", **environment):
    """Return the line of a program's output that begins so."""
    kept = spark_environment() | environment
    with tempfile.TemporaryDirectory() as folder:  # Spark leaves a warehouse where it is started
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env=kept, cwd=folder)
    found = [line for line in done.stdout.splitlines() if line.startswith(begin)]
    errors = [line for line in done.stderr.splitlines() if " INFO " not in line and not line.startswith("\tat ")]
    assert found, done.stdout[-2_000:] + "\n".join(errors)[-6_000:]
    return found[0]


@pytest.fixture
def filled(channel, queue):
    for body in (b"one", b"two"):
        channel.publish_and_wait("", queue, body)
    return queue


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


def test_spark_connect_runs_the_source_unchanged(spark_is_possible, uri, filled):
    missing = [name for name in CONNECT if lacks(name)]
    if missing:
        pytest.skip(f"Spark Connect needs {', '.join(missing)}: pip install 'pyspark[connect]'")
    submit = " ".join([*(f'"{word}"' if " " in word else word for word in configuration()), "pyspark-shell"])
    found = run(
        [sys.executable, str(JOB), uri, filled],
        SPARK_REMOTE="local[2]",
        PYSPARK_SUBMIT_ARGS=submit,
        PYTHONPATH=os.environ.get("PYTHONPATH", ""),
    )
    assert found == f"found [('one', '{filled}'), ('two', '{filled}')]"
