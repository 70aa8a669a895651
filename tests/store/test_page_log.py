"""F33: pages of transient messages: written once, read back, unlinked when nothing in them is wanted any more."""

import errno

import pytest

from pybroker.run import RunAttributes
from pybroker.seq_ranges import SeqRanges
from pybroker.store import format as fmt, page_log
from pybroker.store.disk import Disk, DiskError
from pybroker.store.page_log import PageLog
from tests.inline_worker import InlineWorker
from tests.store.faulty_disk import FaultyDisk
from tests.store.records import content, run_of


class Bench:
    """A page log whose worker runs when it is told to."""

    def __init__(self, disk=None) -> None:
        self.disk = FaultyDisk() if disk is None else disk
        self.worker = InlineWorker()
        self.unreadable: list[str] = []
        self.log = PageLog(self.disk, self.worker, self.unreadable.append)

    def write(self, *parts):
        """Write a page of these runs; return it and what was told."""
        pages = {self.log.page_out(run, indexes) for run, indexes in parts}
        assert 1 == len(pages)
        told = []
        self.log.commit(told.append)
        self.worker.run()
        return pages.pop(), told[0]

    def read(self, *parts):
        """Read seqs back, each part first and count in a page; return them as first seq, contents and attributes."""
        got = []
        self.log.fetch([(page, seq_ranges(first, count)) for page, first, count in parts], got.append)
        self.worker.run()
        return [(run.first_seq + indexes.start, run.contents_at(indexes), run.attributes) for run, indexes in got[0]]


def seq_ranges(first, count):
    made = SeqRanges()
    made.add(first, count, 1)
    return made


def whole(run):
    return run, range(run.count)


@pytest.mark.parametrize("persistent", [True, False])
def test_what_was_written_is_read_to_the_octet_with_its_attributes_and_its_time(tmp_path, persistent):
    bench = Bench(Disk(tmp_path))
    attributes = RunAttributes(persistent=persistent, priority=7, ttl_ms=5, wants=16)
    run = run_of([b"one", b"", b"three" * 999], 10, ("x", "key"), attributes, 123, 9, 4_096)
    page, told = bench.write((run, range(1, 3)), whole(run_of([b"later"], 50)))
    assert ("", 1, page.octets) == (told, bench.log.pages, bench.log.octets)
    assert page.octets == (tmp_path / fmt.segment_name(1)).stat().st_size
    got = []
    bench.log.fetch([(page, seq_ranges(12, 1))], got.append)
    bench.worker.run()
    ((found, indexes),) = got[0]
    assert found.contents_at(indexes) == run.contents_at(range(2, 3))
    assert (found.names, found.attributes, found.arrived_ms) == (run.names, attributes, 123)
    assert (found.channel, found.frame_octets_max) == (9, 4_096)


def test_nothing_is_synced_and_it_is_in_memory_until_it_is_told():
    bench = Bench()
    told = []
    page = bench.log.page_out(*whole(run_of([b"x"])))
    bench.log.commit(told.append)
    assert (page, []) == (bench.log.writing, told)
    bench.worker.run()
    assert (None, [""]) == (bench.log.writing, told)
    assert {"sync", "sync_folder"}.isdisjoint(bench.disk.power.counts)


def test_nothing_gathered_is_nothing_to_write():
    bench = Bench()
    told = []
    bench.log.commit(told.append)
    assert ([""], 0, {}) == (told, len(bench.worker), bench.disk.files)


def test_messages_of_several_pages_come_in_order():
    bench = Bench()
    early, _ = bench.write(whole(run_of([b"a"] * 3, 1)), whole(run_of([b"c"] * 3, 20)))
    late, _ = bench.write(whole(run_of([b"b"] * 3, 10)))
    found = bench.read((early, 2, 1), (late, 10, 2), (early, 21, 2))
    assert [(seq, contents) for seq, contents, _ in found] == [
        (2, [content(b"a")]),
        (10, [content(b"b")] * 2),
        (21, [content(b"c")] * 2),
    ]


def test_large_pages_are_written_in_pieces_and_read_back_in_part(tmp_path):
    bench = Bench(Disk(tmp_path))
    runs = [run_of([bytes([n]) * 100_000], n) for n in range(1, 41)]
    page, _ = bench.write(*map(whole, reversed(runs)))
    assert page.octets > 3 * page_log.WRITE_OCTETS
    assert [1, 20, 40] == [seq for seq, _, _ in bench.read(*[(page, n, 1) for n in (1, 20, 40)])]
    assert bench.read((page, 33, 1))[0][1] == [content(b"\x21" * 100_000)]


def test_a_page_goes_with_the_last_message_that_is_wanted():
    bench = Bench()
    page, _ = bench.write(whole(run_of([b"x"] * 5)))
    page.release(4)
    bench.worker.run()
    assert (1, 1) == (page.live, len(bench.disk.files))
    page.release(1)
    bench.worker.run()
    assert ({}, 0, 0) == (bench.disk.files, bench.log.pages, bench.log.octets)


def test_what_is_being_read_goes_when_it_was_read():
    bench = Bench()
    page, _ = bench.write(whole(run_of([b"x"] * 5)))
    got = []
    bench.log.fetch([(page, seq_ranges(1, 5))], got.append)
    page.release(5)
    bench.worker.run()
    assert (5, {}) == (len(got[0][0][1]), bench.disk.files)


def test_a_run_that_another_queue_keeps_in_memory_is_not_written_again():
    bench = Bench()
    run = run_of([b"x"] * 5)
    page, _ = bench.write(whole(run))
    again, told = bench.write((run, range(1, 4)))
    assert (page, "", 8, 1) == (again, told, page.live, len(bench.disk.files))
    page.release(5)
    page.release(3)
    bench.worker.run()
    assert {} == bench.disk.files
    assert bench.write(whole(run))[0] is not page


@pytest.mark.parametrize("operation", ["create", "write_at"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_what_cannot_be_written_is_told_and_nothing_is_left_of_it(operation, number):
    bench = Bench()
    bench.disk.fail_next(operation, number)
    run = run_of([b"x"] * 5)
    page, told = bench.write(whole(run))
    assert f"cannot {operation}" in told
    assert ({}, 0, True, None) == (bench.disk.files, bench.log.pages, page.lost, bench.log.writing)
    again, told = bench.write(whole(run))
    assert (True, "") == (again is not page, told)


def test_room_that_is_to_stay_free_is_not_used():
    bench = Bench()
    bench.disk.power.capacity = 10_000
    bench.log.reserved_octets = 9_000
    _, told = bench.write(whole(run_of([b"x" * 2_000])))
    assert ("cannot page out to pages: No space left on device", {}) == (told, bench.disk.files)
    assert "" == bench.write(whole(run_of([b"x" * 500])))[1]


def test_what_cannot_be_read_is_missing_and_told_of():
    bench = Bench()
    page, _ = bench.write(whole(run_of([b"a"], 1)), whole(run_of([b"b" * 9_000], 2)), whole(run_of([b"c"], 3)))
    name = fmt.segment_name(page.number)
    bench.disk.damage(name, 5_000, b"?")
    assert [1, 3] == [seq for seq, _, _ in bench.read((page, 1, 3))]
    assert "1 messages in segment 1 cannot be read" in bench.unreadable[0]
    bench.disk.unlink(name)
    assert [] == bench.read((page, 1, 3))
    page.release(3)
    bench.worker.run()
    assert "cannot remove a page file" in bench.unreadable[-1]


def test_a_start_removes_whatever_is_there(tmp_path):
    for name in ("seg.0000000000000001", "seg.0000000000000009", "else"):
        (tmp_path / name).write_bytes(b"?")
    page_log.empty(Disk(tmp_path))
    assert [] == list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_emptied_is_told_of():
    disk = FaultyDisk()
    disk.close(disk.create("seg.0000000000000001"))
    disk.fail_next("unlink", errno.EIO)
    with pytest.raises(DiskError, match="cannot unlink"):
        page_log.empty(disk)
