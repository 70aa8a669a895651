"""Copies of streams: all up to a seq, whatever the node does, and offsets that go on where they were."""

import errno

import pytest

from pybroker import descriptors
from pybroker.store.streams.folder import STREAMS, folder_name
from pybroker.store.streams.format import META_NAME, segment_name
from pybroker.store.tools.stream_copy import StreamCopy
from tests.store.faulty_disk import FaultyDisk
from tests.store.streams.lives import SEQS_AHEAD, STREAM, Life, chunks, expected, segment_files, timestamp

MESSAGES = 45


@pytest.fixture
def life():
    life = Life(FaultyDisk())
    life.fill(MESSAGES, 3, segment_octets=2_000)
    return life


def copied(life, next_seq, each=lambda: None):
    """Return a life on a copy; `each` is called after each file."""
    disk = FaultyDisk()
    copy = StreamCopy(life.disk, next_seq)
    octets, most = 0, copy.octets()
    for part in copy.parts():
        read = b"".join(copy.read(part))
        assert len(read) == part.octets
        disk.below(STREAMS).below(folder_name(part.stream_id)).write_file(part.name, read)
        octets += len(read)
        each()
    assert octets <= most
    return Life(disk)


def test_all_is_copied_that_is_not_too_new(life):
    for offset in range(0, MESSAGES + 1, 3):
        again = copied(life, offset + SEQS_AHEAD)
        assert (again.log.reports, again.log.cut) == ([], "")
        assert (again.log.first_offset, again.log.next_offset) == (0, offset)
        again.check()
        again.fill(MESSAGES)
        again.check()


def test_a_chunk_of_which_one_message_is_too_new_is_not_copied(life):
    assert copied(life, 20 + SEQS_AHEAD).log.next_offset == 18


def test_octets_that_are_not_known_to_be_on_disk_are_not_copied(life):
    name = segment_files(life.folder)[-1]
    file = life.folder.open(name, write=True)
    life.folder.write_at(file, life.folder.size_of(name), b"x" * 100)
    again = copied(life, 1 << 40)
    assert (again.log.cut, again.log.next_offset) == ("", MESSAGES)


def test_indexes_of_older_segments_are_copied(life):
    names = copied(life, 1 << 40).disk.folder(STREAMS).folder(folder_name(STREAM)).names()
    assert len([name for name in names if name.endswith(".idx")]) == len(segment_files(life.folder))


def test_a_floor_is_not_above_what_is_copied(life):
    life.ask("truncate", 40)
    again = copied(life, 30 + SEQS_AHEAD)
    assert (again.log.reports, again.log.first_offset) == ([], again.log.next_offset)
    assert 30 <= again.log.next_offset <= 40
    assert copied(life, 42 + SEQS_AHEAD).log.first_offset == 40


def test_offsets_go_on_where_all_is_too_old_or_too_new(life):
    life.ask("retain", None, timestamp(1_000))
    for next_seq in (10 + SEQS_AHEAD, MESSAGES + SEQS_AHEAD):
        again = copied(life, next_seq)
        assert (again.log.reports, again.log.first_offset, again.log.next_offset) == ([], MESSAGES, MESSAGES)
        assert again.log.last_seq == next_seq - 1


def test_segments_may_go_while_they_are_copied(life):
    calls = []

    def remove():
        calls.append(life.ask("retain", 5_000 - 1_000 * len(calls), None))

    again = copied(life, 1 << 40, remove)
    assert sum(calls) > 0
    assert (again.log.reports, again.log.next_offset) == ([], MESSAGES)
    again.check()


@pytest.mark.parametrize("limit", ["retain", "truncate"])
def test_segments_that_go_before_they_are_copied_are_copied(life, limit):
    disk, first = FaultyDisk(), len(segment_files(life.folder))
    copy = StreamCopy(life.disk, MESSAGES + SEQS_AHEAD)
    life.fill(2 * MESSAGES, 3, segment_octets=2_000)
    if limit == "retain":
        assert life.ask("retain", 1, None) > first
    else:
        assert life.ask("truncate", 2 * MESSAGES - 1) is None
    for part in copy.parts():
        disk.below(STREAMS).below(folder_name(part.stream_id)).write_file(part.name, b"".join(copy.read(part)))
    again = Life(disk)
    assert (again.log.reports, again.log.first_offset, again.log.next_offset) == ([], 0, MESSAGES)
    again.check()
    assert life.folder._open == {}


def test_as_many_segments_are_held_as_there_are_descriptors(life, monkeypatch):
    monkeypatch.setattr("pybroker.store.tools.stream_copy.DESCRIPTORS_LEFT", descriptors.limit() - 3)
    copy = StreamCopy(life.disk, 1 << 40)
    assert len(life.folder._open) == 3
    copy.close()
    assert life.folder._open == {}
    life.disk.fail_next("open", errno.EMFILE)
    copy = StreamCopy(life.disk, 1 << 40)
    assert len(list(copy.parts())) > len(segment_files(life.folder))


def test_a_stream_that_goes_while_it_is_copied_is_left_out(life):
    copy = StreamCopy(life.disk, 1 << 40)
    parts = copy.parts()
    part = next(parts)
    life.ask("delete")
    assert b"".join(copy.read(part))
    assert [part.name for part in parts][-1] == META_NAME
    assert list(StreamCopy(life.disk, 1 << 40).parts()) == []


def test_a_stream_that_was_being_deleted_is_left_out(life):
    life.log._folder.write_meta(0, deleted=True)
    assert list(StreamCopy(life.disk, 1 << 40).parts()) == []


def test_a_stream_whose_meta_is_damaged_is_copied_as_it_is(life):
    life.folder.flip(META_NAME, 99)
    before = {name: life.folder.read_file(name) for name in life.folder.names()}
    copy = StreamCopy(life.disk, 1 << 40)
    assert {part.name: b"".join(copy.read(part)) for part in copy.parts()} == before


def test_damage_is_copied(life):
    name = segment_name(0)
    octets = life.folder.read_file(name)
    life.folder.damage(name, octets.index(expected(4, 5)[4]), b"\xff")
    again = copied(life, 1 << 40)
    assert again.read() == expected(0, 3) | expected(6, MESSAGES)


def write_straight(life, count):
    """Write messages straight, up to before the index learns of it."""
    answers = []
    given = chunks(life.log.next_offset, count)
    assert life.log.write_straight(given, 1 << 20, answers.append, synced=True)
    life.run()
    assert answers == [None]


def test_a_straight_write_is_copied_that_the_index_does_not_know_yet(life):
    write_straight(life, 5)
    for next_seq, stop in (
        (1 << 40, MESSAGES + 5),
        (MESSAGES + 5 + SEQS_AHEAD, MESSAGES + 5),
        (MESSAGES + SEQS_AHEAD, MESSAGES),
    ):
        assert copied(life, next_seq).log.next_offset == stop


def test_half_a_write_is_not_copied(life):
    write_straight(life, 5)
    name = segment_files(life.folder)[-1]
    file = life.folder.open(name, write=True)
    life.folder.truncate(file, life.folder.size_of(name) - 1)
    again = copied(life, 1 << 40)
    assert (again.log.cut, again.log.next_offset) == ("", MESSAGES)
