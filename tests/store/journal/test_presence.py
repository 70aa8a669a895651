"""While the node runs a segment that somebody removed is reported once, and the open one ends the log."""

import errno

import pytest

from pybroker.store.format import segment_number
from pybroker.store.journal.presence import LOOK_MS
from tests.store.faulty_disk import FaultyDisk
from tests.store.journals import Node


def segments(disk):
    return [name for name in disk.names() if segment_number(name) is not None]


@pytest.fixture
def disk():
    """A log of two segments with one message each."""
    disk = FaultyDisk()
    node = Node(disk, largest=2_000)
    for _ in range(2):
        node.publish([bytes(1_500)])
        node.commit()
    return disk


def test_a_sealed_segment_is_missed_once(disk):
    node = Node(disk)
    node.publish([b"more"])
    node.commit()
    name = segments(disk)[0]
    disk.unlink(name)
    for _ in range(3):
        node.tick(LOOK_MS)
    text = f"segment {name} was removed while the node is running: its 1 messages are lost unless the file is restored"
    assert [text] == node.unreadable
    assert [] == node.failed


def test_a_listing_that_comes_late_misses_nothing_that_was_unlinked_meanwhile(disk):
    """Without a descriptor it is done again, and then comes behind jobs that were behind it."""
    node = Node(disk)
    maintenance = node.log.maintenance
    node.log.settle_seqs(1, 1, 1)
    node.commit()
    dead = node.log.live_index.segments[0]
    disk.fail_next("names", errno.EMFILE)
    maintenance._presence.tick(node.clock.now_ms + LOOK_MS)
    node.work()
    dead.dead = True
    maintenance._unlink([dead])
    node.tick(LOOK_MS)
    assert ([], []) == (node.unreadable, node.failed)


def test_the_open_segment_is_missed_without_a_publish(disk):
    node = Node(disk)
    node.publish([b"more"])
    node.commit()
    disk.unlink(segments(disk)[-1])
    node.tick(LOOK_MS)
    node.tick(LOOK_MS)
    assert 1 == len(node.failed)
