"""A segment is read in pieces, by its index, around its damage; and it is sealed."""

import errno
import random
from array import array

import pytest

from pybroker.seq_ranges import SeqRanges
from pybroker.store import format as fmt, publish_record, sectors
from pybroker.store.disk import DiskError
from pybroker.store.segments import segment as segments
from pybroker.store.segments.footer import Footer
from pybroker.store.segments.live_index import Index, Target
from pybroker.store.segments.scan import Damaged, Record
from pybroker.store.segments.segment import SegmentFile, seal_segment
from tests.store.faulty_disk import FaultyDisk
from tests.store.records import LOG_ID, SEED, one_of_each, publish, random_run, run_of

NAME = fmt.segment_name(1)
TARGET = Target(0, False, (1,))


class Sample:
    """A segment with random runs in it. `bodies` by seq, `offsets` of the records by their first seq."""

    def __init__(self, seed=1, count=200, gaps=False, octets_max=300, size=0):
        rng = random.Random(seed)
        self.disk = FaultyDisk()
        self.contents, self.offsets, self.runs = {}, {}, []
        self.index, self.seq_ranges = Index(), SeqRanges()
        seq = 1
        parts = [fmt.segment_header(1, LOG_ID, size)]
        at = len(parts[0])
        for _ in range(count):
            seq += rng.randint(0, 5) if gaps else 0
            run = random_run(rng, seq, octets_max)
            self.runs.append(run)
            self.offsets[seq] = at
            self.index.add(seq, at)
            for each, content in enumerate(run.contents_at(range(run.count)), seq):
                self.contents[each] = content
                self.seq_ranges.add(each, 1, int.from_bytes(content[11:19]))
            parts.append(publish(run))
            at += len(parts[-1])
            seq += run.count
        self.used = at
        file = self.disk.create(NAME, max(size, self.used))
        self.disk.write_at(file, 0, b"".join(parts))
        self.disk.close(file)
        self.damages = []

    def seal(self):
        seal_segment(self.disk, 1, SEED, self.used, Footer(3, 9, 0, {TARGET: self.seq_ranges}, self.index))
        return self

    def read(self, seqs, index=None):
        """Return what is read back of these seqs, as content by seq."""
        wanted = SeqRanges()
        for seq in sorted(seqs):
            wanted.add(seq, 1, 0)
        file = SegmentFile(self.disk, 1, LOG_ID)
        found = file.read_publishes(wanted, self.index if index is None else index, self.damages.append)
        file.close()
        got = [(run.first_seq + i, run.content(i)) for run, indexes in found for i in indexes]
        assert got == sorted(got)
        return dict(got)

    def wanted(self, seqs):
        return {seq: self.contents[seq] for seq in seqs}


def test_a_segment_is_what_its_header_says():
    file = SegmentFile(Sample(size=500_000).disk, 1, LOG_ID)
    assert (file.complaint, file.header, file.size) == ("", fmt.SegmentHeader(LOG_ID, 1, 500_000, 0), 500_000)


def test_a_damaged_header_is_a_complaint_and_no_reason_not_to_read():
    sample = Sample(count=3)
    sample.disk.flip(NAME, 100)
    file = SegmentFile(sample.disk, 1, LOG_ID)
    assert (file.complaint, file.header) == (f"segment {NAME}: the header of the segment is damaged", None)
    assert len(list(file.scan_all())) == 3


def test_the_header_of_another_segment_is_a_complaint():
    sample = Sample(count=3)
    sample.disk.damage(NAME, 0, fmt.segment_header(2, LOG_ID, 0))
    assert SegmentFile(sample.disk, 1, LOG_ID).complaint == f"segment {NAME}: its header is that of segment 2"


def test_the_header_of_another_log_is_a_complaint():
    sample = Sample(count=3)
    sample.disk.damage(NAME, 0, fmt.segment_header(1, LOG_ID + 1, 0))
    assert SegmentFile(sample.disk, 1, LOG_ID).complaint == f"segment {NAME}: its header is that of another log"


def test_a_header_that_the_disk_cannot_read_any_more_is_damaged():
    sample = Sample(count=3)
    sample.disk.fail_next("read_at", errno.EIO, times=2)
    file = SegmentFile(sample.disk, 1, LOG_ID)
    assert file.complaint == f"segment {NAME}: this is not a segment of pybroker's log"
    assert len(list(file.scan_all())) == 3


def test_a_newer_version_is_refused(monkeypatch):
    sample = Sample(count=3)
    monkeypatch.setattr(fmt, "VERSION", 2)
    sample.disk.damage(NAME, 0, fmt.segment_header(1, LOG_ID, 0))
    monkeypatch.undo()
    with pytest.raises(fmt.VersionError):
        SegmentFile(sample.disk, 1, LOG_ID)


def test_a_segment_that_is_not_there_cannot_be_read():
    with pytest.raises(DiskError):
        SegmentFile(FaultyDisk(), 1, LOG_ID)


@pytest.mark.parametrize("piece", [64, 1_000, 1 << 22])
@pytest.mark.parametrize("sealed", [False, True])
def test_all_records_are_given_piece_by_piece(monkeypatch, piece, sealed):
    sample = Sample(size=0 if sealed else 900_000)
    if sealed:
        sample.seal()
    monkeypatch.setattr(segments, "SCAN_OCTETS", piece)
    found = [each for each in SegmentFile(sample.disk, 1, LOG_ID).scan_all() if each.type != fmt.FOOTER]
    assert [publish_record.range_of(each.payload)[0] for each in found] == list(sample.offsets)
    assert [each.offset for each in found] == list(sample.offsets.values())


# -- footers -----------------------------------------------------------------------------------------------------------


def test_a_sealed_segment_has_its_footer():
    sample = Sample(size=500_000).seal()
    file = SegmentFile(sample.disk, 1, LOG_ID)
    footer = file.read_footer()
    assert (footer.first_commit_position, footer.last_commit_position) == (3, 9)
    assert list(footer.by_target[TARGET].ranges()) == list(sample.seq_ranges.ranges())
    assert (footer.index.seqs, footer.index.offsets) == (sample.index.seqs, sample.index.offsets)
    assert file.size < 500_000
    assert [each for each in file.scan_all() if isinstance(each, Damaged)] == []


def test_a_segment_that_is_not_sealed_has_none():
    for size in (0, 500_000):
        assert SegmentFile(Sample(size=size).disk, 1, LOG_ID).read_footer() is None
    empty = FaultyDisk()
    empty.close(empty.create(NAME))
    assert SegmentFile(empty, 1, LOG_ID).read_footer() is None


def test_every_damage_to_a_footer_costs_the_footer_and_nothing_else():
    sample = Sample(count=10, octets_max=20).seal()
    size = SegmentFile(sample.disk, 1, LOG_ID).size
    for octet in range(sample.used, size):
        sample.disk.damage(NAME, octet, bytes([sample.disk.read_file(NAME)[octet] ^ 0x10]))
        file = SegmentFile(sample.disk, 1, LOG_ID)
        assert file.read_footer() is None
        found = list(file.scan_all())
        assert [each.offset for each in found[:10]] == list(sample.offsets.values())
        # Nothing but the footer itself is told to be damaged.
        assert [each.type for each in found[10:]] in ([fmt.FOOTER], [0])
        sample.disk.damage(NAME, octet, bytes([sample.disk.read_file(NAME)[octet] ^ 0x10]))


def test_a_trailer_that_points_elsewhere_is_not_followed():
    sample = Sample(count=10).seal()
    end = SegmentFile(sample.disk, 1, LOG_ID).size - fmt.TRAILER_OCTETS
    for offset in (0, 5, fmt.HEADER_OCTETS, sample.used - 1, sample.used + 1, end, end + 100):
        sample.disk.damage(NAME, end, fmt.trailer(offset))
        assert SegmentFile(sample.disk, 1, LOG_ID).read_footer() is None


def test_sealing_is_on_disk_when_it_returns():
    sample = Sample(size=100_000)
    sample.disk.sync_folder()
    file = sample.disk.open(NAME, write=True)
    sample.disk.sync(file)
    sample.seal()
    for seed in range(20):
        crashed = sample.disk.crash(random.Random(seed))
        assert SegmentFile(crashed, 1, LOG_ID).read_footer() is not None


@pytest.mark.parametrize("damaged", [False, True])
def test_what_a_full_disk_left_of_a_footer_is_no_damage(damaged):
    sample = Sample(count=10)
    sample.disk.sync_folder()
    file = sample.disk.open(NAME, write=True)
    sample.disk.sync(file)
    sample.disk.power.capacity = sample.disk.size(file) + 600
    with pytest.raises(DiskError, match="No space left"):
        sample.seal()
    left = 0
    for seed in range(20):
        crashed = sample.disk.crash(random.Random(seed))
        if damaged:
            crashed.damage(NAME, sample.used - 1, b"\xff")
        file = SegmentFile(crashed, 1, LOG_ID)
        left += file.size > sample.used
        assert not file.short
        found = [each for each in file.scan_all() if isinstance(each, Damaged)]
        assert [each.offset for each in found] == [max(sample.offsets.values())] * damaged
    assert left  # the file is cut back without a sync


def test_sealing_twice_is_sealing_once():
    sample = Sample().seal()
    once = sample.disk.read_file(NAME)
    sample.seal()
    assert sample.disk.read_file(NAME) == once


def test_cutting_is_on_disk_when_it_returns():
    sample = Sample(size=900_000)
    sample.disk.sync_folder()
    file = SegmentFile(sample.disk, 1, LOG_ID)
    at = sample.offsets[max(seq for seq in sample.offsets if sample.offsets[seq] < 20_000)]
    end = sample.used
    file.cut(at, end)
    crashed = SegmentFile(sample.disk.crash(random.Random(1)), 1, LOG_ID)
    assert crashed.size == file.size
    assert crashed.read(at, end - at) == bytes(end - at)
    sample.disk.fail_next("write_at", errno.ENOSPC)
    file.cut(at, end)
    assert (file.size, SegmentFile(sample.disk, 1, LOG_ID).size) == (at, at)


# -- messages back -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 900_000])
@pytest.mark.parametrize("gaps", [False, True])
def test_messages_are_found_by_the_index(size, gaps):
    sample = Sample(gaps=gaps, size=size)
    seqs = list(sample.contents)
    assert sample.read(seqs) == sample.contents
    rng = random.Random(1)
    for count in (1, 2, 10, 100, len(seqs) // 2):
        for _ in range(10):
            some = rng.sample(seqs, count)
            assert sample.read(some) == sample.wanted(some)
            start = rng.randrange(len(seqs))
            some = seqs[start : start + count]
            assert sample.read(some) == sample.wanted(some)
    assert sample.damages == []


def test_a_run_is_decoded_once_for_all_that_is_wanted_of_it():
    sample = Sample(count=0)
    run = run_of([b"%d" % i for i in range(10)], 1)
    sample.disk.write_file(NAME, fmt.segment_header(1, LOG_ID, 0) + publish(run))
    wanted = SeqRanges()
    for seq in (1, 4, 9):
        wanted.add(seq, 1, 1)
    found = SegmentFile(sample.disk, 1, LOG_ID).read_publishes(wanted, Index(), sample.damages.append)
    assert [indexes for _, indexes in found] == [range(1), range(3, 4), range(8, 9)]
    assert len({id(run) for run, _ in found}) == 1


def test_only_what_is_near_is_read(monkeypatch):
    sample = Sample(count=1_000, octets_max=2_000)
    monkeypatch.setattr(segments, "GAP_OCTETS", 4_096)
    read = []
    read_at = sample.disk.read_at

    def listening(file, offset, octets):
        got = read_at(file, offset, octets)
        read.append((offset, len(got)))
        return got

    monkeypatch.setattr(sample.disk, "read_at", listening)
    seqs = list(sample.contents)
    last = seqs[-1]
    far = [seqs[0], seqs[len(seqs) // 2], last]
    assert sample.read(far) == sample.wanted(far)
    # its header, and about one part of the index for each; the last one has no end and is read a little at a time
    assert sum(octets for _, octets in read) < 64 + 3 * (4_096 + 50 * 2_100) + 2 * segments.FIRST_OCTETS


@pytest.mark.parametrize("index", [Index(), Index(array("Q", [1]), array("I", [64]))])
def test_a_poor_index_costs_time_only(index):
    sample = Sample(count=50, size=100_000)
    some = list(sample.contents)[::7]
    assert sample.read(some, index) == sample.wanted(some)


def test_an_index_that_is_wrong_costs_time_only():
    sample = Sample(count=100)
    seqs = list(sample.contents)
    wrong = Index(array("Q", [seqs[-1] // 2, seqs[-1] // 2 + 5]), array("I", sample.index.offsets[:2]))
    assert sample.read(seqs[::5], wrong) == sample.wanted(seqs[::5])


def test_what_is_not_there_is_missing():
    sample = Sample(count=20, gaps=True)
    absent = set(range(1, max(sample.contents) + 50)) - set(sample.contents)
    assert sample.read({*absent, *sample.contents}) == sample.contents


def test_of_damaged_records_only_their_messages_are_missing_and_all_is_told():
    sample = Sample(count=100)
    rng = random.Random(9)
    lost = []
    for run in rng.sample(sample.runs, 5):
        record = publish(run)
        sample.disk.flip(NAME, 8 * sample.offsets[run.first_seq] + rng.randrange(8 * len(record)))
        lost.append(run)
    gone = {seq for run in lost for seq in range(run.first_seq, run.first_seq + run.count)}
    assert sample.read(sample.contents) == sample.wanted(set(sample.contents) - gone)
    assert sorted({each.offset for each in sample.damages}) == sorted(sample.offsets[run.first_seq] for run in lost)
    assert len(sample.damages) == len(lost)


def test_nothing_is_read_behind_what_is_wanted():
    # what is being written there meanwhile is no damage
    sample = Sample(count=20, size=100_000)
    file = sample.disk.open(NAME, write=True)
    sample.disk.write_at(file, sample.used, b"\xff" * 50)
    assert sample.read(sample.contents) == sample.contents
    assert sample.damages == []


class BadSectors:
    """Lets a disk fail to read what touches some offsets."""

    def __init__(self, disk, monkeypatch, *offsets):
        self.read_at = disk.read_at
        self.offsets = offsets
        monkeypatch.setattr(disk, "read_at", self)

    def __call__(self, file, offset, octets):
        if any(offset <= bad < offset + octets for bad in self.offsets):
            raise DiskError("read", NAME, errno.EIO)
        return self.read_at(file, offset, octets)


def test_what_the_disk_cannot_read_any_more_is_damage(monkeypatch):
    sample = Sample(count=300).seal()
    BadSectors(sample.disk, monkeypatch, 9_000, 41_000)
    pages = [range(8_192, 12_288), range(40_960, 45_056)]
    lost = {
        seq
        for run in sample.runs
        for seq in range(run.first_seq, run.first_seq + run.count)
        for page in pages
        if sample.offsets[run.first_seq] < page.stop and sample.offsets[run.first_seq] + len(publish(run)) > page.start
    }
    assert 0 < len(lost) < len(sample.contents) / 4
    file = SegmentFile(sample.disk, 1, LOG_ID)
    found = list(file.scan_all())
    assert len([each for each in found if isinstance(each, Damaged)]) == 2
    assert file.read_footer() is not None
    assert sample.read(sample.contents) == sample.wanted(set(sample.contents) - lost)
    assert len(sample.damages) == 2


def test_a_disk_that_is_lost_is_no_damage(monkeypatch):
    sample = Sample(count=300)
    monkeypatch.setattr(sectors, "UNREADABLE_MAX", 5)
    BadSectors(sample.disk, monkeypatch, *range(9_000, 60_000, 4_096))
    file = SegmentFile(sample.disk, 1, LOG_ID)
    with pytest.raises(DiskError):
        list(file.scan_all())


def test_another_error_is_no_damage():
    sample = Sample(count=20)
    file = SegmentFile(sample.disk, 1, LOG_ID)
    sample.disk.fail_next("read_at", errno.ESTALE)
    with pytest.raises(DiskError):
        list(file.scan_all())


def test_other_records_are_passed_over():
    made = one_of_each()
    disk = FaultyDisk()
    disk.write_file(NAME, fmt.segment_header(1, LOG_ID, 0) + b"".join(made))
    file = SegmentFile(disk, 1, LOG_ID)
    assert [each.type for each in file.scan_all() if isinstance(each, Record)] == [1, 2, 3, 3, 4, 5]
    wanted = SeqRanges()
    wanted.add(10, 4, 3)
    found = file.read_publishes(wanted, Index(array("Q", [10]), array("I", [64])), lambda damage: None)
    assert [(run.first_seq, indexes) for run, indexes in found] == [(10, range(4))]
    assert fmt.seed(LOG_ID, 1) == SEED
