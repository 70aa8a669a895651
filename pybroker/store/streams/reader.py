"""Reader: jobs that read one segment, in a thread of their own. They share nothing with the writer but what is on disk.

Damage is reported and passed over, never raised; a disk that cannot read raises DiskError.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from pybroker.entries_run import ENTRIES_OCTETS_MAX, EntriesRun
from pybroker.store.disk import DiskError
from pybroker.store.sectors import Sectors
from pybroker.store.streams.cursor import DIRECT_OCTETS, Cursor
from pybroker.store.streams.format import ENTRIES, GAP, decode_chunk, segment_name
from pybroker.store.streams.index import Index
from pybroker.store.streams.stored_entries import PART_OCTETS, OpenSegment, StoredEntries
from pybroker.store.streams.tail import lost
from pybroker.store.streams.writer import POINT_DISTANCE_OCTETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.run import Run
    from pybroker.store.streams.chunk_log import Wanted
    from pybroker.store.streams.folder import Folder
    from pybroker.store.streams.format import Front, Point
    from pybroker.store.streams.segments import Place

# The nearest point of an index is at most a chunk farther away.
SEEK_OCTETS: Final = POINT_DISTANCE_OCTETS + 4_096
# For the front of a chunk whose neighbour is large.
FRONT_PIECE_OCTETS: Final = 4_096
# Chunks with so many octets may stay on disk until they are sent: smaller ones are read many at a time. They count for
# a part of what they have, since they take no memory.
STORED_OCTETS_MIN: Final = 16_384
STORED_PART: Final = 16


class Read(NamedTuple):
    """Runs that were read, the offset at which reading goes on, and a sentence for each damage met.

    `segment` is open if the entries of one of them stay in it.
    """

    runs: "list[Run]"
    next_offset: int
    reports: list[str]
    segment: OpenSegment | None = None


def read_runs(
    folder: "Folder",
    place: "Place",
    offset: int,
    octets_max: int,
    wanted: "Wanted | None" = None,
    *,
    stored: bool = False,
) -> Read:
    """Return messages from the chunk with `offset` on, about as many octets as asked for and no more than are there.

    If it may be `stored`, a large chunk of entries stays in the segment where the system has it in memory now: it was
    found sound, and there may be more of these. Data of large chunks that are not `wanted` are not read, and count for
    little. Raises DiskError.
    """
    runs: list[Run] = []
    reports: list[str] = []
    kept: OpenSegment | None = None
    segment, cursor, expected = _opened(folder, place, lambda point: point.offset <= offset)
    octets = 0
    for front in _fronts(folder, place, cursor, expected, offset, reports):
        if front.next_offset <= offset or front.kind == GAP:
            continue
        if wanted is not None and not wanted(front.bloom):
            _pass_over(runs, front)
            octets += min(front.octets, FRONT_PIECE_OCTETS)
            if octets > octets_max:
                break
            cursor.piece = FRONT_PIECE_OCTETS if front.data_octets >= DIRECT_OCTETS else max(octets_max - octets, 1)
            continue
        may_stay = stored and _may_stay(front)
        cost = front.octets // STORED_PART if may_stay else front.octets
        if runs and octets + cost > octets_max:
            break
        direct = front.data_octets >= DIRECT_OCTETS
        cursor.piece = FRONT_PIECE_OCTETS if direct else max(octets_max - octets, front.octets)
        data = cursor.data(front)
        if data is None:
            first = max(front.first_offset, offset)
            reports.append(_report(folder, place, cursor.position, front.octets, first, front.next_offset))
            continue
        position = cursor.position + front.front_octets
        if may_stay and segment.read_now(position + front.data_octets - 1, memoryview(bytearray(1))):
            runs.append(StoredEntries.found(front, place.first_offset, position))
            kept = segment
        else:
            runs.append(decode_chunk(front, data))
            cost = front.octets
        octets += cost
        # The next one is likely to be as large: then it would be read once more.
        if octets + cost > octets_max:
            break
    next_offset = runs[-1].first_seq + runs[-1].count if runs else place.stop_offset
    return Read(runs, next_offset, reports, kept)


def _pass_over(runs: "list[Run]", front: "Front") -> None:
    """Note that the messages of a chunk are not wanted; those of neighbours become one run."""
    last = runs[-1] if runs else None
    if isinstance(last, EntriesRun) and not last.entries and last.first_seq + last.count == front.first_offset:
        last.pass_over(front.messages)
    else:
        runs.append(EntriesRun.passed_over(front.first_offset, front.messages))


def _may_stay(front: "Front") -> bool:
    """Tell whether the data of a chunk may stay on disk until they are sent: as they are, and in one frame."""
    return (
        front.kind == ENTRIES
        and front.data_octets >= STORED_OCTETS_MIN
        and (front.data_octets <= ENTRIES_OCTETS_MAX or front.entries == 1)
    )


class Rest(NamedTuple):
    """The next octets of a chunk from some place on, PART_OCTETS unless it ends before, and its segment."""

    octets: bytes
    segment: OpenSegment


def read_rest(folder: "Folder", chunk: StoredEntries, at: int, segment: OpenSegment | None) -> Rest | None:
    """Read what the system does not have in memory any more, and find the whole chunk sound once more.

    None: it is damaged by now, of which a new read of it tells; or its segment, not open yet, was removed. Raises
    DiskError.
    """
    if segment is None:
        try:
            segment = OpenSegment(folder.disk, chunk.segment)
        except DiskError as error:
            if error.missing:
                return None
            raise
    sectors, stop = Sectors(folder.disk, segment.file), chunk.position + chunk.octets
    rest, crc = b"", 0
    places = (chunk.position, *range(chunk.position + at, stop, PART_OCTETS), stop)
    for begin, end in pairwise(places):
        octets = sectors.read(begin, end - begin) if end > begin else b""
        crc = crc32(octets, crc)
        if begin == chunk.position + at:
            rest = octets
    return Rest(rest, segment) if crc == chunk.crc else None


def find_offset(folder: "Folder", place: "Place", timestamp_ms: int) -> int:
    """Return the first offset of the first chunk in a segment that is not older; where it ends if all are.

    Raises DiskError.
    """
    _, cursor, expected = _opened(folder, place, lambda point: point.timestamp_ms < timestamp_ms)
    for front in _fronts(folder, place, cursor, expected, place.stop_offset, []):
        if front.timestamp_ms >= timestamp_ms:
            return front.first_offset
    return place.stop_offset


def _opened(folder: "Folder", place: "Place", wanted: "Callable[[Point], bool]") -> tuple[OpenSegment, Cursor, int]:
    """Open a segment, and return it with a cursor at the last place that is wanted, and the offset there."""
    disk = folder.disk
    segment = OpenSegment(disk, place.first_offset)
    index = Index.read(disk, folder.point_seed(place.first_offset), place.first_offset)
    _, point = index.last(lambda point: point.position < place.octets and wanted(point))
    read = Sectors(disk, segment.file).read
    return segment, Cursor(read, folder.seed, point.position, place.octets, SEEK_OCTETS), point.offset


def _fronts(
    folder: "Folder", place: "Place", cursor: Cursor, expected: int, offset: int, reports: list[str]
) -> "Iterator[Front]":
    """Yield the fronts of all chunks from here on; the cursor is at each while it is looked at.

    Damage is reported if messages from `offset` on are lost with it.
    """
    while expected < place.stop_offset:
        position = cursor.position
        front = cursor.front()
        if front is None or front.first_offset != expected:
            while (front is None or front.first_offset < expected) and cursor.search():
                front = cursor.front()
            if front is not None and front.first_offset < expected:
                front = None
            stop = place.stop_offset if front is None else min(front.first_offset, place.stop_offset)
            if stop > offset:
                lost_from = max(expected, offset)
                octets = cursor.position - position
                reports.append(_report(folder, place, position, octets, lost_from, stop))
            if front is None or stop == place.stop_offset:
                return
        position = cursor.position
        yield front
        expected = front.next_offset
        cursor.position = position + front.octets


def _report(folder: "Folder", place: "Place", position: int, octets: int, first: int, stop: int) -> str:
    """Return a sentence about damage that a reader met."""
    return (
        f"stream {folder.stream_id} is damaged: {segment_name(place.first_offset)}, {octets} octets at {position}: "
        f"{lost(first, stop)}"
    )
