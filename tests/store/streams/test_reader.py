"""Reader: messages from any offset on, as many octets as asked for, past damage."""

from itertools import pairwise

import pytest

from pybroker.entries_run import EntriesRun
from pybroker.run import RunAttributes
from pybroker.store.streams.format import Chunk, index_name, segment_name
from pybroker.store.streams.reader import find_offset, read_rest, read_runs
from pybroker.store.streams.segments import Place
from pybroker.store.streams.stored_entries import StoredEntries
from tests.entries import entries_run
from tests.store.faulty_disk import FaultyDisk
from tests.store.records import run_of
from tests.store.streams.lives import BLOOMS, START_MS, Life, contents, expected, timestamp

MESSAGES = 90


@pytest.fixture
def life(monkeypatch):
    monkeypatch.setattr("pybroker.store.streams.writer.POINT_DISTANCE_OCTETS", 700)
    life = Life(FaultyDisk())
    life.fill(MESSAGES, 5, segment_octets=1 << 20)
    return life


def place(life):
    return life.log._segments.place(0, life.log.next_offset)


def test_from_any_offset_on(life):
    for offset in range(MESSAGES):
        found = read_runs(life.log._folder, place(life), offset, 1 << 20)
        assert contents(found.runs, offset) == expected(offset, MESSAGES)
        assert (found.next_offset, found.reports) == (MESSAGES, [])


@pytest.mark.parametrize("octets", [1, 500, 1_000, 5_000, 1 << 20])
def test_about_as_many_octets_as_asked_for(life, octets):
    offset = count = 0
    while offset < MESSAGES:
        found = read_runs(life.log._folder, place(life), offset, octets)
        assert found.runs[0].first_seq == offset
        assert len(found.runs) == 1 or sum(run.octets for run in found.runs) <= octets
        offset = found.next_offset
        count += 1
    assert count == 1 if octets == 1 << 20 else count > 1


def test_little_more_is_read_than_asked_for(life, monkeypatch):
    read = []
    read_at = FaultyDisk.read_at

    def counted(disk, file, offset, octets):
        found = read_at(disk, file, offset, octets)
        read.append(len(found))
        return found

    monkeypatch.setattr(FaultyDisk, "read_at", counted)
    monkeypatch.setattr("pybroker.store.streams.reader.SEEK_OCTETS", 1_000)
    got = sum(run.octets for run in read_runs(life.log._folder, place(life), 30, 2_000).runs)
    index = life.folder.size_of(index_name(0))
    assert got > 500
    assert sum(read) - index <= 2_000 + 1_000


def passed_over(found):
    """Return the offsets that were passed over."""
    return [
        offset
        for run in found.runs
        if isinstance(run, EntriesRun) and not run.entries
        for offset in range(run.first_seq, run.first_seq + run.count)
    ]


@pytest.mark.parametrize("octets", [1, 300, 2_000, 1 << 20])
def test_chunks_that_are_not_wanted_are_passed_over(life, octets):
    offset, got, not_wanted = 0, {}, []
    while offset < MESSAGES:
        found = read_runs(life.log._folder, place(life), offset, octets, lambda bloom: bloom is None)
        runs = [run for run in found.runs if not isinstance(run, EntriesRun) or run.entries]
        got |= contents(runs, offset)
        not_wanted += [each for each in passed_over(found) if each >= offset]
        assert all(before.first_seq + before.count == run.first_seq for before, run in pairwise(found.runs))
        offset = found.next_offset
    wanted = [offset for offset in range(MESSAGES) if offset // 5 * 5 % len(BLOOMS) == 0]
    assert list(got) == wanted
    assert {offset: body for offset, body in expected(0, MESSAGES).items() if offset in got} == got
    assert sorted((*not_wanted, *wanted)) == list(range(MESSAGES))


def test_neighbours_that_are_passed_over_are_one_run(life):
    (run,) = read_runs(life.log._folder, place(life), 12, 1 << 20, lambda _: False).runs
    assert (run.first_seq, run.first_seq + run.count, run.entries, run.octets) == (10, MESSAGES, 0, 0)


def test_of_large_chunks_that_are_passed_over_the_fronts_alone_are_read(monkeypatch):
    life = Life(FaultyDisk())
    made = [Chunk(entries_run(at, bytes(200_000)), 1_000 + at, START_MS, bytes([at % 10, 1])) for at in range(30)]
    life.log.append(made, 1 << 30, lambda error: None)
    life.run()
    read = []
    read_at = FaultyDisk.read_at
    monkeypatch.setattr(FaultyDisk, "read_at", lambda *given: read.append(given[3]) or read_at(*given))
    found = read_runs(life.log._folder, place(life), 0, 1 << 20, lambda bloom: bloom[0] == 9)
    assert [(run.first_seq, run.count, run.octets) for run in found.runs[:4]] == [
        (0, 9, 0),
        (9, 1, 200_004),
        (10, 9, 0),
        (19, 1, 200_004),
    ]
    assert sum(read) < 1_000_000


def test_a_run_is_as_it_was_published():
    life = Life(FaultyDisk())
    attributes = RunAttributes(persistent=True, priority=3, ttl_ms=70, wants=4)
    run = run_of([b"a", b"bcd", b""], 0, ("x", "key"), attributes, channel=9, frame_octets_max=4_096)
    life.log.append([Chunk(run, 5, START_MS, b"")], 1_000, lambda error: None)
    life.run()
    (found,) = life.ask("read", 0, 1)
    assert (found.names, found.attributes, found.first_seq, found.count) == (run.names, attributes, 0, 3)
    assert (found.channel, found.frame_octets_max, found.arrived_ms) == (9, 4_096, START_MS)
    assert (found.body_octets, found.body_size, found.octets) == (4, -1, run.octets)
    (again,) = life.ask("read", 1, 1)
    assert (again.first_seq, again.contents_at(range(3))) == (0, found.contents_at(range(3)))


def test_entries_are_as_they_were_published():
    life = Life(FaultyDisk())
    run = entries_run(0, b"a", b"bcd", b"")
    run.join(entries_run(3, b"e"))
    run.timestamp_ms = START_MS
    life.log.append([Chunk(run, 5, START_MS)], 1_000, lambda error: None)
    life.run()
    for offset in (0, 3):
        (found,) = life.ask("read", offset, 1)
        assert (found.head, found.data) == (run.head, run.data)
        assert (found.first_seq, found.count, found.entries, found.octets) == (0, 4, 4, 21)
        assert (found.timestamp_ms, found.arrived_ms) == (START_MS, START_MS)


def test_damage_is_passed_over_and_told(life):
    octets = life.folder.read_file(segment_name(0))
    at = octets.index(expected(33, 34)[33])
    life.folder.damage(segment_name(0), at, b"\xff")
    found = read_runs(life.log._folder, place(life), 0, 1 << 20)
    assert contents(found.runs) == expected(0, 30) | expected(35, MESSAGES)
    (report,) = found.reports
    assert report.startswith(f"stream 7 is damaged: {segment_name(0)}, ")
    assert report.endswith(": messages 30 to 34 are lost")
    assert read_runs(life.log._folder, place(life), 36, 1 << 20).reports == []
    (report,) = read_runs(life.log._folder, place(life), 32, 1 << 20).reports
    assert report.endswith(": messages 32 to 34 are lost")


def test_a_chunk_that_is_all_gone_is_passed_over_and_told(life):
    octets = life.folder.read_file(segment_name(0))
    # Behind the end of the frame.
    start = octets.index(expected(29, 30)[29]) + len(expected(29, 30)[29]) + 1
    end = octets.index(expected(44, 45)[44]) + len(expected(44, 45)[44]) + 1
    life.folder.damage(segment_name(0), start, bytes(end - start))
    found = read_runs(life.log._folder, place(life), 0, 1 << 20)
    assert contents(found.runs) == expected(0, 30) | expected(45, MESSAGES)
    (report,) = found.reports
    assert report.endswith(f"{end - start} octets at {start}: messages 30 to 44 are lost")


def test_octets_that_are_not_synced_are_not_read(life):
    known = place(life)
    assert life.append(5, segment_octets=1 << 20) is None
    assert contents(read_runs(life.log._folder, known, 0, 1 << 20).runs) == expected(0, MESSAGES)
    stop = Place(0, known.octets + 1_000, 60)
    assert contents(read_runs(life.log._folder, stop, 0, 1 << 20).runs) == expected(0, 60)


def test_the_first_chunk_that_is_not_older(life):
    for offset in range(MESSAGES):
        wanted = timestamp(offset)
        first = next(at for at in range(0, MESSAGES, 5) if timestamp(at) >= wanted)
        assert find_offset(life.log._folder, place(life), wanted) == first
    assert find_offset(life.log._folder, place(life), timestamp(MESSAGES)) == MESSAGES


# -- entries that stay in the segment ----------------------------------------------------------------------------------


def octets_of(life, chunk):
    buffer = memoryview(bytearray(chunk.octets))
    file = life.folder.open(segment_name(chunk.segment))
    octets = life.folder.read_now(file, chunk.position, buffer)
    life.folder.close(file)
    return bytes(buffer[:octets])


def test_large_chunks_of_entries_may_stay_in_the_segment(life, monkeypatch):
    monkeypatch.setattr("pybroker.store.streams.reader.STORED_OCTETS_MIN", 300)
    plain = read_runs(life.log._folder, place(life), 0, 1 << 20).runs
    found = read_runs(life.log._folder, place(life), 0, 1 << 20, stored=True)
    stay = {run.first_seq: run for run in found.runs if isinstance(run, StoredEntries)}
    assert stay.keys() == {run.first_seq for run in plain if hasattr(run, "entries") and run.octets >= 300} != set()
    for one, other in zip(found.runs, plain, strict=True):
        assert (one.first_seq, one.count, one.octets, one.arrived_ms) == (
            other.first_seq,
            other.count,
            other.octets,
            other.arrived_ms,
        )
        if one.first_seq in stay:
            assert (one.head, octets_of(life, one), one.blocks) == (other.head, other.data, [])
    assert found.segment.first_offset == 0
    assert found.next_offset == MESSAGES


def test_more_of_what_stays_is_read_at_a_time(life, monkeypatch):
    monkeypatch.setattr("pybroker.store.streams.reader.STORED_OCTETS_MIN", 0)
    monkeypatch.setattr("tests.store.streams.lives.ENTRIES_EVERY", 1)
    life.fill(180, 5, segment_octets=1 << 20)
    counts = [
        len(read_runs(life.log._folder, place(life), MESSAGES, 20_000, stored=stored).runs) for stored in (False, True)
    ]
    assert counts[0] < counts[1]


def test_nothing_stays_that_the_system_does_not_keep_in_memory(life, monkeypatch):
    monkeypatch.setattr("pybroker.store.streams.reader.STORED_OCTETS_MIN", 0)
    life.disk.power.forgetful = True
    found = read_runs(life.log._folder, place(life), 0, 1 << 20, stored=True)
    assert contents(found.runs) == expected(0, MESSAGES)
    assert found.segment is None


def test_damage_does_not_stay(life, monkeypatch):
    monkeypatch.setattr("pybroker.store.streams.reader.STORED_OCTETS_MIN", 0)
    chunks = read_runs(life.log._folder, place(life), 0, 1 << 20, stored=True).runs
    chunk = next(run for run in chunks if isinstance(run, StoredEntries))
    life.folder.files[segment_name(0)].seen[chunk.position + 2] ^= 1
    found = read_runs(life.log._folder, place(life), 0, 1 << 20, stored=True)
    assert chunk.first_seq not in [run.first_seq for run in found.runs]
    assert len(found.reports) == 1
    # One that was found sound before is checked when it is read from the disk again.
    assert read_rest(life.log._folder, chunk, 3, None) is None


def test_the_rest_of_a_chunk_is_read_from_any_octet_on(life, monkeypatch):
    monkeypatch.setattr("pybroker.store.streams.reader.STORED_OCTETS_MIN", 0)
    chunks = read_runs(life.log._folder, place(life), 0, 1 << 20, stored=True).runs
    for chunk in chunks:
        if isinstance(chunk, StoredEntries):
            for part in (7, 1 << 20):
                monkeypatch.setattr("pybroker.store.streams.reader.PART_OCTETS", part)
                rest = read_rest(life.log._folder, chunk, 3, None)
                assert rest.octets == octets_of(life, chunk)[3 : 3 + part]
                assert rest.segment.first_offset == chunk.segment
                assert read_rest(life.log._folder, chunk, 0, rest.segment).octets == octets_of(life, chunk)[:part]


def test_the_rest_of_a_chunk_is_in_a_removed_segment_if_that_is_open(life, monkeypatch):
    monkeypatch.setattr("pybroker.store.streams.reader.STORED_OCTETS_MIN", 0)
    chunks = read_runs(life.log._folder, place(life), 0, 1 << 20, stored=True).runs
    chunk = next(run for run in chunks if isinstance(run, StoredEntries))
    segment, octets = read_rest(life.log._folder, chunk, 0, None).segment, octets_of(life, chunk)
    life.folder.unlink(segment_name(chunk.segment))
    assert read_rest(life.log._folder, chunk, 0, segment).octets == octets
    assert read_rest(life.log._folder, chunk, 0, None) is None
