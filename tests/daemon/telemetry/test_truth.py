"""Nothing is left out: what came and went between two looks, and what there was no room to write down."""

import gevent
import pytest
from gevent.event import Event
from pamqp.commands import Basic

from pybroker.daemon.telemetry import telemetry
from pybroker.daemon.telemetry.files import TelemetryFiles
from pybroker.daemon.telemetry.telemetry import FULL_MS, QUEUES
from pybroker.daemon.telemetry.writer import Writer
from tests.daemon.telemetry.station import Station


@pytest.fixture
def station(tmp_path):
    station = Station(tmp_path)
    yield station
    station.telemetry._writer.stop()


# -- what came and went ------------------------------------------------------------------------------------------------


def test_a_queue_that_lived_between_two_looks_has_a_row_with_its_totals(station):
    station.telemetry.sample()
    peer = station.world.connect()
    peer.declare("brief")
    for _ in range(555):
        peer.publish("", "brief", b"x")
    station.world.advance(1_000)
    station.world.vhost.delete_queue(station.world.vhost.queues["brief"])
    station.world.advance(9_000)
    station.telemetry.sample()
    (row,) = station.rows("queue_sample")
    assert (row["queue"], row["first"], row["state"]) == ("brief", True, "deleted")
    assert (row["publish_total"], row["ready"], row["bytes"], row["discarded"]) == (555, 0, 0, 555)
    assert row["ts"] - row["deleted_ms"] == 9_000


def test_a_deleted_queue_has_a_last_row_even_if_a_look_is_under_way(station, monkeypatch):
    monkeypatch.setattr(telemetry, "SLICE", 2)
    peer = station.world.connect()
    for name in "abcd":
        peer.declare(name)
    station.telemetry.sample()
    vhost = station.world.vhost

    def delete_it():
        if "a" in vhost.queues:
            vhost.delete_queue(vhost.queues["a"])

    station.meanwhile = delete_it
    peer.publish("", "a", b"")
    station.telemetry.sample()
    station.telemetry.sample()
    told = [(row["publish_total"], row["state"], row.get("first")) for row in station.rows("queue_sample")]
    assert [each for each in told if each[1] == "deleted"] == [(1, "deleted", None)]


@pytest.mark.parametrize("is_known", [False, True])
def test_a_queue_that_is_deleted_before_a_look_comes_to_it_has_no_row_behind_its_last(station, monkeypatch, is_known):
    monkeypatch.setattr(telemetry, "SLICE", 1)
    monkeypatch.setattr(telemetry, "ENDS", 1)  # last rows are written at once
    peer, vhost = station.world.connect(), station.world.vhost
    peer.declare("a")
    if not is_known:
        station.telemetry.sample()
    peer.declare("b")
    if is_known:
        station.telemetry.sample()
    peer.publish("", "b", b"")

    def delete_it():
        if "b" in vhost.queues:
            vhost.delete_queue(vhost.queues["b"])

    station.meanwhile = delete_it
    station.telemetry.sample()
    station.telemetry.sample()
    told = [row for row in station.rows("queue_sample") if row["queue"] == "b"]
    assert ["running"] * is_known + ["deleted"] == [row["state"] for row in told]
    assert [True] + [None] * is_known == [row.get("first") for row in told]


def test_a_stop_amid_a_look_tells_of_nothing_twice(station, monkeypatch):
    monkeypatch.setattr(telemetry, "SLICE", 2)
    monkeypatch.setattr(telemetry, "LOOK_S", 0.0)
    peer, looked = station.world.connect(), Event()
    for name in "abcde":
        peer.declare(name)

    def stay():
        looked.set()
        gevent.sleep(60)

    station.meanwhile = stay
    look = gevent.spawn(station.telemetry.run)
    looked.wait(60)
    station.meanwhile = lambda: None
    station.telemetry.stop()
    assert look.dead
    told = [(row["queue"], row["first"]) for row in station.rows("queue_sample")]
    assert told == [(name, True) for name in "abcde"]


def test_what_consumers_and_limits_did_to_a_queue_is_counted(station):
    peer = station.world.connect()
    peer.declare("q", {"x-max-length": 3, "x-overflow": "reject-publish"})
    for _ in range(5):
        peer.publish("", "q", b"1")
    peer.call(Basic.Qos(prefetch_count=2))
    peer.consume("q", tag="c")
    station.world.run()
    station.telemetry.sample()
    peer.send(Basic.Nack(delivery_tag=1, requeue=True))
    station.world.run()
    peer.send(Basic.Nack(delivery_tag=2, requeue=False))
    station.world.run()
    station.telemetry.sample()
    before, after = (row for row in station.rows("queue_sample"))
    assert (before["consumers_full"], before["unacked"], before["refused_total"]) == (1, 2, 2)
    assert (after["requeue_total"], after["rejected_total"]) == (1, 1)


def test_a_connection_has_a_last_row_with_what_went_through_it(station):
    peer = station.world.connect()
    station.telemetry.sample()
    peer.declare("q")
    peer.publish("", "q", b"1")
    peer.publish("", "q", b"2")
    peer.get("q")
    conn_id = peer.session.pid
    peer.disconnect()
    brief = station.world.connect()
    brief.publish("", "q", b"3")
    brief.disconnect()
    station.world.connect().disconnect()
    station.telemetry.sample()
    told = [(row["conn_id"], row.get("publish_total"), row.get("first")) for row in station.rows("connection_sample")]
    assert told == [
        (conn_id, 0, True),
        (conn_id, 2, None),
        (brief.session.pid, 1, True),
        ("(others:guest@/)", 0, True),
    ]
    rows = station.rows("connection_sample")
    assert (rows[1]["deliver_total"], rows[1]["state"], rows[1]["closed_ms"]) == (1, "closed", rows[1]["ts"])
    assert rows[3]["others"] == 1


def test_the_nodes_totals_have_what_closed_connections_delivered(station):
    peer = station.world.connect()
    peer.declare("q")
    peer.publish("", "q", b"")
    peer.get("q")
    peer.disconnect()
    station.telemetry.sample()
    (row,) = station.rows("node_sample")
    assert (row["publish_total"], row["deliver_total"], row["interval_ms"]) == (1, 1, 10_000)


# -- when not everything can be told -----------------------------------------------------------------------------------


def test_while_the_disk_is_short_the_node_alarms_and_losses_are_told_of(station, monkeypatch):
    world, broker = station.world, station.broker
    peer = world.connect()
    peer.declare("q")
    station.telemetry.sample()
    station.set_free(monkeypatch, 1)
    broker.alarms.set("disk", "short")
    for _ in range(12):
        world.advance(10_000)
        peer.publish("", "q", b"")
        peer.publish("", "nowhere", b"")
        station.telemetry.sample()
    world.advance(FULL_MS)
    station.telemetry.sample()
    broker.alarms.clear("disk")
    alarms = [(row["action"], row["set_ms"]) for row in station.rows("alarm_event")]
    assert alarms == [("set", 1_700_000_000_000), ("clear", 1_700_000_000_000)]
    assert len(station.rows("node_sample")) == 14
    # A minute's losses at a time, and the queues every five minutes.
    assert [row["count"] for row in station.rows("trace_event")] == [6, 6]
    assert [row["publish_total"] for row in station.rows("queue_sample")] == [0, 12]
    assert station.rows("gap") == []


def test_when_the_reserve_is_scant_queues_are_not_told_of_and_that_is_a_gap(station, monkeypatch):
    world = station.world
    peer = world.connect()
    peer.declare("q")
    station.telemetry.sample()
    station.set_free(monkeypatch, 1)
    station.telemetry._writer._files._reserve.octets = 3 << 20
    for _ in range(2):
        world.advance(FULL_MS)
        peer.publish("", "q", b"")
        peer.declare("new")
        station.telemetry.sample()
    station.set_free(monkeypatch, 1 << 40)
    world.advance(10_000)
    station.telemetry.sample()
    told = [(row["queue"], row["publish_total"], row.get("first")) for row in station.rows("queue_sample")]
    assert told == [("q", 0, True), ("q", 2, None), ("new", 0, True)]
    begin, _, *ends = station.rows("gap")
    since, until = 1_700_000_000_000, 1_700_000_000_000 + 2 * FULL_MS + 10_000
    assert (begin["table"], begin["from_ms"], begin["to_ms"], begin["why"]) == ("queue_sample", since, None, "disk")
    assert [(row["table"], row["from_ms"], row["to_ms"]) for row in ends] == [
        ("queue_sample", since, until),
        ("connection_sample", since, until),
    ]


def test_queues_that_could_not_be_written_are_told_of_next_time(station, monkeypatch):
    peer = station.world.connect()
    peer.declare("old")
    station.telemetry.sample()
    peer.declare("new")
    peer.publish("", "old", b"")
    write = Writer.write
    with monkeypatch.context() as patch:
        patch.setattr(
            Writer, "write", lambda self, table, *rest, **how: table != QUEUES and write(self, table, *rest, **how)
        )
        station.world.advance(10_000)
        station.telemetry.sample()
    station.world.advance(10_000)
    station.telemetry.sample()
    told = [(row["queue"], row["publish_total"], row.get("first")) for row in station.rows("queue_sample")]
    assert told == [("old", 0, True), ("old", 1, None), ("new", 0, True)]
    begin, end = station.rows("gap")
    assert (begin["why"], begin["rows"], begin["to_ms"]) == ("overflow", 2, None)
    assert (end["from_ms"], end["to_ms"]) == (1_700_000_000_000, 1_700_000_020_000)


def test_losses_wait_for_a_disk_that_refuses_rows(station, monkeypatch):
    peer = station.world.connect()
    refused = [True]
    write = TelemetryFiles.write

    def refuse(self, *job):
        if refused:
            raise OSError(28, "No space left on device")
        write(self, *job)

    monkeypatch.setattr(TelemetryFiles, "write", refuse)
    for _ in range(3):
        peer.publish("", "nowhere", b"")
        station.telemetry.sample()
        station.wait()
    refused.clear()
    station.telemetry.stop()
    assert sum(row["count"] for row in station.rows("trace_event")) == 3
    assert [row.get("first") for row in station.rows("node_sample")] == [True, None, None, None]


def test_an_alarm_of_descriptors_is_seen_to_clear(station):
    station.broker.alarms.set("file_descriptor_limit", "none left")
    station.telemetry.do_due()
    station.broker.alarms.clear("file_descriptor_limit")
    station.telemetry.do_due()
    assert [row["action"] for row in station.rows("alarm_event")] == ["set", "clear"]


def test_a_clock_that_is_set_is_told_of_and_rows_keep_their_order(station):
    clock = station.world.clock
    station.telemetry.do_due()
    clock.timestamp_ms -= 3_600_000
    station.telemetry.do_due()
    station.world.advance(10_000)
    station.telemetry.do_due()
    (gap,) = station.rows("gap")
    hour = (1_700_000_000_000 - 3_600_000, 1_700_000_000_000)
    assert (gap["why"], gap["from_ms"], gap["to_ms"], gap["table"]) == ("clock_back", *hour, "")
    rows = sorted(station.rows("node_sample"), key=lambda row: row["seq"])
    assert [row["up_ms"] for row in rows] == [0, 10_000]
    assert rows[0]["ts"] > rows[1]["ts"]
