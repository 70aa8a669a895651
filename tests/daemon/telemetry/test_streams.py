"""The broker's own streams have what the audit log and the files of the telemetry have."""

import json

import pytest

from pybroker.core.events.cause import BROKER
from pybroker.daemon.telemetry import own_stream, streams as module
from pybroker.daemon.telemetry.own_stream import OwnStream
from pybroker.daemon.telemetry.streams import EVENTS, EVENTS_MAX, SLICE, TELEMETRY, WAITING_EVENTS_MAX, OwnStreams
from pybroker.daemon.telemetry.telemetry import Telemetry
from pybroker.daemon.telemetry.writer import Job
from tests.daemon.running import Running
from tests.daemon.telemetry.station import Station


class Streaming(Station):
    """A station whose telemetry goes into the streams as well."""

    def __init__(self, folder):
        super().__init__(folder)
        self.telemetry._writer.stop()
        self.streams = OwnStreams(self.broker)
        self.streams.open()
        self.telemetry = Telemetry(self.broker, folder / "streaming", 10_000, 7, mirror=self.streams.take_rows)
        self.folder = folder / "streaming"

    def told(self, name):
        self.flush()
        return self.bodies(name)

    def flush(self, pause=lambda: None):
        self.streams.flush_events(EVENTS_MAX, pause)
        self.streams.flush_rows(pause)

    def bodies(self, name):
        self.world.run()
        found = self.world.vhost.queues[name].documents(None, lambda _: None, start=0, stop=None, body_octets_max=9_999)
        return [each["body"] for some in found for each in some]


def rows(station, count, table="t", first=0, when_ms=0):
    """Collect rows that are numbered."""
    station.streams.take_rows(Job(table, when_ms, '{"v":1', [{"n": n} for n in range(first, first + count)]))


@pytest.fixture
def station(tmp_path):
    station = Streaming(tmp_path)
    yield station
    station.telemetry._writer.stop()


def test_the_stream_has_the_rows_of_the_files(station):
    peer = station.world.connect()
    peer.declare("q")
    for _ in range(3):
        station.telemetry.sample()
        station.world.advance(10_000)
        peer.publish("", "q", b"1")
    station.telemetry.sample()
    told = station.told(TELEMETRY)
    station.telemetry._writer.stop()
    assert {row["v"] for row in told} == {1}
    tables = {path.name: station.rows(path.name) for path in (station.folder / "telemetry").iterdir() if path.is_dir()}
    assert {"node_sample", "queue_sample", "connection_sample"} <= tables.keys()
    key = json.dumps
    assert sorted(map(key, told)) == sorted(key(row) for rows in tables.values() for row in rows)


def test_events_say_who_did_what(station):
    peer = station.world.connect(peer=("10.0.0.7", 4711))
    peer.declare("q")
    station.broker.events.note("command", {"name": "add_user"}, BROKER)
    told = station.told(EVENTS)
    created = next(each for each in told if each["event"] == "queue.created" and each["user"] == "guest")
    assert (created["v"], created["name"]) == (1, "q")
    assert created["peer"] == "10.0.0.7:4711"
    assert created["ts"] == 1_700_000_000_000
    assert {"connection.created", "command"} <= {each["event"] for each in told}


def test_a_gap_tells_which_rows_are_missing(station):
    marks = station.broker.settings.watermarks
    station.telemetry.sample()
    station.told(TELEMETRY)
    marks.measured.disk_free = 0
    station.world.advance(10_000)
    station.telemetry.sample()
    station.told(TELEMETRY)
    assert station.streams.telemetry.dropped > 0
    marks.measured.disk_free = None
    station.world.advance(10_000)
    station.telemetry.sample()
    gaps = {row["table"]: row for row in station.told(TELEMETRY) if "from_ms" in row}
    gap = gaps["node_sample"]
    assert (gap["why"], gap["rows"], gap["to_ms"] - gap["from_ms"]) == ("disk", 1, 10_000)


def test_very_many_events_are_dropped_and_counted(station, caplog):
    station.told(EVENTS)
    for number in range(WAITING_EVENTS_MAX + 5):
        station.broker.events.note("command", {"name": str(number)}, BROKER)
    before = station.world.vhost.queues[EVENTS].messages
    assert len(station.told(EVENTS)) == before + EVENTS_MAX
    assert station.streams.figures["dropped"] == 5
    assert caplog.messages == [f"stream {EVENTS} lacks events from now on: {WAITING_EVENTS_MAX} wait to be published"]
    station.streams.flush_events(WAITING_EVENTS_MAX, lambda: None)
    last = station.bodies(EVENTS)[-1]
    assert (last["v"], last["event"], last["count"]) == (1, "audit.dropped", 5)
    assert caplog.messages[1:] == [f"stream {EVENTS} has events again; 5 are missing"]


def test_rows_are_published_some_at_a_time(station):
    station.told(EVENTS)
    rows(station, 2 * SLICE + 1)
    pauses = []
    station.flush(lambda: pauses.append(station.streams.telemetry.published))
    assert pauses == [SLICE, 2 * SLICE, 2 * SLICE + 1]
    assert [each["n"] for each in station.bodies(TELEMETRY)] == [*range(2 * SLICE + 1)]


def test_short_jobs_of_a_table_are_published_together(station):
    for n in range(30):
        rows(station, 10, first=10 * n)
    rows(station, 3, "u")
    rows(station, 3, first=300)
    pauses = []
    station.flush(lambda: pauses.append(station.streams.telemetry.published))
    assert pauses[-5:] == [100, 200, 300, 303, 306]
    assert [each["n"] for each in station.bodies(TELEMETRY)] == [*range(300), 0, 1, 2, 300, 301, 302]


def test_a_stop_publishes_as_the_disk_takes_it(station, monkeypatch):
    """The disk is behind after each slice, until it is waited for."""
    behind, waits = set(), []
    find, publish = OwnStream._find, OwnStream.publish

    def find_slowly(self, *, waits=True):
        return (None, own_stream.SLOW_DISK) if waits and self in behind else find(self, waits=waits)

    def publish_and_fall_behind(self, *given, **more):
        is_published = publish(self, *given, **more)
        behind.add(self)
        return is_published

    monkeypatch.setattr(OwnStream, "_find", find_slowly)
    monkeypatch.setattr(OwnStream, "publish", publish_and_fall_behind)
    monkeypatch.setattr(module.gevent, "sleep", lambda seconds: (waits.append(seconds), behind.clear()))
    rows(station, 20 * SLICE)
    station.streams.stop()
    assert len(waits) >= 20
    assert station.streams.telemetry.dropped == 0
    assert [each["n"] for each in station.bodies(TELEMETRY)] == [*range(20 * SLICE)]


def test_a_stop_waits_for_no_disk_for_ever_and_says_what_is_missing(station, monkeypatch):
    monkeypatch.setattr(own_stream, "PENDING_OCTETS_MAX", 1_000)
    monkeypatch.setattr(module, "STOP_S_MAX", 0.05)
    rows(station, 2 * SLICE, when_ms=7)
    station.streams.stop()
    (gap,) = [each for each in station.bodies(TELEMETRY) if "why" in each]
    assert (gap["table"], gap["from_ms"], gap["why"], gap["rows"]) == ("t", 7, "disk", SLICE)


def test_a_stop_while_others_go_on_publishes_the_rest_once(station):
    station.told(EVENTS)
    before = station.streams.events.published
    for number in range(SLICE + 5):
        station.broker.events.note("command", {"name": str(number)}, BROKER)
    rows(station, SLICE + 1)
    rows(station, 1, first=SLICE + 1)
    published = []

    def stop():
        if not published:
            station.streams.stop()
            published.append((station.streams.events.published - before, station.streams.telemetry.published))

    station.flush(stop)
    assert published == [(SLICE + 5, SLICE + 2)]
    assert (station.streams.events.published - before, station.streams.telemetry.published) == published[0]
    assert [each["n"] for each in station.bodies(TELEMETRY)] == [*range(SLICE + 2)]


def test_a_stop_in_the_middle_of_rows_keeps_their_order(station):
    rows(station, 2 * SLICE)
    rows(station, 1, first=2 * SLICE)
    station.flush(station.streams.stop)
    assert [each["n"] for each in station.bodies(TELEMETRY)] == [*range(2 * SLICE + 1)]


def test_nothing_is_published_after_a_stop(station, monkeypatch):
    station.streams.stop()
    before = station.streams.figures
    rows(station, 1)
    station.broker.events.note("command", {"name": "a"}, BROKER)
    station.flush()
    assert station.streams.figures == before
    station.streams.run_events()  # it ends
    station.streams.run_rows()


def test_very_many_rows_are_dropped_counted_and_a_gap(station, monkeypatch):
    monkeypatch.setattr(module, "WAITING_ROWS_MAX", 10)
    rows(station, 10, when_ms=1)
    rows(station, 1, when_ms=2)
    rows(station, 2, when_ms=3)
    rows(station, 3, "u", when_ms=4)
    assert station.streams.telemetry.dropped == 6
    station.told(TELEMETRY)
    rows(station, 10, when_ms=5)
    told = station.told(TELEMETRY)
    gaps = [each for each in told if "why" in each]
    assert len(told) - len(gaps) == 20
    assert [(gap["table"], gap["from_ms"], gap["to_ms"], gap["why"], gap["rows"]) for gap in gaps] == [
        ("t", 2, 5, "overflow", 3)
    ]
    rows(station, 1, "u", when_ms=6)
    (gap,) = [each for each in station.told(TELEMETRY) if each.get("to_ms") == 6]
    assert (gap["table"], gap["from_ms"], gap["rows"]) == ("u", 4, 3)


def test_rows_that_come_while_others_wait_that_were_dropped_are_dropped_too(station, monkeypatch):
    monkeypatch.setattr(module, "WAITING_ROWS_MAX", 2 * SLICE)
    rows(station, 2 * SLICE, when_ms=1)
    rows(station, 1, when_ms=2)
    come = iter([3])
    station.flush(lambda: [rows(station, 1, when_ms=when_ms) for when_ms in come])
    assert station.streams.telemetry.dropped == 2
    rows(station, 1, when_ms=4)
    (gap,) = [each for each in station.told(TELEMETRY) if "why" in each]
    assert (gap["from_ms"], gap["to_ms"], gap["rows"]) == (2, 4, 2)


def test_a_node_has_them_if_it_is_told_to_and_after_a_restart(tmp_path):
    config = tmp_path / "pybroker.conf"
    config.write_text("telemetry.streams = true\ntelemetry.interval = 1000\n")
    for _ in range(2):
        node = Running(tmp_path, config=config)
        try:
            listed = node.ctl("list_queues", "-s", "name", "type")
            assert sorted(listed.split("\n")[:-1]) == [f"{EVENTS}\tstream", f"{TELEMETRY}\tstream"]
        finally:
            node.stop()
    node = Running(tmp_path)
    try:
        lines = node.ctl("stream_read", EVENTS, "--limit", "1000", "--format", "ndjson").splitlines()
        events = [json.loads(line)["body"]["event"] for line in lines]
        assert events.count("node.started") == 2
        assert int(node.ctl("list_queues", "-s", "messages", "name").split(TELEMETRY)[0].split()[-1]) > 2
    finally:
        node.stop()
