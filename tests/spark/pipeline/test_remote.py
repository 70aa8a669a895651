"""Spark Connect: what is missing is said at once; jobs and the connector run through a server as they do without.

Tests through Spark are slow: each has a virtual machine of its own.
"""

import json
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from pybroker.spark.pipeline import remote
from pybroker.spark.pipeline.failure import FailureError
from tests.spark.conftest import spark_environment
from tests.spark.pipeline.day import START, Day

NEEDS = [
    "py4j<0.10.10,>=0.10.9.7",
    'pandas>=2.2.0; extra == "connect"',
    'grpcio>=1.76.0; extra == "connect"',
    'pandas>=9.0; extra == "sql"',
]


@pytest.fixture
def installed(monkeypatch):
    """Return the versions of what is installed besides pyspark, to be filled."""
    versions = {}

    def version(name):
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(remote.metadata, "requires", lambda _: NEEDS)
    monkeypatch.setattr(remote.metadata, "version", version)
    return versions


def test_what_the_client_lacks_is_named_with_what_brings_it(installed):
    installed["pandas"] = "2.1.4"
    with pytest.raises(FailureError) as caught:
        remote.check("sc://127.0.0.1:1")
    assert caught.value.text == (
        "Spark Connect needs pandas 2.2.0+, grpcio 1.76.0+ here: pip install 'pyspark[connect]'"
    )
    assert caught.value.code == 69


def test_a_server_that_does_not_answer_is_told_at_once(installed):
    installed |= {"pandas": "2.10", "grpcio": "1.100.0"}
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        with pytest.raises(FailureError) as caught:
            remote.check(f"sc://127.0.0.1:{port}/;user_id=me")
    assert caught.value.text == f"no Spark Connect server responds at 127.0.0.1:{port}: Connection refused"
    assert caught.value.code == 69
    remote.check("local[2]")  # Spark starts it


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sc://host:15003", ("host", 15003)),
        ("sc://host", ("host", 15002)),
        ("sc://host:1/;token=abc", ("host", 1)),
        ("sc://[::1]:15002", ("::1", 15002)),
    ],
)
def test_addresses(url, expected):
    assert remote.address(url) == expected


@pytest.mark.parametrize("url", ["", "sc://", "sc://a b:c", "http://host:15002"])
def test_what_is_no_address_is_wrong_usage(url):
    with pytest.raises(FailureError, match="sc://host:15002") as caught:
        remote.address(url)
    assert caught.value.code == 64


class Elsewhere:
    """A Spark that writes to another disk, or as another user: `write` does what it does to the folder."""

    def __init__(self, write):
        self.range = lambda _: self
        self.coalesce = lambda _: self
        self.write = self
        self.mode = lambda _: self
        self.parquet = write


def test_a_folder_that_spark_does_not_share_is_found_before_anything_is_replaced(tmp_path):
    with pytest.raises(FailureError) as caught:
        remote.check_folder(Elsewhere(lambda _: None), tmp_path)
    assert caught.value.text == f"Spark wrote to {tmp_path}, but the files are not there: it uses another disk"
    assert caught.value.code == 69


def test_a_folder_that_is_shared_is_left_as_it_was(tmp_path):
    def write(path):
        Path(path).mkdir()
        (Path(path) / "part-0.parquet").touch()

    remote.check_folder(Elsewhere(write), tmp_path / "new")
    assert not list((tmp_path / "new").iterdir())


@pytest.fixture
def run(connect_environment):
    """Return what runs the program with a Connect server that Spark starts for it; it returns its answer."""

    def run(*words):
        command = [sys.executable, "-m", "pybroker.spark.pipeline", "--tell", *words]
        environ = spark_environment() | connect_environment
        done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, env=environ)
        assert done.returncode == 0, done.stdout + done.stderr[-6_000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.mark.spark
@pytest.mark.slow
def test_all_jobs_run_through_a_connect_server(run, tmp_path):
    day = Day(tmp_path / "telemetry", 3, 60, 60).write()
    words = ["--warehouse", str(tmp_path / "w"), "--telemetry", str(day.folder)]
    answer = run("run", "all", *words, "--since", START.isoformat(), "--until", day.until.isoformat())
    assert answer["jobs"]["ingest"]["new rows"] == day.rows
    blocked = json.loads((tmp_path / "w/_reports/blocked.json").read_text())
    assert "shop-7" in {cell for row in blocked["rows"] for cell in row}
    assert {path.stem for path in (tmp_path / "w/_reports").iterdir()} == {
        *(
            "accounting",
            "alarms",
            "backlog",
            "blocked",
            "capacity",
            "consumers",
            "forecast",
            "slo",
            "trends",
            "unroutable",
        ),
    }


@pytest.mark.spark
@pytest.mark.slow
def test_a_queue_is_exported_through_a_connect_server(run, broker, channel, queue, tmp_path):
    for n in range(5):
        channel.publish_and_wait("", queue, b"%d" % n)
    words = ["--queue", queue, "--to", str(tmp_path / "out"), "--host", broker.host, "--port", str(broker.port)]
    answer = run("export", *words, "--available-now")
    assert answer["rows"] == 5
    assert channel.queue_declare(queue, durable=True).message_count == 0
