"""Connections that alarms hold: since when, and for how long."""

import pytest

from pybroker.daemon.telemetry import blocks
from pybroker.daemon.telemetry.blocks import Blocks
from tests.daemon.telemetry.station import Station


@pytest.fixture
def station(tmp_path):
    station = Station(tmp_path)
    yield station
    station.telemetry._writer.stop()


def test_an_alarm_is_an_event_of_its_own_time_and_whom_it_held_for_how_long(station):
    world, alarms = station.world, station.broker.alarms
    publisher, consumer = world.connect(), world.connect()
    publisher.declare("q")
    publisher.publish("", "q", b"")
    consumer.get("q")
    alarms.set("memory", "short")
    publisher.publish("", "q", b"")
    world.run()
    station.telemetry.check()
    world.advance(7_000)
    alarms.clear("memory")
    world.run()
    station.telemetry.check()
    told = [(row["resource"], row["action"], row["ts"] - 1_700_000_000_000) for row in station.rows("alarm_event")]
    assert told == [("memory", "set", 0), ("memory", "clear", 7_000)]
    blocks = station.rows("block_event")
    assert [(row["conn_id"], row["action"], row["reason"], row["duration_ms"]) for row in blocks] == [
        (publisher.session.pid, "begin", "memory", None),
        (publisher.session.pid, "end", "memory", 7_000),
    ]
    assert len({row["began_ms"] for row in blocks}) == 1


def test_a_connection_that_vanishes_while_it_is_held_is_held_no_longer(station):
    world = station.world
    peer = world.connect()
    peer.declare("q")
    peer.publish("", "q", b"")
    station.broker.alarms.set("disk", "short")
    peer.publish("", "q", b"")
    world.run()
    station.telemetry.check()
    world.advance(3_000)
    peer.disconnect()
    station.telemetry.check()
    ends = [row for row in station.rows("block_event") if row["action"] == "end"]
    assert [(row["conn_id"], row["reason"], row["duration_ms"]) for row in ends] == [(peer.session.pid, "disk", 3_000)]


def test_very_many_that_are_blocked_are_looked_at_some_at_a_time(station, monkeypatch):
    monkeypatch.setattr(blocks, "SLICE", 3)
    told = []
    held = Blocks(
        station.broker, lambda rows: told.append([row["action"] for row in rows]), lambda _: told.append("pause")
    )
    peers = [station.world.connect() for _ in range(7)]
    station.broker.alarms.set("memory", "short")
    for peer in peers:
        peer.publish("", "nowhere", b"")
    station.world.run()
    assert not held.are_few
    held.write_changes()
    assert (told, len(held)) == ([["begin"] * 3, "pause", ["begin"] * 3, "pause", ["begin"]], 7)
    told.clear()
    station.broker.alarms.clear("memory")
    station.world.run()
    held.write_changes()
    assert told == [["end"] * 3, "pause", ["end"] * 3, "pause", ["end"], [], "pause", [], "pause", []]
    assert len(held) == 0
