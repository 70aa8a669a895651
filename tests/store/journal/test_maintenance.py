"""Checkpoints when they are due, files made ahead, and a full disk that is an alarm and no end."""

import errno

import pytest

from pybroker.core.channel.credit import PEER_OCTETS_MAX
from pybroker.store.format import segment_number
from pybroker.store.journal.reserve import NAME as RESERVE
from pybroker.store.journal.writer import PREPARED
from tests.store.faulty_disk import FaultyDisk, Power
from tests.store.journals import Node


def checkpoints(disk):
    return [name for name in disk.names() if name.startswith("ckpt.")]


def segments(disk):
    return [name for name in disk.names() if segment_number(name) is not None]


@pytest.fixture
def disk():
    return FaultyDisk()


def test_an_idle_log_writes_nothing_and_makes_no_files(disk):
    node = Node(disk)
    for _ in range(5):
        node.tick(61_000)
    assert ["ckpt.0000000000000000", "log.newest"] == disk.names()


def test_a_checkpoint_is_written_once_a_minute_while_something_changes(disk):
    node = Node(disk)
    node.publish([b"a"])
    node.commit()
    node.tick(1_000)
    assert ["ckpt.0000000000000000"] == checkpoints(disk)
    node.tick(60_000)
    assert ["ckpt.0000000000000001"] == checkpoints(disk)
    for _ in range(3):
        node.tick(60_000)
    assert ["ckpt.0000000000000001"] == checkpoints(disk)


def test_two_checkpoints_are_kept(disk):
    node = Node(disk)
    for _ in range(4):
        node.publish([b"a"])
        node.tick(61_000)
        node.tick(61_000)
    assert 2 == len(checkpoints(disk))


def test_an_old_segment_goes_when_a_checkpoint_says_that_all_of_it_is_settled(disk):
    node = Node(disk, largest=2_000)
    old = node.publish([bytes(1_000)])
    node.commit()
    for _ in range(3):
        node.publish([bytes(1_500)])
        node.commit()
    for _ in range(3):
        node.publish([b"more"])
        node.tick(61_000)
    first = segments(disk)[0]
    node.settle(old)
    node.commit()
    node.log.maintenance.unlink()
    node.work()
    assert first in segments(disk)
    node.tick(1_000)
    assert first not in segments(disk)


def test_a_full_disk_is_an_alarm_until_the_reserve_is_whole_again(disk):
    node = Node(disk, largest=4_000)
    node.publish([bytes(1_000)])
    node.commit()
    assert RESERVE in disk.names()
    node.full.clear()
    disk.fail_next("create", errno.ENOSPC)
    node.publish([bytes(6_000)])
    node.commit()
    assert RESERVE not in disk.names()
    assert 1 == node.log.completed
    for _ in range(5):
        node.tick(1_000)
    assert node.full[0]
    assert "" == node.full[-1]
    assert node.log.completed == node.log.last_commit_position
    assert RESERVE in disk.names()
    assert [] == node.failed
    assert [1, 2] == Node(disk).live()


def test_a_next_segment_that_cannot_be_made_ahead_is_an_alarm_that_passes_too(disk):
    node = Node(disk, largest=4_000)
    node.publish([bytes(1_000)])
    node.commit()
    node.full.clear()
    # The write finds its place; only the segment made ahead of it does not.
    disk.unlink(PREPARED)
    disk.fail_next("create", errno.ENOSPC, 3)
    node.log.maintenance._reserve.prepare(node.log.maintenance.segment_octets)
    node.work()
    assert node.full[0]
    node.tick(1_000)
    assert node.full[-1]
    for _ in range(3):
        node.tick(1_000)
    assert "" == node.full[-1]
    assert {RESERVE, PREPARED} <= set(disk.names())
    assert [] == node.failed


@pytest.mark.parametrize("more", [0, 131_072])
@pytest.mark.parametrize("mib", [6, 16, 24, 64, 200])
def test_who_fills_the_disk_and_drains_it_all_goes_on(mib, more):
    """Batches in flight stand before the settles that make room; the reserve has to have room for them."""
    disk = FaultyDisk(Power(capacity=mib << 20))
    node = Node(disk)
    maintenance = node.log.maintenance
    octets = min(PEER_OCTETS_MAX, node.log.uncommitted_octets_max) + more
    runs = []
    while not any(node.full):
        runs.append(node.publish([bytes(1_000)] * (octets // 1_031)))
        node.commit()
    for run in runs:
        node.settle(run)
    for _ in range(30):
        node.tick(1_000)
    assert (node.log.last_commit_position, "", []) == (node.log.completed, node.full[-1], node.failed)
    # The reserve, what is prepared, and the segment that is written.
    assert disk.free_octets() > (mib << 20) - maintenance.reserve_octets - 3 * maintenance.largest_octets
    again = node.publish([bytes(1_000)] * 900)
    node.commit()
    assert node.log.completed == node.log.last_commit_position
    assert [again.first_seq + i for i in range(again.count)] == Node(disk).live()
