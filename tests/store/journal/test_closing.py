"""A batch that has to wait for others before it is written, and what goes on meanwhile."""

import pytest

from pybroker.store.journal.maintenance import Maintenance
from tests.store.faulty_disk import FaultyDisk
from tests.store.journals import Node


class Slow:
    """Holds each batch up until it is told to go on."""

    def __init__(self, node):
        self.node = node
        self.batches = []
        node.log.on_closing = self.closing

    def closing(self, position, builder, done):
        self.batches.append((position, builder, done))
        self.seq = self.node.log.take(1)
        return True

    def go_on(self):
        self.batches.pop(0)[2]()
        self.node.work()


@pytest.fixture
def node():
    return Node(FaultyDisk())


@pytest.fixture
def slow(node):
    return Slow(node)


def test_nothing_is_written_before_and_the_next_batch_gathers(node, slow):
    node.publish([b"a"])
    node.commit()
    node.publish([b"b"])
    node.commit()
    assert ([], 2, True) == (node.completed, node.log.commit_position, node.log.is_closing)
    assert [] == Node(node.disk).live()
    slow.go_on()
    assert [1] == node.completed
    node.commit()
    slow.go_on()
    assert [1, 2] == node.completed
    # The seqs between them were given away.
    assert [1, 3] == Node(node.disk).live()


def test_seqs_of_the_next_batch_are_not_on_disk_with_this_one(node, slow):
    node.publish([b"a"])
    node.commit()
    node.publish([b"b"])
    slow.go_on()
    assert slow.seq + 1 == node.log.safe_seq == 3


def test_a_queue_that_is_deleted_meanwhile_is_forgotten_with_its_messages(node, slow):
    node.publish([b"a"])
    node.commit()
    node.log.forget_queue(1)
    slow.go_on()
    assert not any(each.pairs.get(1) for each in node.log.live_index.segments)


def test_what_is_taken_out_waits_no_longer(node, slow):
    node.publish([b"a"])
    node.commit()
    assert node.log.uncommitted_octets
    slow.batches[0][1].appends.clear()
    slow.go_on()
    assert 0 == node.log.uncommitted_octets
    assert [] == Node(node.disk).live()


def test_no_backup_begins_meanwhile(node, slow):
    node.publish([b"a"])
    node.commit()
    assert node.log.maintenance.hold() is None
    slow.go_on()
    assert node.log.maintenance.hold() is not None


def test_a_stop_waits(node, slow):
    node.publish([b"a"])
    node.commit()
    done = []
    node.log.close({}, done.append)
    node.work()
    assert [] == done
    slow.go_on()
    assert [None] == done
    again = Node(node.disk)
    assert (again.recovered.clean, again.live()) == (True, [1])


def test_a_stop_does_not_wait_for_what_broke_off(node, slow):
    node.publish([b"a"])
    node.commit()
    done = []
    node.log.close({}, done.append)
    node.work()
    node.log.fail(MemoryError())
    assert [None] == done
    slow.go_on()
    assert ([], [None]) == (node.completed, done)


def test_a_stop_does_not_wait_if_the_batch_cannot_be_made(node, slow, monkeypatch):
    node.publish([b"a"])
    node.commit()
    done = []
    node.log.close({}, done.append)
    monkeypatch.setattr(Maintenance, "segment_for", lambda *_: 1 // 0)
    slow.go_on()
    assert (bool(node.log.failed), [None]) == (True, done)


def test_a_log_that_failed_meanwhile_writes_nothing(node, slow):
    node.publish([b"a"])
    node.commit()
    node.log.fail(OSError("no disk"))
    done = []
    node.log.close({}, done.append)
    slow.go_on()
    assert ([], [None]) == (node.completed, done)
