"""The node writes down what goes on: what is new and changed, alarms, whom they held, and what was lost."""

import gc
import json
from itertools import pairwise

import pytest

from pybroker.core.queue.queue import Queue
from pybroker.daemon.telemetry import telemetry
from pybroker.daemon.telemetry.telemetry import FOLDER, FULL_MS
from tests.daemon.running import Running
from tests.daemon.telemetry.station import Station


@pytest.fixture
def station(tmp_path):
    station = Station(tmp_path)
    yield station
    station.telemetry._writer.stop()


def test_queues_are_told_of_when_something_happened_and_all_of_them_now_and_then(station):
    peer = station.world.connect()
    peer.declare("busy")
    peer.declare("idle")
    for advance_ms in (0, 10_000, 10_000, FULL_MS):
        station.world.advance(advance_ms)
        if advance_ms == 10_000:
            peer.publish("", "busy", b"")
        station.telemetry.sample()
    rows = station.rows("queue_sample")
    told = [(row["queue"], row["publish_total"], row.get("first")) for row in rows]
    assert told == [
        ("busy", 0, True),
        ("idle", 0, True),
        ("busy", 1, None),
        ("busy", 2, None),
        ("busy", 2, None),
        ("idle", 0, None),
    ]
    assert {(row["v"], row["node"], row["epoch"]) for row in rows} == {(1, "pybroker@localhost", station.broker.epoch)}
    assert rows[0]["ts"] == 1_700_000_000_000


def test_a_queue_that_is_declared_again_is_a_new_one(station):
    peer = station.world.connect()
    ids = []
    for _ in range(2):
        peer.declare("q")
        station.telemetry.sample()
        ids.append(station.world.vhost.queues["q"].id)
        station.world.vhost.delete_queue(station.world.vhost.queues["q"])
    rows = station.rows("queue_sample")
    told = [(row["queue_id"], row.get("first"), row["state"]) for row in rows]
    assert told == [(ids[0], True, "running"), (ids[0], None, "deleted"), (ids[1], True, "running")]


def test_the_nodes_first_row_is_marked(station):
    station.telemetry.sample()
    station.telemetry.sample()
    assert [row.get("first") for row in station.rows("node_sample")] == [True, None]


def test_what_no_queue_has_is_counted(station):
    peer = station.world.connect()
    for _ in range(5):
        peer.publish("amq.topic", "no.where", b"12")
    station.telemetry.sample()
    (row,) = station.rows("trace_event")
    assert (row["kind"], row["exchange"], row["routing_key"], row["count"]) == (
        "unroutable",
        "amq.topic",
        "no.where",
        5,
    )


def test_a_stop_closes_the_files_although_the_last_look_failed(station, monkeypatch, caplog):
    station.telemetry.sample()

    def fail(*_):
        raise RuntimeError("bug")

    monkeypatch.setattr("pybroker.daemon.telemetry.rows.of_node", fail)
    station.telemetry.stop()
    assert "telemetry failed" in caplog.text
    assert [] == list(station.folder.glob("**/*.open"))


def test_a_daemon_writes_its_telemetry_and_says_so(tmp_path):
    running = Running(tmp_path)
    try:
        figures = json.loads(running.ctl("status", "--formatter", "json"))["telemetry"]
        assert (figures["interval_ms"], figures["dropped"]) == (10_000, 0)
        assert "telemetry.interval = 10000" in running.ctl("environment")
    finally:
        running.stop()
    folder = tmp_path / "data" / FOLDER
    (path,) = (folder / "node_sample").iterdir()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert rows[-1]["mem_limit"] > 0
    assert not [*folder.glob("*/*.open")]


def test_a_daemon_without_telemetry_writes_none(tmp_path):
    (tmp_path / "p.conf").write_text(
        "telemetry.enabled = false\nlisteners.tcp.1 = 127.0.0.1:0\nstream.listeners.tcp = none\n"
    )
    running = Running(tmp_path, "--config", str(tmp_path / "p.conf"))
    try:
        assert json.loads(running.ctl("status", "--formatter", "json"))["telemetry"] is None
    finally:
        running.stop()
    assert not (tmp_path / "data" / FOLDER).exists()


def test_queues_that_are_deleted_meanwhile_are_freed_some_at_a_time(station, monkeypatch):
    monkeypatch.setattr(telemetry, "SLICE", 10)
    vhost = station.world.vhost
    peer = station.world.connect()
    for i in range(50):
        peer.declare(f"q{i}")
    station.telemetry.sample()
    alive = []

    def delete_all():
        for queue in list(vhost.queues.values()):
            vhost.delete_queue(queue)
        alive.append(sum(type(each) is Queue for each in gc.get_objects()))

    station.meanwhile = delete_all
    before = sum(type(each) is Queue for each in gc.get_objects())
    station.telemetry.sample()
    steps = [before, *alive]
    assert steps[-1] <= before - 40
    assert max(first - then for first, then in pairwise(steps)) <= 10
    assert 10 == len(station.telemetry._seen["queue_sample"].known)
    station.telemetry.sample()
    assert {} == station.telemetry._seen["queue_sample"].known


def test_after_a_look_that_failed_no_queue_is_taken_for_a_new_one(station, monkeypatch):
    peer = station.world.connect()
    peer.declare("one")
    peer.declare("two")
    station.telemetry.sample()
    with monkeypatch.context() as patch:
        patch.setattr(telemetry.rows, "queue_activity", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            station.telemetry.sample()
    peer.publish("", "two", b"")
    station.telemetry.sample()
    told = [(row["queue"], row.get("first")) for row in station.rows("queue_sample")]
    assert [("one", True), ("two", True)] == told[:2]
    assert ("two", None) in told[2:]
    assert True not in [first for _, first in told[2:]]
