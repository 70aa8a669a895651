"""Folder: the files of one stream, as all jobs on them share them. Nothing in it changes."""

from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.store.disk import DiskError
from pybroker.store.recovery.quarantine import QUARANTINE
from pybroker.store.streams.format import (
    DELETED,
    INDEX_SUFFIX,
    META_MAGIC,
    META_NAME,
    Header,
    chunk_seed,
    first_offset_of,
    index_name,
    point_seed,
    segment_name,
)

if TYPE_CHECKING:
    from pybroker.store.disk import Disk

# Below the folder of the log.
STREAMS: Final = "streams"


class Folder(NamedTuple):
    """A stream's place on disk. Its `log_id` is a random number; `seed` is what the crc of each chunk starts from."""

    disk: "Disk"
    stream_id: int
    log_id: int
    seed: int

    @classmethod
    def of(cls, disk: "Disk", stream_id: int, log_id: int) -> "Folder":
        """Return it with the seed that follows."""
        return cls(disk, stream_id, log_id, chunk_seed(log_id, stream_id))

    def point_seed(self, first_offset: int) -> int:
        """Return what the crc of each point in the index of this segment starts from."""
        return point_seed(self.log_id, self.stream_id, first_offset)

    def header(self, first_offset: int, last_seq: int, timestamp_ms: int) -> bytes:
        """Return the first octets of a segment."""
        return Header(self.log_id, self.stream_id, first_offset, last_seq, timestamp_ms).encode()

    def write_meta(self, floor: int, newest: int | None = None, *, deleted: bool = False) -> None:
        """Have the floor on disk when this returns, and where the newest segment with messages begins.

        A start that does not find this segment tells of the loss. Raises DiskError.
        """
        noted = 0 if newest is None else newest + 1
        header = Header(self.log_id, self.stream_id, floor, noted, flags=DELETED if deleted else 0)
        self.disk.write_file(META_NAME, header.encode(META_MAGIC))

    def unlink(self, first_offset: int) -> None:
        """Remove a segment and its index. Raises DiskError, not for one that is gone.

        The index goes first: it would speak of a segment that gets the same name.
        """
        for name in (index_name(first_offset), segment_name(first_offset)):
            unlink(self.disk, name)


def folder_name(stream_id: int) -> str:
    """Return the name of a stream's folder."""
    return f"{stream_id:016x}"


def stream_ids(log: "Disk") -> list[int]:
    """Return the ids of all streams that have a folder in that of the log. Raises DiskError."""
    streams = log.folder(STREAMS)
    if streams is None:
        return []
    names = [name for name in streams.folder_names() if len(name) == 16 and not name.strip("0123456789abcdef")]
    return [int(name, 16) for name in names]


def open_folder(log: "Disk", stream_id: int) -> "Disk":
    """Return the folder of a stream, made if there is none; then its name is on disk. Raises DiskError."""
    streams = log.folder(STREAMS)
    found = streams.folder(folder_name(stream_id)) if streams is not None else None
    if found is not None and META_NAME in found.names():  # written when the name of the folder was on disk
        return found
    return log.below(STREAMS).below(folder_name(stream_id))


def set_folder_aside(log: "Disk", stream_id: int) -> str:
    """Move a stream's folder, or what is there instead, into quarantine; return its new place. Raises DiskError."""
    streams, name = log.below(STREAMS), folder_name(stream_id)
    aside = streams.below(QUARANTINE)
    number, taken = 1, {*aside.folder_names(), *aside.names()}
    while f"{name}.{number}" in taken:
        number += 1
    place = f"{QUARANTINE}/{name}.{number}"
    streams.rename(name, place)
    aside.sync_folder()
    streams.sync_folder()
    return f"{STREAMS}/{place}"


def remove_stream(log: "Disk", stream_id: int) -> None:
    """Remove a stream's folder with all that is in it, if there is one: on disk when this returns. Raises DiskError.

    Its meta, which says that it is deleted, goes last: a start that finds it goes on with that.
    """
    streams = log.folder(STREAMS)
    folder = streams.folder(folder_name(stream_id)) if streams is not None else None
    if streams is None or folder is None:
        return
    remove_files(folder)
    folder.sync_folder()
    unlink(folder, META_NAME)
    streams.remove_folder(folder_name(stream_id))
    streams.sync_folder()


def remove_files(folder: "Disk") -> None:
    """Remove all files of a stream but its meta; segments go from the oldest on. Raises DiskError."""
    aside = folder.folder(QUARANTINE)
    if aside is not None:
        for name in aside.names():
            aside.unlink(name)
        folder.remove_folder(QUARANTINE)
    for name in folder.names():
        if name != META_NAME:
            unlink(folder, name)


def unlink(disk: "Disk", name: str) -> None:
    """Remove a file unless it is gone. Raises DiskError."""
    try:
        disk.unlink(name)
    except DiskError as error:
        if not error.missing:
            raise


def first_offsets(disk: "Disk") -> list[int]:
    """Return the first offsets of all segments, ascending. Raises DiskError."""
    return [first for name in disk.names() if (first := first_offset_of(name)) is not None]


def tidy(disk: "Disk", segments: list[int]) -> None:
    """Remove what a kill left: indexes without a segment, files that were not written whole. Raises DiskError."""
    names = {index_name(first) for first in segments}
    left = [
        name
        for name in disk.names()
        if name.endswith(".new") or (first_offset_of(name, INDEX_SUFFIX) is not None and name not in names)
    ]
    for name in left:
        disk.unlink(name)
    if left:
        disk.sync_folder()
