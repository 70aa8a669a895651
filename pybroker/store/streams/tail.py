"""Tail: one segment as a scan finds it, and whether its end is torn or damaged.

A chunk that is not sound is damaged if it is known to have been on disk: the index says so, or a sound chunk behind it
begins a later write. Otherwise it, and all behind it, are of a write that was not finished: a torn end. So is a last
write that went straight into the segment, if the log has not committed it: nobody was told of it.
"""

from copy import copy
from typing import TYPE_CHECKING, Any

from pybroker.store.disk import DiskError
from pybroker.store.format import FormatError, VersionError
from pybroker.store.sectors import Sectors
from pybroker.store.streams.cursor import PIECE_OCTETS, Cursor
from pybroker.store.streams.format import GAP, HEADER_OCTETS, SYNCED, Header, Point, segment_name
from pybroker.store.streams.index import Index
from pybroker.store.streams.writer import Active

if TYPE_CHECKING:
    from pybroker.store.streams.folder import Folder
    from pybroker.store.streams.format import Front


class Tail:
    """The segment that begins with `first_offset`.

    `end` is where its last sound chunk ends, with damage before it, `found` whether there is one; `sound` tells whether
    its header is. `lost_end`: it had been longer. `torn` octets are to be cut off, and octets from `doubt` on may not
    be on disk. `complete` tells whether its index is, `straight` whether the last write went straight into it. The
    others are as a stream has them.
    """

    def __init__(self, folder: "Folder", first_offset: int) -> None:
        self._folder = folder
        self.first_offset = self.next_offset = self.last_chunk_offset = first_offset
        self.sound = self.found = self.lost_end = self.complete = self.straight = False
        self.end = HEADER_OCTETS
        self.doubt = 0
        self.last_seq = self.timestamp_ms = self.first_ms = self.torn = self.messages = 0
        self.reports: list[str] = []
        self.active = Active(first_offset)

    def reach(self, floor: int) -> None:
        """Let the stream go on at its floor, if that is behind all that was found: there was more."""
        if self.next_offset < floor:
            self.reports.append(f"its end is missing: {lost(self.next_offset, floor)}")
            self.next_offset = floor
            self.lost_end = True

    def mend(self) -> None:
        """Cut off a torn end, and write again what may have been read from memory alone. Raises DiskError."""
        if self.lost_end or (not self.torn and self.doubt >= self.end):
            return
        disk = self._folder.disk
        file = disk.open(segment_name(self.first_offset), write=True)
        try:
            if self.torn:
                disk.truncate(file, self.end)
            try:
                for at in range(self.doubt, self.end, PIECE_OCTETS):
                    disk.write_at(file, at, disk.read_at(file, at, min(PIECE_OCTETS, self.end - at)))
            except DiskError as error:
                if not error.full:
                    raise
            disk.sync(file)
        finally:
            disk.close(file)
        if not self.doubt:
            disk.sync_folder()


def scan_tail(
    folder: "Folder",
    first_offset: int,
    *,
    whole: bool = False,
    size: int | None = None,
    committed_seq: int | None = None,
) -> Tail:
    """Read a segment from the last place on that its index knows, or all of it. Raises DiskError, VersionError.

    If a `size` is given no octets behind it are read. A last write that went straight counts if the log has committed
    it, up to `committed_seq`; None: that is not known, and it counts.
    """
    disk = folder.disk
    seed = folder.point_seed(first_offset)
    index = Index.read(disk, seed, first_offset)
    file = disk.open(segment_name(first_offset))
    try:
        size = disk.size(file) if size is None else min(size, disk.size(file))
        sectors = Sectors(disk, file)
        header = _header(sectors, folder, first_offset)
        known = index.point(1) is not None and not whole
        number, place = index.last(lambda point: point.position < size) if known else index.place(0)
        while True:
            tail = Tail(folder, first_offset)
            if header is not None:
                tail.sound, tail.last_seq, tail.timestamp_ms = True, header.last_seq, header.timestamp_ms
            cursor = Cursor(sectors.read, folder.seed, place.position, size)
            _Scan(tail, cursor, index, number, place, seed, committed_seq).run()
            if tail.found or not number:
                break
            # All behind this place is damaged: the one before it knows more.
            number, place = index.place(number - 1)
    finally:
        disk.close(file)
    if tail.found and not tail.sound:
        tail.reports.append("its header is damaged: nothing is lost")
    return tail


def _header(sectors: Sectors, folder: "Folder", first_offset: int) -> Header | None:
    try:
        header = Header.decode(sectors.read(0, HEADER_OCTETS))
    except VersionError:
        raise
    except FormatError:
        return None
    return header if header[:3] == (folder.log_id, folder.stream_id, first_offset) else None


class _Scan:
    """One scan. Chunks behind one that is not sound wait in `behind` until that is proved to be damage."""

    def __init__(
        self,
        tail: Tail,
        cursor: Cursor,
        index: Index,
        number: int,
        place: Point,
        seed: int,
        committed_seq: int | None,
    ) -> None:
        self._tail = tail
        self._committed_seq = committed_seq
        self._cursor = cursor
        self._seed = seed
        self._proof = index.synced()
        self._synced = self._proof or index.place(0)[1]
        self._bad: list[tuple[int, int, int, int]] = []  # position, octets, first offset that is lost, stop
        self._behind: list[tuple[int, Front]] = []
        # If the last write went straight and may be uncommitted: its position, and all before it.
        self._before: tuple[int, dict[str, Any]] | None = None
        self._expected = tail.next_offset = place.offset
        tail.end = place.position
        if number:
            start = index.point(1)
            assert start is not None
            tail.first_ms = start.timestamp_ms
            tail.active.point_count, tail.active.point_position = number, place.position

    def run(self) -> None:
        """Read up to the end of the file, and judge."""
        cursor, tail, synced = self._cursor, self._tail, self._synced
        while cursor.position < cursor.stop:
            position = cursor.position
            front = cursor.sound(self._expected)
            if front is not None:
                cursor.position += front.octets
                self._found(position, front)
                continue
            expected = self._expected
            front = cursor.next_sound(expected)
            self._expected = front.first_offset if front is not None else max(expected, synced.offset)
            self._bad.append((position, cursor.position - position, expected, self._expected))
            if position < synced.position:
                self._prove()
        if self._committed_seq is not None:
            self._leave_out_uncommitted(self._committed_seq)
        if tail.next_offset < synced.offset:
            self._prove()
            if self._expected < synced.offset:
                tail.reports.append(f"its end is missing: {lost(self._expected, synced.offset)}")
            tail.lost_end = True
            tail.next_offset = synced.offset
            tail.timestamp_ms = max(tail.timestamp_ms, synced.timestamp_ms)
        else:
            tail.torn = max(0, cursor.stop - tail.end)
        if self._proof is not None:
            tail.doubt = max(tail.doubt, min(synced.position, tail.end))
        active = tail.active
        active.end, active.first_ms = tail.end, tail.first_ms
        tail.complete = not active.pending and self._proof == (tail.next_offset, tail.timestamp_ms, tail.end, SYNCED)

    def _leave_out_uncommitted(self, committed_seq: int) -> None:
        """Go back to where the last write began, if that went straight and was not committed."""
        if self._before is None or self._tail.last_seq <= committed_seq:
            return
        position, before = self._before
        if position >= self._synced.position:
            vars(self._tail).update(before)

    def _found(self, position: int, front: "Front") -> None:
        self._expected = front.next_offset
        if not self._bad:
            self._add(position, front)
            return
        self._behind.append((position, front))
        if front.begins:
            self._prove()

    def _prove(self) -> None:
        """Let everything that is not sound be damage, and all behind it count."""
        for position, octets, first, stop in self._bad:
            self._tail.reports.append(f"{octets} octets at {position}: {lost(first, stop)}")
        for each in self._behind:
            self._add(*each)
        self._bad, self._behind = [], []

    def _add(self, position: int, front: "Front") -> None:
        tail = self._tail
        if front.begins:
            judged = front.straight and self._committed_seq is not None
            self._before = (position, {**vars(tail), "active": copy(tail.active)}) if judged else None
        if position == HEADER_OCTETS:
            tail.first_ms = front.timestamp_ms
        if front.begins and position > HEADER_OCTETS:
            tail.doubt = position
        tail.found, tail.straight = True, front.straight
        tail.messages += front.messages if front.kind != GAP else 0
        tail.active.note(Point(front.first_offset, front.timestamp_ms, position), self._seed)
        tail.end = position + front.octets
        tail.next_offset = front.next_offset
        tail.last_chunk_offset = front.first_offset
        tail.last_seq = max(tail.last_seq, front.last_seq)
        tail.timestamp_ms = max(tail.timestamp_ms, front.timestamp_ms)


def lost(first_offset: int, stop_offset: int) -> str:
    """Return a clause about the messages of a range that is damaged."""
    if stop_offset <= first_offset:
        return "nothing is lost"
    if stop_offset == first_offset + 1:
        return f"message {first_offset} is lost"
    return f"messages {first_offset} to {stop_offset - 1} are lost"
