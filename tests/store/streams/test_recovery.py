"""Recovery: which files of a folder count, and what becomes of the others."""

import errno
import random

import pytest

from pybroker.store.disk import DiskError
from pybroker.store.format import VersionError
from pybroker.store.recovery.quarantine import QUARANTINE
from pybroker.store.streams import format as fmt
from pybroker.store.streams.folder import STREAMS, folder_name
from pybroker.store.streams.format import META_NAME, Header, index_name, segment_name
from tests.store.faulty_disk import FaultyDisk, PowerLoss
from tests.store.simulator.disk import SimulatedDisk
from tests.store.streams.lives import SEQS_AHEAD, STREAM, Life, chunks, expected, segment_files, timestamp


def filled(messages=45, **options):
    life = Life(FaultyDisk())
    life.fill(messages, **options)
    return life


def test_a_new_stream_is_empty():
    log = Life(FaultyDisk()).log
    assert (log.first_offset, log.next_offset, log.last_seq, log.timestamp_ms) == (0, 0, 0, 0)
    assert (log.octets, log.segment_count, log.last_chunk_offset) == (0, 0, 0)
    assert (log.reports, log.cut) == ([], "")


def test_all_is_as_it_was():
    life = filled()
    log, again = life.log, Life(life.disk).log
    for name in ("first_offset", "next_offset", "last_seq", "timestamp_ms", "octets", "segment_count", "reports"):
        assert getattr(again, name) == getattr(log, name), name
    assert (again.last_chunk_offset, again.cut) == (log.last_chunk_offset, "")
    assert (again.last_seq, again.timestamp_ms) == (44 + SEQS_AHEAD, timestamp(40))
    assert again._segments.rows == log._segments.rows


def test_indexes_are_made_again():
    life = filled()
    for name in list(life.folder.names()):
        if name.endswith(".idx"):
            life.folder.unlink(name)
    log = life.log
    again = Life(life.disk)
    again.check()
    assert (again.log.reports, again.damages) == ([], [])
    assert again.log._segments.rows == log._segments.rows
    assert len([name for name in life.folder.names() if name.endswith(".idx")]) == log.segment_count


def test_what_a_kill_left_is_tidied():
    life = filled()
    for name in ("meta.new", index_name(99)):
        life.folder.close(life.folder.create(name))
    life.folder.close(life.folder.create("note"))
    names = Life(life.disk).folder.names()
    assert "note" in names
    assert not {"meta.new", index_name(99)} & set(names)


def test_a_torn_end_is_cut_off_and_told():
    life = filled()
    name = segment_files(life.folder)[-1]
    size = life.folder.size_of(name)
    file = life.folder.open(name, write=True)
    life.folder.write_at(file, size, b"x" * 100)
    life.folder.close(file)
    again = Life(life.disk)
    assert (again.log.reports, again.folder.size_of(name)) == ([], size)
    assert again.log.cut == (
        f"stream {STREAM} ended in an incomplete, unconfirmed write: truncated 100 octets of {name}"
    )
    again.check()


def test_a_newest_segment_without_a_whole_chunk_goes():
    life = filled()
    for octets in (b"", b"x" * 500, Header(life.log._folder.log_id, STREAM, 45).encode()):
        file = life.folder.create(segment_name(45))
        life.folder.write_at(file, 0, octets)
        life.folder.close(file)
        again = Life(life.disk)
        assert segment_name(45) not in again.folder.names()
        assert (again.log.reports, again.log.next_offset) == ([], 45)


def test_meta_that_is_missing_is_reported():
    life = filled()
    assert life.ask("truncate", 20) is None
    life.folder.unlink(META_NAME)
    again = Life(life.disk)
    assert again.log.reports == [
        "stream 7 is damaged: meta is missing: messages that were truncated may be back",
    ]
    again.check()
    assert Life(life.disk).log.reports == []


def test_meta_that_is_damaged_is_kept_aside():
    life = filled()
    life.folder.flip(META_NAME, 99)
    again = Life(life.disk)
    assert again.log.reports == [
        f"stream 7 is damaged: meta: the header is damaged, kept as {QUARANTINE}/meta",
    ]
    assert again.folder.folder(QUARANTINE).names() == ["meta"]
    again.check()


def test_a_stream_of_which_no_header_is_left_is_kept_aside():
    life = filled()
    for name in (META_NAME, *segment_files(life.folder)):
        life.folder.flip(name, 99)
    again = Life(life.disk)
    assert len(again.log.reports) == 1 + life.log.segment_count
    assert len(again.folder.folder(QUARANTINE).names()) == 1 + life.log.segment_count
    assert again.log.next_offset == 0
    again.fill(10)
    again.check()


def test_a_stream_of_which_no_segment_is_left_goes_on_at_its_floor():
    life = filled()
    assert life.ask("truncate", 20) is None
    for name in segment_files(life.folder):
        life.folder.unlink(name)
    again = Life(life.disk)
    assert again.log.reports == [
        "stream 7 is damaged: 00000000000000000040.log is missing: messages 40 to 44 are lost",
        "stream 7 is damaged: no segment is left, and there were messages up to offset 45",
    ]
    assert (again.log.first_offset, again.log.next_offset) == (45, 45)
    again.fill(75)
    assert again.read() == expected(45, 75)
    assert Life(life.disk).log.reports == []


@pytest.mark.parametrize("has_index", [False, True])
def test_a_newest_segment_that_is_missing_is_reported_until_there_is_another(has_index):
    life = filled(90)
    newest = life.log._segments.firsts[-1]
    life.folder.unlink(segment_name(newest))
    if not has_index:
        life.folder.unlink(index_name(newest))
    what = f"messages {newest} to 89 are lost" if has_index else "all messages in it are lost"
    for _ in range(2):
        again = Life(life.disk)
        assert again.log.reports == [f"stream 7 is damaged: {segment_name(newest)} is missing: {what}"]
        assert again.log.next_offset == (90 if has_index else newest)
    again.append(10)
    assert Life(life.disk).log.reports == []
    assert len(again.read()) == newest + 10


def test_segments_that_are_missing_before_the_newest_one_are_told_of_with_it():
    life = filled(90)
    *_, before, newest = life.log._segments.firsts
    for first in (before, newest):
        life.folder.unlink(segment_name(first))
    reports = Life(life.disk).log.reports
    assert reports[0] == f"stream 7 is damaged: {segment_name(newest)} is missing: messages {newest} to 89 are lost"
    assert reports[1].endswith(f"its end is missing: messages {before} to {newest - 1} are lost")


def test_a_newest_segment_in_which_nothing_is_sound_is_kept_aside():
    life = filled(90)
    newest = life.log._segments.firsts[-1]
    life.folder.unlink(index_name(newest))
    for at in range(0, life.folder.size_of(segment_name(newest)), 10):
        life.folder.flip(segment_name(newest), 8 * at)
    again = Life(life.disk)
    assert again.log.reports == [
        f"stream 7 is damaged: {segment_name(newest)} is unreadable, kept as {QUARANTINE}/{segment_name(newest)}"
    ]
    again.append(10)
    assert (Life(life.disk).log.reports, len(again.read())) == ([], newest + 10)


def test_an_empty_segment_keeps_the_numbers():
    life = filled()
    assert isinstance(life.ask("retain", None, timestamp(1_000)), int)
    assert life.log.segment_count == 1
    again = Life(life.disk).log
    assert (again.first_offset, again.next_offset, again.reports) == (45, 45, [])
    assert (again.last_seq, again.timestamp_ms, again.last_chunk_offset) == (44 + SEQS_AHEAD, timestamp(40), 45)


def test_an_empty_segment_whose_header_is_damaged_keeps_the_offset():
    life = filled()
    life.ask("retain", None, timestamp(1_000))
    life.folder.flip(segment_name(45), 200)
    again = Life(life.disk).log
    assert (again.first_offset, again.next_offset, len(again.reports)) == (45, 45, 1)


def test_a_newer_version_is_refused(monkeypatch):
    for name in (META_NAME, segment_name(0)):
        life = filled(5)
        header = Header.decode(
            life.folder.read_file(name)[:64], fmt.META_MAGIC if name == META_NAME else fmt.SEGMENT_MAGIC
        )
        monkeypatch.setattr(fmt, "VERSION", 2)
        octets = header.encode(fmt.META_MAGIC if name == META_NAME else fmt.SEGMENT_MAGIC)
        monkeypatch.undo()
        life.folder.damage(name, 0, octets)
        with pytest.raises(VersionError):
            Life(life.disk)


@pytest.mark.parametrize("seed", range(4))
def test_the_power_may_go_while_a_start_is_at_work(seed):
    """Between any two operations of a start, of a folder in which there is much to do."""
    rng = random.Random(seed)
    operation = 1
    while True:
        life = filled(45, count=3)
        life.log.append(chunks(life.log.next_offset, 4, 4, 4), 1_000, lambda error: None)
        life.disk.crash_at(life.disk.power.operations + rng.randrange(2, 9))
        with pytest.raises(PowerLoss):
            life.run()
        disk = life.disk.crash(rng)
        disk.crash_at(operation)
        try:
            Life(disk)
        except PowerLoss:
            disk = disk.crash(rng)
        else:
            break
        again = Life(disk)
        assert again.log.reports == []
        again.check()
        assert again.log.next_offset >= 45
        operation += 1


@pytest.mark.parametrize("operation", ["write_at", "sync", "sync_folder"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_write_that_counts_since_nobody_knows_better_counts_for_good(operation, number):
    life = filled(10)
    answers = []
    assert life.log.write_straight(chunks(15, 5), 1 << 20, answers.append, synced=True)
    life.run()
    (index,) = [name for name in life.folder.names() if name.endswith(".idx")]
    disk = life.disk
    disk.folder(STREAMS).folder(folder_name(STREAM)).unlink(index)
    disk.fail_next(operation, number, times=2)
    with pytest.raises(DiskError):
        Life(disk, committed_seq=None)
    disk.power.next_failures.clear()
    assert Life(disk, committed_seq=None).log.next_offset == 20
    for seed in range(10):
        again = Life(disk.crash(random.Random(seed)), committed_seq=0)
        assert (again.log.next_offset, again.log.reports) == (20, [])


def test_a_floor_that_a_start_found_stays_when_the_power_goes():
    operation, found = 0, set()
    while True:
        operation += 1
        life = Life(SimulatedDisk())
        life.fill(20)
        disk = life.disk
        disk.crash_at(operation)
        try:
            assert life.ask("truncate", 8) is None
        except PowerLoss:
            disk = disk.killed()
        else:
            break
        first = Life(disk).log.first_offset
        found.add(first)
        for seed in range(5):
            assert Life(disk.crash(random.Random(seed))).log.first_offset == first
    assert found == {0, 8}
