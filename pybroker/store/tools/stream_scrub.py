"""Verification of streams: reads all of their segments, changes nothing, and reports what is not as it was written."""

from typing import TYPE_CHECKING

from pybroker.store.disk import DiskError
from pybroker.store.format import FormatError, VersionError
from pybroker.store.streams.folder import STREAMS, Folder, first_offsets, folder_name, stream_ids
from pybroker.store.streams.format import DELETED, META_MAGIC, META_NAME, POINT_OCTETS, Header, segment_name
from pybroker.store.streams.index import Index
from pybroker.store.streams.tail import lost, scan_tail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.store.disk import Disk
    from pybroker.store.tools.scrub import Scrub, Steps


def scrub_streams(log: "Disk", scrub: "Scrub", *, running: bool) -> "Steps":
    """Read every segment of every stream in the folder of the log. Raises DiskError, VersionError.

    While a node is `running` its streams grow, and segments go: each is read up to where it is known to be on disk.
    """
    streams = log.folder(STREAMS)
    if streams is None:
        return
    found = [(stream_id, streams.folder(folder_name(stream_id))) for stream_id in stream_ids(log)]
    folders = [_Stream(stream_id, disk) for stream_id, disk in found if disk is not None]
    sizes = [stream.octets() for stream in folders]
    done, total = 0, sum(sizes)
    for stream, size in zip(folders, sizes, strict=True):
        try:
            for octets in stream.read(scrub, running=running):
                yield min(done + octets, total), total
        except DiskError as error:
            if not running or not error.missing:
                raise
        done += size
    scrub.octets += total


class _Stream:
    """One stream while it is read."""

    def __init__(self, stream_id: int, disk: "Disk") -> None:
        self._stream_id = stream_id
        self._disk = disk
        self._name = f"{STREAMS}/{folder_name(stream_id)}"

    def octets(self) -> int:
        """Return how much its segments have, as far as they are there."""
        octets = 0
        try:
            for first in first_offsets(self._disk):
                octets += self._disk.size_of(segment_name(first))
        except DiskError as error:
            if not error.missing:
                raise
        return octets

    def read(self, scrub: "Scrub", *, running: bool) -> "Iterator[int]":
        """Read all segments; yield how many octets were read."""
        disk = self._disk
        meta = self._meta(scrub)
        if meta is None:
            return
        scrub.streams += 1
        folder = Folder.of(disk, self._stream_id, meta.log_id)
        firsts = first_offsets(disk)
        if meta.flags & DELETED:
            scrub.notes.append(f"{self._name} was being deleted: the next start finishes that")
            return
        if not firsts and meta.first_offset:
            scrub.damage.append(f"{self._name}: no segment is left")
        elif meta.newest is not None and (not firsts or firsts[-1] < meta.newest):
            scrub.damage.append(f"{self._name}/{segment_name(meta.newest)} is missing")
        done = 0
        for number, first in enumerate(firsts, 1):
            stop = firsts[number] if number < len(firsts) else None
            done += self._segment(scrub, folder, first, stop, running=running)
            yield done

    def _meta(self, scrub: "Scrub") -> Header | None:
        if META_NAME not in self._disk.names():
            if first_offsets(self._disk):
                scrub.damage.append(f"{self._name}/{META_NAME} is missing")
            return None
        try:
            meta = Header.decode(self._disk.read_file(META_NAME), META_MAGIC)
        except VersionError:
            raise
        except FormatError as error:
            scrub.damage.append(f"{self._name}/{META_NAME}: {error}")
            return None
        if meta.stream_id != self._stream_id:
            scrub.damage.append(f"{self._name}/{META_NAME}: it is that of another stream")
            return None
        return meta

    def _segment(self, scrub: "Scrub", folder: Folder, first: int, stop: int | None, *, running: bool) -> int:
        """Read one segment, `stop` is where the next one begins; return its octets."""
        disk, name = self._disk, f"{self._name}/{segment_name(first)}"
        synced = Index.read(disk, folder.point_seed(first), first, POINT_OCTETS).synced()
        growing = running and stop is None
        if growing and synced is None:
            return 0
        try:
            octets = disk.size_of(segment_name(first))
            tail = scan_tail(folder, first, whole=True, size=synced.position if growing and synced else None)
        except DiskError as error:
            if running and error.missing:
                return 0  # it was too old
            raise
        reports = list(tail.reports)
        if stop is not None and tail.next_offset < stop and not tail.lost_end:
            reports.append(f"its end is missing: {lost(tail.next_offset, stop)}")
        if not tail.found and not tail.sound:
            if stop is None and not tail.lost_end:
                scrub.notes.append(f"{name} has no complete chunk: the next start removes it")
            else:
                reports.append("its header is damaged")
        elif stop is None and tail.torn and not growing:
            scrub.notes.append(
                f"{name} ends in an incomplete, unconfirmed write ({tail.torn} octets): the next start truncates it"
            )
        if not growing and not has_sound_index(folder, first):
            reports.append("its index is damaged: nothing is lost")
        scrub.damage += [f"{name}: {report}" for report in reports]
        scrub.segments += 1
        scrub.messages += tail.messages
        return octets


def has_sound_index(folder: Folder, first_offset: int) -> bool:
    """Tell whether all points of a segment's index are sound; one that is not there will be made."""
    index = Index.read(folder.disk, folder.point_seed(first_offset), first_offset)
    return not index.count or (
        index.synced() is not None and all(index.point(number) is not None for number in range(1, index.count))
    )
