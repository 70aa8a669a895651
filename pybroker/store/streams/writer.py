"""Writer: appends to a stream's newest segment, begins new ones, removes old ones. Its jobs run in one thread.

The segment is open only while something is written: an idle stream has no file open, and to open one costs little
beside a sync. A write that fails leaves the numbers as they were, and nothing that it left is trusted: the next one
goes on in a new segment, behind the last octets that were on disk before.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.entries_run import EntriesRun
from pybroker.store.disk import DiskError
from pybroker.store.streams.folder import Folder, first_offsets, remove_files, remove_stream, unlink
from pybroker.store.streams.format import (
    HEADER_OCTETS,
    POINT_OCTETS,
    SYNCED,
    Chunk,
    Point,
    encode_chunk,
    encode_gap,
    index_name,
    segment_name,
)

if TYPE_CHECKING:
    from pybroker.store.disk import Disk

# How far apart the places are that an index knows.
POINT_DISTANCE_OCTETS: Final = 65_536
# More is written in several pieces, so that it is not in memory twice.
WRITE_OCTETS: Final = 4_194_304
# So much at once need not stay in the system's memory, unless the files were read while the last so many were written.
DROP_OCTETS_MIN: Final = 131_072
KEPT_OCTETS: Final = 1 << 30
# The octets of a chunk beside its contents, before it is encoded: around them, with usual names, and for each.
AROUND_OCTETS: Final = 192
SIZE_OCTETS: Final = 4


class Written(NamedTuple):
    """A segment as far as it is on disk, and the timestamps of its first and last chunk."""

    first_offset: int
    octets: int
    first_ms: int
    last_ms: int


class Removed(NamedTuple):
    """How many segments were removed, the oldest; the floor on disk; what went wrong in the end."""

    segments: int
    floor: int
    error: BaseException | None


class Active:
    """The segment that is written up to `end`: `synced` tells whether all of it is known to be on disk.

    The others are of its index.
    """

    __slots__ = ("end", "first_ms", "first_offset", "pending", "point_count", "point_position", "synced")

    def __init__(self, first_offset: int, end: int = 0, first_ms: int = 0) -> None:
        self.first_offset = first_offset
        self.end = end
        self.first_ms = first_ms
        self.point_count = 0
        self.point_position = 0  # of the last point; 0: there is none
        self.pending = b""  # points that are not written
        self.synced = False

    def note(self, point: Point, seed: int) -> None:
        """Keep a place for the index, if it is far enough from the one before."""
        if not self.point_position or point.position - self.point_position >= POINT_DISTANCE_OCTETS:
            self.point_position = point.position
            self.point_count += 1
            self.pending += point.encode(seed)


class Writer:
    """The end of a stream: `next_offset`, `last_seq` and `timestamp_ms` as StreamLog has them; `active` may be None."""

    __slots__ = (
        "_broken",
        "_kept_octets",
        "_newest",
        "_unsynced",
        "active",
        "floor",
        "folder",
        "last_seq",
        "next_offset",
        "timestamp_ms",
    )

    def __init__(
        self,
        folder: Folder,
        active: Active | None,
        floor: int,
        next_offset: int,
        last_seq: int,
        timestamp_ms: int,
        newest: int | None = None,
    ) -> None:
        self.folder = folder
        self._newest = newest  # the segment that its meta speaks of
        self.active = active
        self._broken = active is None  # what a write left that failed is still there
        self._unsynced = False  # segments were removed that may come back
        self._kept_octets = 0  # of what is written next: they stay in the system's memory
        self.floor = floor
        self.next_offset = next_offset
        self.last_seq = last_seq
        self.timestamp_ms = timestamp_ms

    def keep_cached(self) -> None:
        """Leave what is written in the system's memory for a while: somebody reads the files."""
        self._kept_octets = KEPT_OCTETS

    # -- append --------------------------------------------------------------------------------------------------------

    def append(
        self, chunks: list[Chunk], segment_octets_max: int, *, straight: bool = False, synced: bool = True
    ) -> list[Written]:
        """Write chunks, all of them on disk when this returns; return the segments they are in. Raises DiskError.

        A `straight` write is all in one segment, of which the index learns by `note_committed`. One that is not
        `synced` is in the system's memory alone.
        """
        active, self.active = self.active, None  # unless all goes well
        if active is not None and active.end == HEADER_OCTETS:
            # It may be the only one that knows where the stream ends, and nothing in it is in doubt: it stays.
            self.active = Active(active.first_offset, HEADER_OCTETS)
        written: list[Written] = []
        at = 0
        next_offset, last_seq, timestamp_ms = self.next_offset, self.last_seq, self.timestamp_ms
        broken, self._broken = self._broken, True
        if broken:
            self._discard(active)
        while at < len(chunks):
            filled = active is not None and active.end > HEADER_OCTETS
            first = sum(map(_octets, chunks)) if straight else _octets(chunks[at])
            if active is not None and filled and active.end + first > segment_octets_max:
                self._leave(active)
                active = None
            active = active or Active(next_offset)
            stop = len(chunks) if straight else _fitting(chunks, at, segment_octets_max - active.end)
            self._write(
                active, (next_offset, last_seq, timestamp_ms), chunks[at:stop], straight=straight, synced=synced
            )
            at = stop
            last = chunks[at - 1]
            next_offset, last_seq, timestamp_ms = last.next_offset, last.last_seq, last.timestamp_ms
            if not straight:
                write_index(self.folder, active, next_offset, timestamp_ms)
            written.append(Written(active.first_offset, active.end, active.first_ms, timestamp_ms))
        self.active, self._broken = active, False
        self.next_offset, self.last_seq, self.timestamp_ms = next_offset, last_seq, timestamp_ms
        if active is not None and not straight:
            self.note(active.first_offset)
        return written

    def note(self, newest: int | None) -> None:
        """Have it on disk which segment is the newest one with messages; it may fail, and is tried again."""
        if newest != self._newest:
            with suppress(DiskError):
                self.folder.write_meta(self.floor, newest)
                self._newest = newest

    def note_committed(self) -> None:
        """Let the index have the last write, which was a straight one: a start believes it then."""
        if self.active is not None:
            write_index(self.folder, self.active, self.next_offset, self.timestamp_ms)
            self.note(self.active.first_offset)

    def _discard(self, active: Active | None) -> None:
        """Remove what a failed write may have begun; gone from disk when this returns, since offsets come again.

        The newest goes first, so that a kill never leaves one without those before it.
        """
        disk = self.folder.disk
        disk.sync_folder()  # of names that went when this was tried before
        for first in reversed(first_offsets(disk)):
            if active is not None and first == active.first_offset:
                unlink(disk, index_name(first))
                disk.sync_folder()
            elif first >= self.next_offset:
                self.folder.unlink(first)
                disk.sync_folder()

    def _write(
        self,
        active: Active,
        before: tuple[int, int, int],
        chunks: list[Chunk],
        *,
        straight: bool = False,
        synced: bool = True,
    ) -> None:
        """Write chunks into one segment, and the segment's header in front if it is a new one; sync it.

        Before them the stream has this next offset, last seq and timestamp.
        """
        header = b"" if active.end else self.folder.header(*before)
        next_offset, last_seq, timestamp_ms = before
        disk, name = self.folder.disk, segment_name(active.first_offset)
        seed, point_seed = self.folder.seed, self.folder.point_seed(active.first_offset)
        file = disk.create(name, lasting=False) if header else disk.open(name, write=True)
        try:
            start = active.end
            if start == HEADER_OCTETS:
                disk.truncate(file, start)  # a write into it may have failed
            parts: list[bytes | memoryview[int]] = [header]
            position = start + len(header)
            if not start and chunks:
                active.first_ms = chunks[0].timestamp_ms
            begins = True
            for chunk in chunks:
                lost = chunk.run.first_seq - next_offset
                if lost:
                    active.note(Point(next_offset, timestamp_ms, position), point_seed)
                    gap = encode_gap(next_offset, lost, last_seq, timestamp_ms, seed, begins=begins, straight=straight)
                    parts.append(gap)
                    position += len(gap)
                    begins = False
                next_offset, last_seq, timestamp_ms = chunk.next_offset, chunk.last_seq, chunk.timestamp_ms
                encoded = encode_chunk(chunk, seed, begins=begins, straight=straight)
                begins = False
                active.note(Point(chunk.run.first_seq, chunk.timestamp_ms, position), point_seed)
                parts += encoded
                position += sum(map(len, encoded))
                if position - start >= WRITE_OCTETS:
                    disk.write_parts(file, start, parts)
                    start, parts = position, []
            if parts:
                disk.write_parts(file, start, parts)
            if synced:
                disk.sync(file)
            active.synced = synced
            written = position - active.end
            if self._kept_octets > 0:
                self._kept_octets -= written
            elif written >= DROP_OCTETS_MIN:
                disk.drop_cached(file, position)
        finally:
            disk.close(file)
        if header:
            disk.sync_folder()
        active.end = position

    def _leave(self, active: Active) -> None:
        """Have all of a segment on disk before there is a newer one: a start looks for losses in the newest alone."""
        if not active.synced:
            file = self.folder.disk.open(segment_name(active.first_offset), write=True)
            try:
                self.folder.disk.sync(file)
            finally:
                self.folder.disk.close(file)
        sync_index(self.folder, active.first_offset)

    # -- removal -------------------------------------------------------------------------------------------------------

    def begin_segment(self) -> Written:
        """Have a new, empty segment at the end, so that the others can go. Raises DiskError."""
        active = self.active
        if active is not None and active.end == HEADER_OCTETS:
            return Written(active.first_offset, active.end, 0, self.timestamp_ms)
        self.active = None
        broken, self._broken = self._broken, True
        if broken:
            self._discard(active)
        if active is not None:
            self._leave(active)
        active = Active(self.next_offset)
        self._write(active, (self.next_offset, self.last_seq, self.timestamp_ms), [])
        write_index(self.folder, active, self.next_offset, self.timestamp_ms)
        self.active, self._broken = active, False
        return Written(active.first_offset, active.end, 0, self.timestamp_ms)

    def raise_floor(self, floor: int, segments: list[int], *, exact: bool) -> Removed:
        """Let the stream begin at `floor`; remove segments that are wholly below it, ascending.

        If it is not `exact` the floor is where the segments end: when one goes, nothing else need say so. If there is
        no room to write the floor, they go one by one until there is.
        """
        gone = 0
        try:
            if self._unsynced:
                # One that came back would lie before others that do not.
                self._sync_folder()
            while floor > self.floor and (exact or len(segments) - gone > 1):
                try:
                    self.folder.write_meta(floor, self._newest)
                except DiskError as error:
                    if not error.full or gone == len(segments):
                        raise
                    self._unlink(segments[gone])
                    gone += 1
                    self._sync_folder()
                else:
                    self.floor = floor
                    break
            for first in segments[gone:]:
                self._unlink(first)
                gone += 1
            self._sync_folder()
        except DiskError as error:
            return Removed(gone, self.floor, error)
        except MemoryError as error:
            left = set(first_offsets(self.folder.disk))
            return Removed(sum(first not in left for first in segments), self.floor, error)
        return Removed(gone, self.floor, None)

    def _sync_folder(self) -> None:
        self.folder.disk.sync_folder()
        self._unsynced = False

    def _unlink(self, first_offset: int) -> None:
        """Remove a segment whose offsets do not come again; its index goes at the next start if it cannot now."""
        self._unsynced = True
        unlink(self.folder.disk, segment_name(first_offset))
        with suppress(DiskError):
            unlink(self.folder.disk, index_name(first_offset))

    def delete(self, log: "Disk") -> None:
        """Remove the folder: all of it is gone when this returns. Raises DiskError; then a start goes on with it."""
        self.active = None
        try:
            self.folder.write_meta(self.next_offset, deleted=True)
        except DiskError as error:
            if not error.full:
                raise
            remove_files(self.folder.disk)
        remove_stream(log, self.folder.stream_id)


def write_index(folder: Folder, active: Active, next_offset: int, timestamp_ms: int) -> None:
    """Write points that are not written, and how far the segment is synced. It is not synced, and may fail: a hint."""
    with suppress(DiskError):
        _put_index(folder, active, next_offset, timestamp_ms, synced=False)


def keep_index(folder: Folder, active: Active, next_offset: int, timestamp_ms: int) -> None:
    """Do the same where the index alone says that the last write counts: it is on disk then. Raises DiskError."""
    _put_index(folder, active, next_offset, timestamp_ms, synced=True)
    folder.disk.sync_folder()


def _put_index(folder: Folder, active: Active, next_offset: int, timestamp_ms: int, *, synced: bool) -> None:
    disk, name = folder.disk, index_name(active.first_offset)
    try:
        file = disk.open(name, write=True)
    except DiskError as error:
        if not error.missing:
            raise
        file = disk.create(name, lasting=False)
    try:
        if active.pending:
            written = active.point_count - len(active.pending) // POINT_OCTETS
            disk.write_at(file, POINT_OCTETS * (1 + written), active.pending)
            active.pending = b""
        point = Point(next_offset, timestamp_ms, active.end, SYNCED)
        disk.write_at(file, 0, point.encode(folder.point_seed(active.first_offset)))
        if synced:
            disk.sync(file)
    finally:
        disk.close(file)


def sync_index(folder: Folder, first_offset: int) -> None:
    """Have the index of a segment on disk; if it cannot be, a start reads more."""
    with suppress(DiskError):
        file = folder.disk.open(index_name(first_offset), write=True)
        try:
            folder.disk.sync(file)
        finally:
            folder.disk.close(file)


def _fitting(chunks: list[Chunk], at: int, room: int) -> int:
    """Return up to which chunk they fit into the room that is left in a segment: one does in any case."""
    stop = at + 1
    room -= _octets(chunks[at])
    while stop < len(chunks) and (room := room - _octets(chunks[stop])) >= 0:
        stop += 1
    return stop


def _octets(chunk: Chunk) -> int:
    """Return about how many octets a chunk takes, rather more."""
    run = chunk.run
    sizes = 0 if isinstance(run, EntriesRun) else SIZE_OCTETS * run.count
    bloom = len(chunk.bloom) if isinstance(chunk.bloom, bytes) else 0
    return run.octets + AROUND_OCTETS + sizes + bloom
