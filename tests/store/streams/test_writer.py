"""Writer: segments are begun and left, whatever fails, and only sound octets count."""

import errno
import random
from itertools import pairwise

import pytest

from pybroker.store.disk import DiskError
from pybroker.store.streams.format import HEADER_OCTETS, index_name, segment_name
from pybroker.store.streams.index import Index
from pybroker.store.streams.writer import Writer
from tests.store.faulty_disk import FaultyDisk, PowerLoss
from tests.store.streams.lives import Life, chunks, segment_files


def test_a_segment_ends_at_the_size():
    life = Life(FaultyDisk())
    life.fill(200, 4, segment_octets=3_000)
    sizes = [life.folder.size_of(name) for name in segment_files(life.folder)]
    assert len(sizes) > 4
    assert all(size <= 3_000 or size > 6_000 for size in sizes), "only a chunk that is larger stands alone"
    assert life.log.octets == sum(sizes)
    assert life.log.segment_count == len(sizes)


def test_one_sync_writes_many_chunks():
    life = Life(FaultyDisk())
    life.fill(3, 1, segment_octets=1 << 20)
    before = dict(life.disk.power.counts)
    assert life.append(*[1] * 50, segment_octets=1 << 20) is None
    counts = life.disk.power.counts
    assert counts["sync"] - before["sync"] == 1
    assert counts["sync_folder"] == before["sync_folder"]
    assert life.folder._open == {}, "no file stays open"


def test_much_is_written_in_pieces(monkeypatch):
    monkeypatch.setattr("pybroker.store.streams.writer.WRITE_OCTETS", 1_000)
    life = Life(FaultyDisk())
    assert life.append(*[5] * 20, segment_octets=1 << 20) is None
    life.check()
    Life(life.disk).check()


def test_an_index_has_a_place_about_every_so_many_octets():
    life = Life(FaultyDisk())
    life.fill(600, 1, segment_octets=1 << 20)
    index = Index.read(life.folder, life.log._folder.point_seed(0), 0)
    positions = [index.point(number).position for number in range(1, index.count)]
    assert positions[0] == HEADER_OCTETS
    steps = [after - before for before, after in pairwise(positions)]
    assert len(steps) >= 2
    assert all(65_536 <= step < 65_536 + 7_000 for step in steps)
    synced = index.synced()
    assert (synced.offset, synced.position) == (600, life.folder.size_of(segment_name(0)))


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_any_operation_may_fail_and_the_next_call_goes_on(number):
    """Of an append that begins two segments; the same chunks are given again until they are on disk."""
    operation = refused = 0
    while True:
        life = Life(FaultyDisk())
        life.fill(12, 2, segment_octets=700)
        before = life.log.next_offset
        operation += 1
        life.disk.fail_at(life.disk.power.operations + operation, number)
        counts = [4] * 12
        answer = life.append(*counts, segment_octets=2_000)
        pending = bool(life.disk.power.failures)
        life.disk.power.failures.clear()
        if answer is not None:
            refused += 1
            assert isinstance(answer, DiskError)
            assert life.log.next_offset == before
            life.check()
            Life(_copy(life.disk, operation)).check()
            assert life.append(*counts, segment_octets=2_000) is None
        life.check()
        again = Life(_copy(life.disk, operation))
        again.check()
        assert again.log.next_offset == before + 48
        assert again.damages + again.log.reports == []
        if pending:
            break
    assert refused > 8


def _copy(disk, seed):
    """Return the disk as a loss of power may leave it now, without harm to this one."""
    return disk.crash(random.Random(seed))


def test_a_full_disk_is_tried_again_until_there_is_room():
    life = Life(FaultyDisk())
    life.fill(20)
    life.disk.power.capacity = life.disk.power.capacity - (1 << 40) + life.log.octets + 1_000
    before = life.log.next_offset
    for _ in range(5):
        answer = life.append(*[5] * 40)
        assert answer.full
        life.check()
        assert life.log.next_offset == before
    life.disk.power.capacity = 1 << 40
    assert life.append(*[5] * 40) is None
    life.check()
    again = Life(life.disk)
    assert (again.log.reports, again.log.next_offset) == ([], before + 200)


def test_an_index_that_cannot_be_written_is_written_later():
    life = Life(FaultyDisk())
    life.fill(6, 2, segment_octets=1 << 20)
    life.folder.unlink(index_name(0))
    create = life.disk.power.counts["create"]
    life.disk.fail_next("create", errno.EIO)
    assert life.append(2, segment_octets=1 << 20) is None
    assert (life.disk.power.counts["create"], index_name(0) in life.folder.names()) == (create + 1, False)
    assert life.append(2, segment_octets=1 << 20) is None
    assert index_name(0) in life.folder.names()
    Life(life.disk).check()


def test_without_a_free_descriptor_nothing_is_written():
    life = Life(FaultyDisk())
    life.fill(6, 2, segment_octets=1 << 20)
    life.disk.fail_next("open", errno.EMFILE)
    assert life.append(2, segment_octets=1 << 20).lacks_descriptors
    life.check()
    assert life.append(2, segment_octets=1 << 20) is None
    life.check()


@pytest.mark.parametrize("seed", range(3))
def test_a_removal_that_was_interrupted_leaves_a_stream(seed):
    """Kill between any two operations of a removal by size, by age, and of a truncation."""
    for what in (("retain", 3_000, None), ("retain", None, 1 << 60), ("truncate", 50)):
        operation = 0
        while True:
            life = Life(FaultyDisk())
            life.fill(90, 5, segment_octets=1_500)
            operation += 1
            life.disk.crash_at(life.disk.power.operations + operation)
            try:
                life.ask(*what)
            except PowerLoss:
                pass
            else:
                floor = life.log.first_offset
                again = Life(_copy(life.disk, f"{seed} {what}"))
                assert again.log.first_offset == floor > 0
                again.check()
                break
            again = Life(_copy(life.disk, f"{seed} {operation}"))
            assert (again.log.reports, again.log.next_offset) == ([], 90)
            again.check()
            assert again.append(5) is None
            again.check()


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_removal_that_failed_can_be_asked_for_again(number):
    for what in (("retain", 3_000, None), ("retain", None, 1 << 60), ("truncate", 50)):
        operation = failed = 0
        while True:
            life = Life(FaultyDisk())
            life.fill(90, 5, segment_octets=1_500)
            operation += 1
            life.disk.fail_at(life.disk.power.operations + operation, number)
            answer = life.ask(*what)
            if life.disk.power.failures:
                break
            failed += isinstance(answer, DiskError)
            life.check()
            assert not isinstance(life.ask(*what), DiskError)
            life.check()
            assert life.append(5) is None
            again = Life(_copy(life.disk, operation))
            assert (again.log.reports, again.log.next_offset) == ([], 95)
            again.check()
        assert failed >= 3


def test_a_floor_is_written_where_segments_make_room():
    life = Life(FaultyDisk())
    life.fill(90, 5, segment_octets=1_500)
    life.disk.fail_next("write_at", errno.ENOSPC, 2)
    before = life.disk.power.counts["rename"]
    assert life.ask("truncate", 50) is None
    assert life.disk.power.counts["rename"] == before + 1
    assert Life(life.disk).log.first_offset == 50


def test_a_segment_without_an_index_is_written_on():
    life = Life(FaultyDisk())
    life.fill(6, 2, segment_octets=1 << 20)
    life.folder.unlink(index_name(0))
    assert life.append(2, segment_octets=1 << 20) is None
    life.check()
    again = Life(life.disk)
    again.check()


@pytest.mark.parametrize("started", [False, True])
def test_a_segment_that_was_not_synced_is_on_disk_before_a_newer_one_is(started):
    life = Life(FaultyDisk())
    written = []
    for synced in (True, False):
        assert life.log.write_straight(chunks(life.log.next_offset, 5), 1 << 20, written.append, synced=synced)
        life.run()
        life.log.commit()
        life.run()
    assert written == [None, None]
    if started:
        life = Life(life.disk, committed_seq=life.log.last_seq)
    (file,) = [life.folder.files[name] for name in segment_files(life.folder)]
    assert file.pending
    assert life.append(5, segment_octets=100) is None
    assert not file.pending
    Life(life.disk.crash(random.Random(1))).check()
    synced = life.disk.power.counts["sync"]
    assert life.append(5, segment_octets=100) is None
    assert life.disk.power.counts["sync"] == synced + 3, "the index, the new segment, meta"


def test_segments_that_went_before_memory_was_short_are_counted(monkeypatch):
    life = Life(FaultyDisk())
    life.fill(60, segment_octets=1_000)
    segments, folder = life.log.segment_count, life.folder

    def no_memory(_):
        monkeypatch.undo()
        raise MemoryError

    monkeypatch.setattr(Writer, "_sync_folder", no_memory)
    assert isinstance(life.ask("retain", life.log.octets // 2, None), MemoryError)
    assert life.log.segment_count == len(segment_files(folder)) < segments
    assert life.ask("retain", life.log.octets // 2, None) > 0
    life.check()
    assert life.damages == []


@pytest.mark.parametrize("straight", [False, True])
def test_the_system_forgets_what_is_written_at_once_unless_somebody_reads_the_files(monkeypatch, straight):
    monkeypatch.setattr("pybroker.store.streams.writer.DROP_OCTETS_MIN", 1_000)
    monkeypatch.setattr("pybroker.store.streams.writer.KEPT_OCTETS", 3_000)
    dropped = []

    def drop_cached(disk, file, octets):
        assert not disk._open[file][1].pending, "it is on disk before"
        assert octets == disk.size(file)
        dropped.append(file)

    monkeypatch.setattr(FaultyDisk, "drop_cached", drop_cached)
    life = Life(FaultyDisk())

    def write(*counts):
        given = chunks(life.log.next_offset, *counts)
        if straight:
            assert life.log.write_straight(given, 1 << 20, lambda error: None, synced=True)
            life.run()
            life.log.commit()
        else:
            assert life.append(*counts, segment_octets=1 << 20) is None

    write(40)
    assert len(dropped) == 1
    write(1)
    assert len(dropped) == 1, "little"
    life.read(0)
    written = life.log.octets
    while life.log.octets - written < 3_000:
        write(20)
        assert len(dropped) == 1
    write(40)
    assert len(dropped) == 2
