"""Tables that were made bit by bit are those that were made at once; who follows takes turns."""

import argparse
import signal
import time

import pytest

pytest.importorskip("pyspark")

from pybroker.client import Address, Connection, Options
from pybroker.spark.pipeline import follow, program
from pybroker.spark.pipeline.failure import INTERRUPTED, FailureError
from pybroker.spark.pipeline.jobs import ingest, rollup
from pybroker.spark.pipeline.schemas import RAW
from pybroker.spark.pipeline.tables import FOLLOWED, Warehouse
from tests.interop.broker_process import BrokerProcess
from tests.spark.conftest import WAIT_S
from tests.spark.pipeline.day import START, Day
from tests.spark.pipeline.jobs.rows import rows_there
from tests.spark.pipeline.test_replacement import killed
from tests.spark.pipeline.told import NOW, Told
from tests.spark.stream.conftest import stream_port

SIZE = (5, 60, 240)
SAMPLED = ("node_sample", "queue_sample", "connection_sample", "trace_event")


@pytest.mark.slow
@pytest.mark.spark
def test_tables_made_bit_by_bit_are_those_made_at_once_in_tasks(spark, tmp_path, monkeypatch):
    day = Day(tmp_path / "day", *SIZE).write()
    at_once, told = Told(day, tmp_path / "at_once", spark), Told(day, tmp_path / "told", spark)
    at_once.tell(24)
    with monkeypatch.context() as patch:
        for job, limit in ((ingest, "HERE_OCTETS_MAX"), (rollup, "HERE_ROWS_MAX")):
            patch.setattr(job, limit, 0)
        at_once.run()
    for hours in (0.5, 2.25, 3.01, 24):
        told.tell(hours)
        told.run()
    assert told.content() == at_once.content()
    assert {*told.run()["rollup"].values()} == {0}


def given(tmp_path):
    (tmp_path / "telemetry").mkdir(exist_ok=True)
    return argparse.Namespace(
        source="files", warehouse=tmp_path / "w", telemetry=tmp_path / "telemetry", quiet=True, master=None, remote=None
    )


def test_one_process_follows_and_others_may_run(tmp_path):
    warehouse = Warehouse(tmp_path / "w", NOW)
    with warehouse.lock(FOLLOWED):
        with pytest.raises(FailureError) as caught:
            follow.follow(given(tmp_path), lambda now: now)
        assert caught.value.code == 75
        with warehouse.lock():
            # The others' turn.
            assert not follow.run_jobs(given(tmp_path), lambda now: now)


def test_a_look_is_all_jobs_and_takes_place_where_there_is_something_new(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(follow, "perform", lambda run, names: ran.append((run.window, names)))
    arguments = given(tmp_path)
    assert follow.run_jobs(arguments, lambda _: START)
    ((window, names),) = ran
    assert (window.since, names) == (START, [*follow.JOBS])
    warehouse = Warehouse(tmp_path / "w")
    assert not follow.octets_unread(warehouse, arguments.telemetry)
    file = arguments.telemetry / "alarm_event/20260105T00.0001.ndjson.open"
    file.parent.mkdir()
    file.write_text("half a line")
    assert not follow.octets_unread(warehouse, arguments.telemetry)
    file.write_text("a line\n")
    assert follow.octets_unread(warehouse, arguments.telemetry)


def test_a_job_that_fails_ends_it(tmp_path, monkeypatch):
    def fail(_run, _names):
        raise FailureError("broken")

    monkeypatch.setattr(follow, "perform", fail)
    with pytest.raises(FailureError, match="broken"):
        follow.run_jobs(given(tmp_path), lambda _: START)
    arguments = given(tmp_path)
    arguments.telemetry.rmdir()
    with pytest.raises(FailureError, match="there is no telemetry"):
        follow.follow(arguments, lambda now: now)


def test_a_broker_that_goes_is_looked_for_again(capsys):
    class Gone:
        def fill(self):
            raise FailureError("stream s cannot be read: gone", 69)

    given = argparse.Namespace(quiet=False)
    with pytest.raises(FailureError):
        follow.fill(given, Gone(), is_first=True)
    assert not follow.fill(given, Gone(), is_first=False)
    assert capsys.readouterr().err == "stream s cannot be read: gone; trying again\n"


class Node:
    """A node that publishes its telemetry, the process that follows its stream, and the tables of both."""

    CONFIG = "telemetry.streams = true\ntelemetry.interval = 1000"

    def __init__(self, folder, monkeypatch):
        self.folder, self.monkeypatch = folder, monkeypatch
        self.start()

    def start(self):
        self.process = BrokerProcess(self.folder / "node", config=self.CONFIG)

    def work(self, queue):
        """Have something to tell: a queue that comes, gets a message, and goes; another message is lost."""
        with Connection(Options(addresses=(Address(self.process.host, self.process.port),))) as connection:
            channel = connection.channel()
            channel.queue_declare(queue)
            channel.basic_publish("", queue, b"x")
            channel.basic_publish("", "nowhere", b"x")
            channel.queue_delete(queue)

    def follow(self, until=lambda: True):
        """Follow the stream until it is so after a look."""
        deadline = time.monotonic() + WAIT_S

        def sleep(_):
            if until():
                raise KeyboardInterrupt
            assert time.monotonic() < deadline
            time.sleep(0.1)

        patched = argparse.Namespace(monotonic=time.monotonic, sleep=sleep)
        self.monkeypatch.setattr(follow, "time", patched)
        words = ["--host", self.process.host, "--stream-port", str(stream_port(self.process))]
        where = ["--warehouse", str(self.folder / "followed"), "--quiet"]
        assert program.main(["follow", "--from", "streams", *where, *words]) == INTERRUPTED

    def tells(self, queue):
        """Tell whether the tables that are followed into tell of the end of a queue, and each one of its daemon."""
        rows = {table: self.rows("followed", table) for table in SAMPLED}
        ends = (row for row in rows["queue_sample"] if row["queue"] == queue and row["deleted_ms"])
        return any(all(end["epoch"] in {row["epoch"] for row in rows[table]} for table in SAMPLED) for end in ends)

    def rows(self, warehouse, table):
        return rows_there(Warehouse(self.folder / warehouse), RAW[table])

    def read_files(self):
        words = ["--telemetry", str(self.folder / "node/data/telemetry"), "--quiet"]
        assert program.main(["run", "ingest", "--warehouse", str(self.folder / "read"), *words]) == 0


def test_tables_of_the_stream_are_those_of_the_files_after_kills_of_either(spark_is_possible, tmp_path, monkeypatch):
    node = Node(tmp_path, monkeypatch)
    try:
        node.work("one")
        node.follow(until=lambda: node.tells("one"))
        for step in (2, 5, 30):
            node.work(f"killed at {step}")
            with monkeypatch.context() as patch:
                assert killed(patch, step, lambda: node.follow(until=lambda: False))
        node.process.signal(signal.SIGKILL)
        node.process.ended()
        node.start()
        node.work("two")
        node.follow(until=lambda: node.tells("two"))
    finally:
        node.process.stop()
    node.read_files()
    for table in SAMPLED:
        followed, there = node.rows("followed", table), node.rows("read", table)
        for epoch in {row["epoch"] for row in there}:
            mine = [row for row in followed if row["epoch"] == epoch]
            # The last second of a node that is killed, or ends, is in its files alone.
            told = max(row["seq"] for row in mine)
            assert mine == [row for row in there if row["epoch"] == epoch and row["seq"] <= told]
    assert node.tells("one")
    # The next look removes files that this one read.
    assert len([*(tmp_path / "followed/_stream").glob("*/*.ndjson")]) <= 2 * len(RAW)
