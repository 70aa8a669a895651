"""Reader: jobs that read one segment, in a thread of their own. They share nothing with the writer but what is on disk.

Damage is reported and passed over, never raised; a disk that cannot read raises DiskError.
"""

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.store.sectors import Sectors
from pybroker.store.streams.cursor import DIRECT_OCTETS, Cursor
from pybroker.store.streams.format import GAP, decode_chunk, segment_name
from pybroker.store.streams.index import Index
from pybroker.store.streams.tail import lost
from pybroker.store.streams.writer import POINT_DISTANCE_OCTETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.run import Run
    from pybroker.store.streams.folder import Folder
    from pybroker.store.streams.format import Front, Point
    from pybroker.store.streams.segments import Place

# The nearest point of an index is at most a chunk farther away.
SEEK_OCTETS: Final = POINT_DISTANCE_OCTETS + 4_096
# For the front of a chunk whose neighbour is large.
FRONT_PIECE_OCTETS: Final = 4_096


class Read(NamedTuple):
    """Runs that were read, the offset at which reading goes on, and a sentence for each damage met."""

    runs: "list[Run]"
    next_offset: int
    reports: list[str]


def read_runs(folder: "Folder", place: "Place", offset: int, octets_max: int) -> Read:
    """Return messages from the chunk with `offset` on, about as many octets as asked for and no more than are there.

    Raises DiskError.
    """
    runs: list[Run] = []
    reports: list[str] = []
    with _opened(folder, place, lambda point: point.offset <= offset) as (cursor, expected):
        octets = 0
        for front in _fronts(folder, place, cursor, expected, offset, reports):
            if front.next_offset <= offset or front.kind == GAP:
                continue
            if runs and octets + front.octets > octets_max:
                break
            direct = front.data_octets >= DIRECT_OCTETS
            cursor.piece = FRONT_PIECE_OCTETS if direct else max(octets_max - octets, front.octets)
            data = cursor.data(front)
            if data is None:
                first = max(front.first_offset, offset)
                reports.append(_report(folder, place, cursor.position, front.octets, first, front.next_offset))
                continue
            runs.append(decode_chunk(front, data))
            octets += front.octets
            # The next one is likely to be as large: then it would be read once more.
            if octets + front.octets > octets_max:
                break
    return Read(runs, runs[-1].first_seq + runs[-1].count if runs else place.stop_offset, reports)


def find_offset(folder: "Folder", place: "Place", timestamp_ms: int) -> int:
    """Return the first offset of the first chunk in a segment that is not older; where it ends if all are.

    Raises DiskError.
    """
    with _opened(folder, place, lambda point: point.timestamp_ms < timestamp_ms) as (cursor, expected):
        for front in _fronts(folder, place, cursor, expected, place.stop_offset, []):
            if front.timestamp_ms >= timestamp_ms:
                return front.first_offset
    return place.stop_offset


@contextmanager
def _opened(folder: "Folder", place: "Place", wanted: "Callable[[Point], bool]") -> "Iterator[tuple[Cursor, int]]":
    """Open a segment at the last place that is wanted, and give a cursor and the offset there."""
    disk = folder.disk
    file = disk.open(segment_name(place.first_offset))
    try:
        index = Index.read(disk, folder.point_seed(place.first_offset), place.first_offset)
        _, point = index.last(lambda point: point.position < place.octets and wanted(point))
        yield Cursor(Sectors(disk, file).read, folder.seed, point.position, place.octets, SEEK_OCTETS), point.offset
    finally:
        disk.close(file)


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
