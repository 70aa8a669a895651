"""The node's stream of telemetry becomes files as the node writes them, each message once, also after a kill."""

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

import json
import re
from types import SimpleNamespace

from pybroker.spark.pipeline import stream_spool
from pybroker.spark.pipeline.failure import FailureError
from pybroker.spark.pipeline.files import note, waiting
from pybroker.spark.pipeline.stream_export import stream_options
from pybroker.spark.pipeline.stream_spool import STATE, StreamSpool
from tests.spark.stream.conftest import link, options, publish, stream, stream_port

__all__ = ["link", "options", "publish", "stream"]

NOON_MS = 1_767_268_800_000
MET = re.compile(r"\.\d{13}-")


@pytest.fixture
def spool(broker, stream, tmp_path):
    names = ("super_stream", "vhost", "username", "password_file", "uri_file")
    place = {"stream": stream, "host": broker.host, "stream_port": stream_port(broker)}
    told = []
    spool = StreamSpool(tmp_path, stream_options(SimpleNamespace(**dict.fromkeys(names), **place)), told.append)
    spool.told = told
    return spool


@pytest.fixture
def tell(channel, stream, name):
    """Return a function that publishes rows of a table as the node does."""
    channel.exchange_declare(name, "fanout")
    channel.queue_bind(stream, name)

    def tell(table, *seqs, ts=NOON_MS):
        for seq in seqs:
            row = {"v": 1, "ts": ts, "seq": seq, "node": "n@h"}
            channel.basic_publish(name, table, json.dumps(row).encode())
        channel.wait_for_confirms()

    yield tell
    channel.exchange_delete(name)


def rows(folder):
    """Return the numbers of the rows in each file, without the time at which the stream was met."""
    return {
        MET.sub(".", str(path.relative_to(folder))): [json.loads(line)["seq"] for line in path.read_text().splitlines()]
        for path in sorted(folder.glob("*/*.ndjson"))
    }


def numbers(folder):
    return sorted(seq for path in folder.glob("*/*.ndjson") for seq in map(number_of, path.read_text().splitlines()))


def number_of(line):
    return json.loads(line)["seq"]


def test_rows_stand_in_files_by_table_and_hour(spool, tell, tmp_path):
    tell("queue_sample", 1, 2)
    tell("node_sample", 3)
    tell("queue_sample", 4, ts=NOON_MS + 3_600_000)
    tell("unknown", 5)
    assert spool.fill() == 5
    assert rows(tmp_path) == {
        "node_sample/20260101T12.00000000000000000002.n@h.ndjson": [3],
        "queue_sample/20260101T12.00000000000000000000.n@h.ndjson": [1, 2],
        "queue_sample/20260101T13.00000000000000000003.n@h.ndjson": [4],
    }
    assert spool.fill() == 0
    tell("queue_sample", 6)
    assert spool.fill() == 1
    assert rows(tmp_path)["queue_sample/20260101T12.00000000000000000005.n@h.ndjson"] == [6]


def test_after_a_kill_the_same_files_are_written_again(spool, tell, tmp_path):
    tell("queue_sample", 1)
    spool.fill()
    before = (tmp_path / STATE).read_bytes()
    tell("queue_sample", 2, 3)
    spool.fill()
    (tmp_path / STATE).write_bytes(before)
    tell("queue_sample", 4)
    spool.fill()
    assert rows(tmp_path) == {
        "queue_sample/20260101T12.00000000000000000000.n@h.ndjson": [1],
        "queue_sample/20260101T12.00000000000000000001.n@h.ndjson": [2, 3, 4],
    }
    assert not spool.told


@pytest.mark.parametrize("text", ["", "{", '{"next": 1}'])
def test_without_a_note_all_comes_again_in_files_of_its_own(spool, tell, tmp_path, text):
    tell("queue_sample", 1, 2)
    spool.fill()
    (tmp_path / STATE).write_text(text)
    spool.fill()
    assert numbers(tmp_path) == [1, 1, 2, 2]


def test_a_stream_that_was_made_anew_has_other_files(spool, tell, tmp_path, monkeypatch):
    tell("queue_sample", 1, 2)
    spool.fill()
    # A node whose data folder is new gives the same id to it.
    known = json.loads((tmp_path / STATE).read_text())
    for change in ({"last": "another"}, {"id": known["id"] + 1}, {"next": 10}):
        tell("queue_sample", 3)
        (tmp_path / STATE).write_text(json.dumps(known | change))
        monkeypatch.setattr(stream_spool.time, "time_ns", lambda known=known: (known["met_ms"] + 1) * 1_000_000)
        spool.fill()
        known = json.loads((tmp_path / STATE).read_text())
    assert len(spool.told) == 3
    assert "was made anew" in spool.told[0]
    names = [path.name for path in sorted(tmp_path.glob("*/*.ndjson"))]
    assert len({name.split("-")[0] for name in names}) == len(names) == 4
    assert numbers(tmp_path) == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3]


def test_messages_that_retention_removed_are_told_of(spool, tell, tmp_path, link, stream, monkeypatch):
    tell("queue_sample", 1)
    spool.fill()
    tell("queue_sample", 2)
    tell("queue_sample", 3)
    ends = type(link).ends
    monkeypatch.setattr(type(link), "ends", lambda self, name: ends(self, name)._replace(first=2))
    spool.fill()
    assert spool.told == [f"stream {stream} lost messages 1 to 1 before they were read"]
    assert numbers(tmp_path) == [1, 3]


def test_files_that_are_in_the_tables_go(spool, tell, tmp_path):
    tell("queue_sample", 1)
    tell("node_sample", 2)
    spool.fill()
    state = {}
    note(state, tmp_path, "queue_sample", waiting(tmp_path, state)["queue_sample"])
    spool.remove_read(state)
    assert numbers(tmp_path) == [2]
    tell("queue_sample", 3)
    spool.fill()
    spool.remove_read(state)
    assert numbers(tmp_path) == [2, 3]


def test_much_is_written_in_portions(spool, tell, tmp_path, monkeypatch):
    monkeypatch.setattr(stream_spool, "MESSAGES_MAX", 1)
    tell("queue_sample", 1)
    tell("queue_sample", 2)
    spool.fill()
    assert numbers(tmp_path) == [1, 2]
    assert json.loads((tmp_path / STATE).read_text())["next"] == 2


def test_a_stream_that_is_not_there_is_told_of(spool, channel, stream):
    channel.queue_delete(stream)
    with pytest.raises(FailureError, match="cannot be read"):
        spool.fill()


def test_after_a_failure_no_message_comes_twice(spool, tell, tmp_path, monkeypatch):
    tell("queue_sample", 1)
    tell("queue_sample", 2)
    with monkeypatch.context() as patch:
        patch.setattr(stream_spool, "write_file", lambda *_: (_ for _ in ()).throw(OSError("no route")))
        with pytest.raises(FailureError, match="cannot be read: no route"):
            spool.fill()
    spool.fill()
    assert numbers(tmp_path) == [1, 2]
