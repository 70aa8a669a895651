"""The spool at each point where a process may be killed: nothing lost, nothing torn, twice only what is flagged."""

import os
import subprocess
import sys

import pytest

pa = pytest.importorskip("pyarrow", reason="no pyarrow here: pip install 'pybroker[spark]'")

from pybroker.spark.parse.raw import SCHEMA  # noqa: E402 - only where pyarrow is
from pybroker.spark.readers.spool import Spool, SpoolError, read_segment  # noqa: E402

SOURCE = {"queue": "q", "virtual_host": "/"}


def batch(*values):
    rows = [
        {"value": v, "routing_key": "k", "exchange": "", "redelivered": False, "properties": b"\0\0"} for v in values
    ]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


@pytest.fixture
def open_spool(tmp_path):
    spools = []

    def make(source=SOURCE, timeout_s=0.0):
        spools.append(Spool(str(tmp_path / "spool"), source))
        spools[-1].open(timeout_s)
        return spools[-1]

    yield make
    for spool in spools:
        spool.close()


def test_what_was_written_is_read_as_often_as_one_likes(open_spool):
    spool = open_spool()
    assert spool.write(1, [batch(b"a", b"b"), batch(b"c")]) == 3
    for _ in range(2):
        assert [b.column("value").to_pylist() for b in read_segment(str(spool.path(1)))] == [[b"a", b"b"], [b"c"]]
    assert (spool.numbers(), spool.rows(1)) == ([1], 3)


def test_a_segment_of_nothing_is_none(open_spool):
    spool = open_spool()
    assert spool.write(1, []) == 0
    assert spool.numbers() == []


def test_a_broker_that_goes_in_mid_segment_leaves_nothing(open_spool):
    def batches():
        yield batch(b"a")
        raise ConnectionError

    spool = open_spool()
    with pytest.raises(ConnectionError):
        spool.write(1, batches())
    assert sorted(path.name for path in spool.folder.iterdir()) == ["drainer.lock", "source.json"]


def test_what_a_commit_covers_is_removed(open_spool):
    spool = open_spool()
    for number in (1, 2, 3):
        spool.write(number, [batch(b"%d" % number)])
    spool.remove(2)
    spool.remove(2)
    assert spool.numbers() == [3]


def test_a_replay_without_its_segment_is_an_error_not_an_empty_batch(open_spool):
    spool = open_spool()
    with pytest.raises(SpoolError, match="is missing: its messages were acknowledged"):
        list(read_segment(str(spool.path(4))))


def test_a_torn_segment_is_told(open_spool):
    spool = open_spool()
    spool.write(1, [batch(b"a")])
    spool.path(1).write_bytes(spool.path(1).read_bytes()[:-9])
    with pytest.raises(SpoolError, match="is damaged"):
        list(read_segment(str(spool.path(1))))


def test_only_one_may_drain(open_spool):
    spool = open_spool()
    with pytest.raises(SpoolError, match="is in use by another query: each query needs its own folder"):
        open_spool()
    spool.close()
    open_spool()


def test_a_folder_keeps_to_its_queue(open_spool):
    spool = open_spool()
    spool.claim()
    spool.close()
    with pytest.raises(SpoolError, match=r"has messages of queue 'q' in virtual host '/', not of queue 'other'"):
        open_spool(SOURCE | {"queue": "other"})


KILLED = """
import os, signal, sys
from pybroker.spark.readers import spool as module
from tests.spark.readers.test_spool import SOURCE, batch
point = sys.argv[2]
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
spool = module.Spool(sys.argv[1], SOURCE)
spool.open(0)
spool.write(1, [batch(b"one")])
def batches():
    yield batch(b"two")
    if point == "in the segment":
        die()
if point == "before its sync":
    module.os.fsync = die
if point == "before the rename":
    module.Path.rename = die
if point == "before the folder's sync":
    module.sync_folder = die
spool.write(2, batches())
die()
"""


@pytest.mark.parametrize(
    ("point", "left"),
    [
        ("in the segment", [1]),
        ("before its sync", [1]),
        ("before the rename", [1]),
        ("before the folder's sync", [1, 2]),
        ("before the ack", [1, 2]),
    ],
)
def test_killed_at_any_point_segments_are_whole(tmp_path, open_spool, point, left):
    folder = tmp_path / "spool"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), point],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert done.returncode == -9
    spool = open_spool(timeout_s=5.0)
    assert spool.numbers() == left
    assert list(folder.glob("*.tmp")) == []
    read = [b.column("value").to_pylist() for number in left for b in read_segment(str(spool.path(number)))]
    assert read == [[b"one"], [b"two"]][: len(left)]
