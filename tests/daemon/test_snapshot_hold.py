"""Custody: what is held is told when it is on disk, and let go when nobody wants it any more."""

import random
from itertools import islice

import pytest

from pybroker.control.spec import Early, Progress, Refused
from pybroker.daemon.snapshot_hold import hold
from tests.store.data_folder import DataFolder


@pytest.fixture
def data(tmp_path):
    data = DataFolder(tmp_path / "data")
    data.busy(random.Random(1), 40)
    return data


def held_by(data):
    return hold(data.node.log, "pybroker@test", data.path, lambda _seconds: None)


def test_it_is_told_when_all_of_it_is_on_disk(data):
    log = data.node.log
    data.node.publish([b"last"])
    work = held_by(data)
    assert [Progress(0, 0)] * 3 == list(islice(work, 3))
    data.node.work()
    early = next(work)
    assert isinstance(early, Early)
    assert early.value["ticket"] == log.maintenance.checkpoints[0] == log.last_commit_position
    assert early.value["node"] == "pybroker@test"
    assert early.value["data_dir"] == str(data.path)
    last = log.live_index.segments[-1]
    assert early.value["segments"][-1] == (last.number, last.used)
    assert all(octets == 0 for _, octets in early.value["segments"][:-1])


def test_it_is_let_go_when_the_caller_goes(data):
    work = held_by(data)
    next(work)
    data.node.work()
    next(work)
    assert data.node.log.maintenance._held
    work.close()
    assert not data.node.log.maintenance._held


def test_a_checkpoint_that_is_being_written_is_waited_for(data):
    first, second = held_by(data), held_by(data)
    next(first)
    assert next(second) == Progress(0, 0)
    data.node.work()
    assert isinstance(next(first), Early)
    next(second)
    data.node.work()
    assert isinstance(next(second), Early)


def test_a_log_that_fails_is_not_waited_for(data):
    work = held_by(data)
    next(work)
    data.node.log.fail("cannot sync it: Input/output error")
    with pytest.raises(Refused) as refused:
        next(work)
    assert refused.value.text == "cannot hold the log: cannot sync it: Input/output error"
    assert refused.value.exit_code == 69
    assert not data.node.log.maintenance._held


def test_a_log_that_is_closed_is_held_by_nobody(data):
    data.node.close()
    with pytest.raises(Refused, match="cannot hold the log: the node stops"):
        next(held_by(data))
    assert not data.node.log.maintenance._held


def test_two_callers_of_a_log_that_has_failed_are_both_refused(data):
    data.node.log.fail(MemoryError())
    for work in (held_by(data), held_by(data)):
        with pytest.raises(Refused, match="cannot hold the log: MemoryError"):
            next(work)
    assert not data.node.log.maintenance._held


def test_a_log_that_fails_as_it_is_to_be_held_is_held_by_nobody(data, monkeypatch):
    first = held_by(data)
    next(first)
    data.node.work()
    next(first)
    monkeypatch.setattr(type(data.node.log), "_seal", lambda _: 1 / 0)
    second = held_by(data)
    with pytest.raises(Refused, match="cannot hold the log"):
        next(second)
    first.close()
    assert not data.node.log.maintenance._held


def test_of_a_segment_in_which_nothing_lives_the_file_may_be_going(data):
    maintenance, dead = data.node.log.maintenance, data.node.log.live_index.segments[0]
    dead.dead = True
    _, segments = maintenance.hold()
    assert dead.number not in dict(segments)
