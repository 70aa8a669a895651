"""Tail: what a scan finds in a segment, and whether its end is torn or damaged."""

import pytest

from pybroker.store.streams.cursor import Cursor
from pybroker.store.streams.format import HEADER_OCTETS, Point, index_name, segment_name
from pybroker.store.streams.tail import lost, scan_tail
from tests.store.faulty_disk import FaultyDisk
from tests.store.streams.lives import Life, timestamp


class Segment:
    """One segment of several writes, and where each chunk begins in it."""

    def __init__(self, *writes):
        self.life = Life(FaultyDisk())
        for counts in writes:
            assert self.life.append(*counts, segment_octets=1 << 20) is None
        self.folder = self.life.log._folder
        self.disk = self.folder.disk
        whole = self.scan(whole=True)
        self.size = whole.end

    def scan(self, **options):
        return scan_tail(self.folder, 0, **options)

    def starts(self):
        """Return the position of each chunk, by its first offset."""
        octets = self.disk.read_file(segment_name(0))
        cursor = Cursor(lambda at, count: octets[at : at + count], self.folder.seed, HEADER_OCTETS, len(octets))
        found, self.data_at = {}, {}
        while (front := cursor.front()) is not None:
            found[front.first_offset] = cursor.position
            self.data_at[front.first_offset] = front.front_octets + 20
            cursor.position += front.octets
        return found

    def damage(self, offset):
        start = self.starts()[offset]
        self.disk.damage(segment_name(0), start + self.data_at[offset], b"\xff\xff")

    def cut(self, octets):
        file = self.disk.open(segment_name(0), write=True)
        self.disk.truncate(file, octets)
        self.disk.close(file)

    def forget_index(self):
        self.disk.unlink(index_name(0))


def test_a_sound_segment_is_complete():
    tail = Segment([3, 3], [4]).scan()
    assert (tail.found, tail.sound, tail.lost_end, tail.complete, tail.torn) == (True, True, False, True, 0)
    assert (tail.next_offset, tail.last_chunk_offset, tail.last_seq) == (10, 6, 1_009)
    assert (tail.first_ms, tail.timestamp_ms, tail.reports) == (timestamp(0), timestamp(6), [])
    assert tail.doubt == tail.end


def test_without_an_index_the_last_write_is_in_doubt():
    segment = Segment([3, 3], [4])
    segment.forget_index()
    tail = segment.scan()
    assert (tail.next_offset, tail.complete, tail.doubt) == (10, False, segment.starts()[6])


def test_without_an_index_all_of_a_single_write_is_in_doubt():
    segment = Segment([3, 3])
    segment.forget_index()
    assert segment.scan().doubt == 0


@pytest.mark.parametrize("indexed", [True, False])
def test_damage_in_a_write_before_the_last_is_damage(indexed):
    segment = Segment([3, 3], [4])
    segment.damage(0)
    if not indexed:
        segment.forget_index()
    tail = segment.scan()
    (report,) = tail.reports
    assert report.endswith("octets at 64: messages 0 to 2 are lost")
    assert (tail.next_offset, tail.torn, tail.lost_end) == (10, 0, False)


def test_damage_in_the_last_write_is_damage_if_the_index_knows_it():
    segment = Segment([3], [3, 4])
    segment.damage(3)
    tail = segment.scan()
    assert [report.partition(": ")[2] for report in tail.reports] == ["messages 3 to 5 are lost"]
    assert (tail.next_offset, tail.torn, tail.lost_end) == (10, 0, False)


def test_damage_in_the_last_write_is_a_torn_end_if_nothing_proves_it():
    segment = Segment([3], [3, 4])
    segment.damage(3)
    segment.forget_index()
    tail = segment.scan()
    assert (tail.reports, tail.next_offset, tail.end) == ([], 3, segment.starts()[3])
    assert tail.torn == segment.size - tail.end
    tail.mend()
    assert segment.disk.size_of(segment_name(0)) == tail.end
    assert segment.scan().torn == 0


def test_a_last_chunk_that_is_damaged_stays_and_the_stream_goes_on_behind_it():
    segment = Segment([3], [4])
    segment.damage(3)
    tail = segment.scan()
    assert (tail.next_offset, tail.lost_end, tail.last_seq) == (7, True, 1_002)
    assert tail.reports[0].endswith("messages 3 to 6 are lost")
    tail.mend()
    assert segment.disk.size_of(segment_name(0)) == segment.size


def test_a_segment_that_lost_its_end_says_so():
    segment = Segment([3], [4])
    segment.cut(segment.starts()[3])
    tail = segment.scan()
    assert (tail.next_offset, tail.lost_end) == (7, True)
    assert tail.reports == ["its end is missing: messages 3 to 6 are lost"]


def test_the_last_place_that_can_be_read_knows_the_numbers(monkeypatch):
    monkeypatch.setattr("pybroker.store.streams.writer.POINT_DISTANCE_OCTETS", 1)
    segment = Segment([3], [3], [4])
    segment.damage(6)
    tail = segment.scan()
    assert (tail.last_seq, tail.last_chunk_offset, tail.next_offset) == (1_005, 3, 10)


def test_a_scan_begins_at_the_last_place(monkeypatch):
    monkeypatch.setattr("pybroker.store.streams.writer.POINT_DISTANCE_OCTETS", 1)
    segment = Segment([3], [3], [4])
    segment.damage(0)
    assert segment.scan().reports == []
    assert segment.scan(whole=True).reports != []
    assert segment.scan().active.point_count == 3


def test_a_damaged_header_is_reported():
    segment = Segment([3])
    segment.disk.flip(segment_name(0), 100)
    tail = segment.scan()
    assert (tail.sound, tail.reports) == (False, ["its header is damaged: nothing is lost"])
    assert (tail.next_offset, tail.last_seq) == (3, 1_002)


def test_a_place_that_lies_behind_the_end_is_not_used():
    segment = Segment([3], [3])
    file = segment.disk.open(index_name(0), write=True)
    segment.disk.write_at(file, 64, Point(3, timestamp(3), 90_000).encode(segment.folder.point_seed(0)))
    assert segment.scan().next_offset == 6


def test_lost_messages_are_told_as_people_say_it():
    assert (lost(3, 3), lost(3, 4), lost(3, 6)) == (
        "nothing is lost",
        "message 3 is lost",
        "messages 3 to 5 are lost",
    )
