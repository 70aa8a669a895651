"""Folder: where streams lie, and that a removal is finished once it has begun."""

import random

import pytest

from pybroker.store.disk import Disk
from pybroker.store.recovery.quarantine import QUARANTINE
from pybroker.store.streams.folder import STREAMS, folder_name, open_folder, remove_stream, stream_ids
from tests.store.faulty_disk import FaultyDisk, PowerLoss
from tests.store.streams.lives import STREAM, Life


@pytest.fixture(params=["real", "faulty"])
def disk(request, tmp_path):
    return Disk(tmp_path) if request.param == "real" else FaultyDisk()


def test_streams_are_found_by_their_folders(disk):
    assert stream_ids(disk) == []
    for stream in (1, 0xFFFF_FFFF_FFFF_FFFF, 7):
        Life(disk, stream)
    disk.below(STREAMS).below("lost+found")
    assert stream_ids(disk) == [1, 7, 0xFFFF_FFFF_FFFF_FFFF]


def test_a_folder_is_synced_when_it_is_made_alone():
    disk = FaultyDisk()
    folder = open_folder(disk, STREAM)
    assert open_folder(disk, STREAM) is folder
    Life(disk)
    disk.power.counts.clear()
    assert Life(disk).log.reports == []
    assert not {"sync", "sync_folder", "write_at", "create"} & disk.power.counts.keys()


def test_a_stream_is_removed_with_all_that_is_in_it(disk):
    life = Life(disk)
    life.fill(30)
    life.folder.below(QUARANTINE).write_file("x", b"1")
    remove_stream(disk, STREAM)
    assert stream_ids(disk) == []
    remove_stream(disk, STREAM)
    remove_stream(disk, 99)
    assert Life(disk).log.next_offset == 0


@pytest.mark.parametrize("seed", range(3))
def test_a_deletion_that_was_interrupted_is_finished(seed):
    operation, unfinished = 1, 0
    while True:
        disk = FaultyDisk()
        life = Life(disk)
        life.fill(60)
        disk.crash_at(disk.power.operations + operation)
        try:
            assert life.ask("delete") is None
        except PowerLoss:
            pass
        else:
            assert stream_ids(disk) == []
            break
        disk = disk.crash(random.Random(f"{seed} {operation}"))
        again = Life(disk)
        assert again.log.next_offset in {0, 60}
        unfinished += again.log.next_offset == 0
        again.check()
        remove_stream(disk, STREAM)
        assert folder_name(STREAM) not in disk.below(STREAMS).folder_names()
        operation += 1
    assert unfinished > 5
