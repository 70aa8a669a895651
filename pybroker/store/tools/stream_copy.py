"""Copies of streams for a backup, as of the moment that its log has, while the node goes on.

A message is in the log of the moment until it was moved into its stream, and in the segments from then on: segments
that are copied later than the log was held have all that it has not. They may have more, messages that came after the
moment: these have seqs that the log of the backup would give to others, so no chunk is copied that has one.

Segments that are too old or too much for the node go while others are copied. So all are opened at the beginning, as
far as there are file descriptors, and the newest is copied first: they go from the other end.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker import descriptors
from pybroker.store.disk import DiskError
from pybroker.store.format import FormatError
from pybroker.store.sectors import Sectors
from pybroker.store.streams.cursor import Cursor
from pybroker.store.streams.folder import STREAMS, Folder, first_offsets, folder_name, stream_ids
from pybroker.store.streams.format import (
    DELETED,
    HEADER_OCTETS,
    META_MAGIC,
    META_NAME,
    Header,
    first_offset_of,
    index_name,
    segment_name,
)
from pybroker.store.streams.index import Index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.store.disk import Disk

COPY_OCTETS: Final = 1_048_576
# File descriptors for everything else.
DESCRIPTORS_LEFT: Final = 64


class Part(NamedTuple):
    """A file of the copy of a stream: so many octets of an open file, or those that are given."""

    stream_id: int
    name: str
    octets: int
    given: bytes = b""
    source: Sectors | None = None


class _Segment(NamedTuple):
    """Files of a segment, none if all in it is too new, and the offset behind them.

    `first`: nothing in those before it is too new. `empty` is the segment without a chunk.
    """

    parts: list[Part]
    next_offset: int
    first: bool
    empty: Part | None


class _Held:
    """A stream at the beginning: its meta, and its segments by first offset, open; `is_whole`: all of them."""

    __slots__ = ("disk", "files", "is_whole", "meta")

    def __init__(self, disk: "Disk") -> None:
        """Read the meta. Raises DiskError."""
        self.disk = disk
        self.meta = disk.read_file(META_NAME)
        self.files: dict[int, int] = {}
        self.is_whole = False

    def open(self, first_offset: int) -> None:
        """Open a segment, unless it is gone. Raises DiskError."""
        try:
            self.files[first_offset] = self.disk.open(segment_name(first_offset))
        except DiskError as error:
            if not error.missing:
                raise

    def close(self) -> None:
        """Close what is open."""
        while self.files:
            self.disk.close(self.files.popitem()[1])


class StreamCopy:
    """The streams in the folder of a log, without messages from `next_seq` on. `close` when all is copied."""

    def __init__(self, log: "Disk", next_seq: int) -> None:
        self._log = log
        self._next_seq = next_seq
        self._held: dict[int, _Held] = {}
        self._hold()

    def _hold(self) -> None:
        """Open all segments, as far as there are file descriptors for them."""
        left = descriptors.limit() - DESCRIPTORS_LEFT
        for stream_id in stream_ids(self._log):
            try:
                disk = self.folder(stream_id)
                if disk is None or META_NAME not in disk.names():
                    continue
                held = self._held[stream_id] = _Held(disk)
                for first in first_offsets(disk):
                    if left <= 0:
                        return
                    held.open(first)
                    left -= 1
                held.is_whole = True
            except DiskError as error:
                if error.lacks_descriptors:
                    return
                if not error.missing:
                    raise  # else the stream was deleted

    def close(self) -> None:
        """Close what is open."""
        while self._held:
            self._held.popitem()[1].close()

    def octets(self) -> int:
        """Return about how much is going to be copied."""
        octets = 0
        for stream_id in stream_ids(self._log):
            disk = self.folder(stream_id)
            if disk is not None:
                octets += sum(_size_of(disk, name) for name in _names(disk))
        return octets

    def folder(self, stream_id: int) -> "Disk | None":
        """Return the folder of a stream; None if it was deleted."""
        streams = self._log.folder(STREAMS)
        return streams.folder(folder_name(stream_id)) if streams is not None else None

    def parts(self) -> "Iterator[Part]":
        """Yield all files; each must be copied before the next one is asked for. Raises DiskError."""
        for stream_id in stream_ids(self._log):
            held = self._held.pop(stream_id, None)
            try:
                yield from self._stream(stream_id, held)
            except DiskError as error:
                if not error.missing:
                    raise  # else it was deleted
            finally:
                if held is not None:
                    held.close()

    def read(self, part: Part) -> "Iterator[bytes]":
        """Yield the octets of a file. Raises DiskError."""
        if part.source is None:
            yield part.given
            return
        for at in range(0, part.octets, COPY_OCTETS):
            yield part.source.read(at, min(COPY_OCTETS, part.octets - at))

    def _stream(self, stream_id: int, held: _Held | None) -> "Iterator[Part]":
        disk = self.folder(stream_id) if held is None else held.disk
        if disk is None or META_NAME not in disk.names():
            return
        try:
            meta = now = Header.decode(disk.read_file(META_NAME), META_MAGIC)
            if held is not None:
                meta = Header.decode(held.meta, META_MAGIC)
        except FormatError:
            # Nothing is known of a stream without it: a copy is made of all that is there.
            for name in disk.names():
                yield _given(stream_id, name, disk.read_file(name))
            return
        if now.flags & DELETED:
            return
        folder = Folder.of(disk, stream_id, meta.log_id)
        end: int | None = None
        empty: Part | None = None
        # Segments that were begun since have nothing that the log has not.
        files = held.files if held is not None and held.is_whole else None
        firsts = first_offsets(disk) if files is None else sorted(files)
        whole = False
        for first in reversed(firsts):
            try:
                file = disk.open(segment_name(first)) if files is None else files.pop(first)
            except DiskError as error:
                if error.missing:
                    break  # the node removed it, and those before it
                raise
            try:
                segment = self._segment(folder, first, file, newest=first == firsts[-1], whole=whole)
                yield from segment.parts
            finally:
                disk.close(file)
            if segment.parts:
                end = segment.next_offset if end is None else end
            empty = segment.empty
            whole = whole or segment.first
        if end is None and empty is not None:
            # Offsets go on where they were, though nothing is left below.
            yield empty
            end = first_offset_of(empty.name)
        floor = meta.first_offset if end is None else min(meta.first_offset, end)
        yield _given(stream_id, META_NAME, meta._replace(first_offset=floor, last_seq=0).encode(META_MAGIC))

    def _segment(self, folder: Folder, first: int, file: int, *, newest: bool, whole: bool) -> "_Segment":
        """Return a segment that is open, all of it if it is known that nothing in it is too new."""
        disk, name = folder.disk, segment_name(first)
        sectors = Sectors(disk, file)
        index = Index.read(disk, folder.point_seed(first), first)
        end = size = disk.size(file)
        synced = index.synced()
        sure = size if not newest else synced.position if synced is not None else 0
        header = _header(sectors)
        next_offset = first
        if not whole:
            end, next_offset = self._end(Cursor(sectors.read, folder.seed, HEADER_OCTETS, size), first, sure)
        before = header is not None and header.last_seq < self._next_seq
        empty = None
        if header is not None:
            given = header._replace(last_seq=min(header.last_seq, self._next_seq - 1))
            empty = _given(folder.stream_id, name, given.encode())
        parts = []
        if end > HEADER_OCTETS or (end == size and before):
            parts.append(Part(folder.stream_id, name, end, source=sectors))
            if end == size and index.count and not newest:
                parts.append(_given(folder.stream_id, index_name(first), index.encode()))
        return _Segment(parts, next_offset, before, empty)

    def _end(self, cursor: Cursor, first: int, sure: int) -> tuple[int, int]:
        """Return where chunks end that are not too new, and the offset behind them.

        Behind a `sure` place the index knows nothing: a write may be under way there, or one that it has yet to learn.
        """
        next_offset = first
        while cursor.position < cursor.stop:
            position = cursor.position
            if position >= sure and cursor.sound(next_offset) is None:
                front = cursor.next_sound(next_offset)
                if front is None or not front.begins:
                    return position, next_offset
            front = cursor.front()
            if front is None and not cursor.search():
                break
            front = front or cursor.front()
            assert front is not None
            if front.last_seq >= self._next_seq:
                return cursor.position, next_offset
            next_offset = front.next_offset
            cursor.position += front.octets
        return cursor.stop, next_offset


def _given(stream_id: int, name: str, octets: bytes) -> Part:
    return Part(stream_id, name, len(octets), octets)


def _header(sectors: Sectors) -> Header | None:
    try:
        return Header.decode(sectors.read(0, HEADER_OCTETS))
    except FormatError:
        return None


def _names(disk: "Disk") -> list[str]:
    """Return the names of all files, none if the stream was deleted meanwhile."""
    try:
        return disk.names()
    except DiskError as error:
        if error.missing:
            return []
        raise


def _size_of(disk: "Disk", name: str) -> int:
    """Return the octets of a file; 0 if it is gone."""
    try:
        return disk.size_of(name)
    except DiskError as error:
        if error.missing:
            return 0
        raise
