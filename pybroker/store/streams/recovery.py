"""Recovery: what a start makes of a stream's folder.

Only the newest segment is read, from the last place on that its index knows; others are believed, and checked when they
are read. A torn end, of chunks that nobody was told of, is cut off. Everything else that is not as it was written is
damage: it is reported and stays where it is, and readers go on behind it.
"""

from typing import TYPE_CHECKING, NamedTuple

from pybroker.store.format import FormatError, VersionError
from pybroker.store.recovery.quarantine import set_aside
from pybroker.store.segments.log_id import draw
from pybroker.store.streams.folder import Folder, first_offsets, open_folder, remove_files, tidy
from pybroker.store.streams.format import (
    DELETED,
    HEADER_OCTETS,
    META_MAGIC,
    META_NAME,
    POINT_OCTETS,
    Header,
    segment_name,
)
from pybroker.store.streams.index import Index
from pybroker.store.streams.segments import Segments
from pybroker.store.streams.tail import Tail, lost, scan_tail
from pybroker.store.streams.writer import Writer, Written, keep_index, write_index

if TYPE_CHECKING:
    from pybroker.store.disk import Disk


class Recovered(NamedTuple):
    """A stream as a start found it. `reports` has a sentence for each damage, `cut` one if an end was cut off."""

    writer: Writer
    segments: Segments
    last_chunk_offset: int
    reports: list[str]
    cut: str


def recover(log: "Disk", stream_id: int, committed_seq: int | None = None) -> Recovered:
    """Open the folder of a stream in that of the log, or make it. Raises DiskError, VersionError.

    Up to `committed_seq` the log has committed what went straight into the files; None: nobody knows. Then what is
    there counts, and for good: if that cannot be written down the start fails.
    """
    return _Recovery(open_folder(log, stream_id), stream_id, committed_seq).run()


class _Recovery:
    def __init__(self, disk: "Disk", stream_id: int, committed_seq: int | None) -> None:
        self._disk = disk
        self._committed_seq = committed_seq
        self._stream_id = stream_id
        self._reports: list[str] = []
        self._cut = ""
        self._floor = 0
        self._noted: int | None = None  # the newest segment, as meta has it

    def run(self) -> Recovered:
        folder = self._open()
        floor = self._floor
        firsts = first_offsets(self._disk)
        if firsts and floor > firsts[0]:
            self._disk.sync_folder()  # meta alone says so, and may have been renamed just before a kill
        stop = self._missing(folder, firsts)
        tail = self._newest(folder, firsts)
        if self._committed_seq and not self._reports and (tail is None or tail.last_seq < self._committed_seq):
            self._report("its end is missing: messages that were confirmed are lost")
        if len(firsts) > 1 and firsts[1] <= floor:
            while len(firsts) > 1 and firsts[1] <= floor:
                folder.unlink(firsts.pop(0))  # of a removal that was not finished
            self._disk.sync_folder()
        tidy(self._disk, firsts if self._noted is None else [*firsts, self._noted])
        if tail is None:
            floor = self._floor
            if floor:
                self._report(f"no segment is left, and there were messages up to offset {floor}")
            writer = Writer(folder, None, floor, floor, 0, 0, self._noted)
            return Recovered(writer, Segments(), floor, self._reports, self._cut)
        if tail.next_offset < stop:
            tail.next_offset, tail.lost_end = stop, True
        segments = Segments()
        for first in firsts[:-1]:
            segments.put(self._older(folder, first))
        segments.put(Written(tail.first_offset, tail.end, tail.first_ms, tail.timestamp_ms))
        if self._committed_seq is None and tail.straight:
            # It alone says from now on that the last write counts. Readers must not have that before.
            keep_index(folder, tail.active, tail.next_offset, tail.timestamp_ms)
        elif not tail.complete:
            write_index(folder, tail.active, tail.next_offset, tail.timestamp_ms)
        active = None if tail.lost_end else tail.active
        numbers = tail.next_offset, tail.last_seq, tail.timestamp_ms
        writer = Writer(folder, active, floor, *numbers, self._noted)
        return Recovered(writer, segments, tail.last_chunk_offset, self._reports, self._cut)

    # -- the folder ----------------------------------------------------------------------------------------------------

    def _open(self) -> Folder:
        """Return the folder as its meta has it; that is written anew if it is not there or not sound."""
        names = self._disk.names()
        meta = self._meta() if META_NAME in names else None
        if meta is not None and not meta.flags & DELETED:
            self._floor = meta.first_offset
            self._noted = meta.newest
            return Folder.of(self._disk, self._stream_id, meta.log_id)
        if meta is not None:
            remove_files(self._disk)
            self._disk.sync_folder()
        firsts = first_offsets(self._disk)
        if firsts and META_NAME not in names:
            self._report(f"{META_NAME} is missing: messages that were truncated may be back")
        log_id = self._log_id(firsts)
        if log_id is None and firsts:
            for first in firsts:
                self._report(f"{segment_name(first)} is unreadable{set_aside(self._disk, segment_name(first))}")
            firsts = []
        folder = Folder.of(self._disk, self._stream_id, draw() if log_id is None else log_id)
        self._floor = firsts[0] if firsts else 0
        folder.write_meta(self._floor)
        return folder

    def _meta(self) -> Header | None:
        try:
            meta = Header.decode(self._disk.read_file(META_NAME), META_MAGIC)
        except VersionError:
            raise
        except FormatError as error:
            complaint = str(error)
        else:
            if meta.stream_id == self._stream_id:
                return meta
            complaint = "it is that of another stream"
        self._report(f"{META_NAME}: {complaint}{set_aside(self._disk, META_NAME)}")
        return None

    def _log_id(self, firsts: list[int]) -> int | None:
        """Return what the newest sound header says."""
        return next((header.log_id for first in reversed(firsts) if (header := self._header(first))), None)

    def _header(self, first_offset: int) -> Header | None:
        file = self._disk.open(segment_name(first_offset))
        try:
            header = Header.decode(self._disk.read_at(file, 0, HEADER_OCTETS))
        except VersionError:
            raise
        except FormatError:
            return None
        finally:
            self._disk.close(file)
        return header if (header.stream_id, header.first_offset) == (self._stream_id, first_offset) else None

    # -- segments ------------------------------------------------------------------------------------------------------

    def _missing(self, folder: Folder, firsts: list[int]) -> int:
        """Report the newest segment if it is missing; return the offset at which the stream goes on, or behind it.

        Each start does so until there is a new one.
        """
        noted = self._noted
        if noted is None or noted < self._floor or (firsts and firsts[-1] >= noted):
            return self._floor
        synced = Index.read(self._disk, folder.point_seed(noted), noted).synced()
        stop = max(noted, synced.offset) if synced is not None else noted
        what = lost(noted, stop) if stop > noted else "all messages in it are lost"
        self._report(f"{segment_name(noted)} is missing: {what}")
        if not firsts:
            self._floor = stop
        return stop

    def _newest(self, folder: Folder, firsts: list[int]) -> Tail | None:
        """Return what was found in the newest segment, without those behind it in which there is nothing."""
        while firsts:
            first = firsts[-1]
            tail = scan_tail(folder, first, committed_seq=self._committed_seq)
            if tail.next_offset > first or (tail.sound and (len(firsts) == 1 or first <= self._floor)):
                tail.reach(max(self._floor, self._noted if self._noted is not None and self._noted > first else 0))
                for report in tail.reports:
                    self._report(f"{segment_name(first)}, {report}")
                if tail.torn:
                    self._cut = (
                        f"stream {self._stream_id} ended in an incomplete, unconfirmed write: truncated "
                        f"{tail.torn} octets of {segment_name(first)}"
                    )
                tail.mend()
                return tail
            if len(firsts) == 1 and first > self._floor:
                # An empty one, to which no message was written before its header was damaged: offsets go on.
                self._floor = first
                folder.write_meta(first, self._noted)
            if first == self._noted:
                self._report(f"{segment_name(first)} is unreadable{set_aside(self._disk, segment_name(first))}")
            # Else its first write was not finished. Offsets come again, so its name must be gone for good.
            folder.unlink(first)
            self._disk.sync_folder()
            firsts.pop()
        return None

    def _older(self, folder: Folder, first_offset: int) -> Written:
        """Return what the index says of a segment; it is read if there is none."""
        octets = self._disk.size_of(segment_name(first_offset))
        index = Index.read(self._disk, folder.point_seed(first_offset), first_offset, 2 * POINT_OCTETS)
        start, synced = index.point(1), index.synced()
        if start is not None and synced is not None:
            return Written(first_offset, octets, start.timestamp_ms, synced.timestamp_ms)
        tail = scan_tail(folder, first_offset, whole=True)
        write_index(folder, tail.active, tail.next_offset, tail.timestamp_ms)
        return Written(first_offset, octets, tail.first_ms, tail.timestamp_ms)

    def _report(self, text: str) -> None:
        self._reports.append(f"stream {self._stream_id} is damaged: {text}")
