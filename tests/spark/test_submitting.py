"""Spark as it is run elsewhere: spark-submit with a zip of sources, Spark Connect. Slow: each has a JVM of its own."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
from sources import ROOT
from spark.conftest import CONFIG, spark_environment

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]

JOB = Path(__file__).with_name("submitted_job.py")
CONNECT = ("grpc", "grpc_status", "google.rpc", "zstandard", "pandas")


def lacks(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is None
    except ModuleNotFoundError:
        return True


def run(command, **environment):
    kept = spark_environment() | environment
    with tempfile.TemporaryDirectory() as folder:  # Spark leaves a warehouse where it is started
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env=kept, cwd=folder)
    found = [line for line in done.stdout.splitlines() if line.startswith("found ")]
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


def test_spark_submit_serves_the_source_out_of_py_files(spark_is_possible, tmp_path, uri, filled):
    import pamqp
    import pyspark

    # An interpreter that has pyspark and pyarrow, and no pybroker: as on a cluster's executors.
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("pyspark", "py4j", "pyarrow"):
        place = Path(importlib.util.find_spec(name).origin).parent
        (bare / name).symlink_to(place)
    archive = tmp_path / "pybroker_spark.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for path in sorted((ROOT / "pybroker").rglob("*.py")):
            target.write(path, path.relative_to(ROOT))
        target.write(ROOT / "pybroker/spark/discovery.py", "pyspark_pybroker.py")
        for path in Path(pamqp.__file__).parent.glob("*.py"):
            target.write(path, f"pamqp/{path.name}")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    script = Path(pyspark.__file__).parent / "bin/spark-submit"
    command = [
        str(script),
        "--master",
        "local[2]",
        *configuration(),
        "--py-files",
        str(archive),
        str(JOB),
        uri,
        filled,
        "register",
    ]
    found = run(
        command,
        PYTHONPATH=str(bare),
        PYSPARK_PYTHON=str(python),
        PYSPARK_DRIVER_PYTHON=str(python),
        SPARK_HOME=str(script.parent.parent),
    )
    assert found == f"found [('one', '{filled}'), ('two', '{filled}')]"


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
