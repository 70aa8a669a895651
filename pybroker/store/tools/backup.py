"""Backup: a copy of a data folder as of one moment, made while the node goes on, with a checksum for each file.

    backup/MANIFEST.json           what is there: name, octets and CRC-32C of each file; its own CRC-32C at the end
    backup/definitions.json        a snapshot of the definitions (snapshot.py)
    backup/groups/local/seg.*      segments, up to the last batch that was on disk at that moment
    backup/groups/local/ckpt.*     the checkpoint of that moment
    backup/groups/local/streams/   the streams, without what came after that moment (stream_copy.py)

The moment of the log is taken first, the definitions are read after it: the queue of every message in the log had been
on disk before. Nouns that are deleted between the two are deleted in the backup, as they are in the node. The manifest
is written last, so that a folder without one is no backup.
"""

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from google_crc32c import extend, value as crc32c

from pybroker.store import format as fmt
from pybroker.store.definitions.definition_recovery import NAME as DEFINITIONS, examine, open_definitions
from pybroker.store.definitions.snapshot import NAME as SNAPSHOT, write_snapshot
from pybroker.store.disk import Disk, DiskError
from pybroker.store.log_path import PARTS, log_folder, open_log
from pybroker.store.segments.checkpoint import Checkpoint, checkpoint_name
from pybroker.store.segments.newest import Newest
from pybroker.store.streams.folder import STREAMS, folder_name, remove_stream, stream_ids
from pybroker.store.tools.stream_copy import StreamCopy

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST: Final = "MANIFEST.json"
VERSION: Final = 2
VERSION_WITHOUT_STREAMS: Final = 1
STREAM_PARTS: Final = (*PARTS, STREAMS)
COPY_OCTETS: Final = 1_048_576
# Synced this often: a node beside us waits for the disk behind what was written at once.
SYNC_OCTETS: Final = 4_194_304
_CRC: Final = b'\n"crc32c":"'
_END: Final = b'"}\n'

# Octets done, of how many; what is returned comes at the end.
Work = Generator[tuple[int, int], None, "Manifest"]


class BackupError(Exception):
    """It cannot be made, or is not what it should be; the text is a sentence for the operator."""


class Moment(NamedTuple):
    """Files that a node holds still for a backup: the checkpoint's position; segments and their octets (0: all)."""

    node: str
    commit_position: int
    segments: tuple[tuple[int, int], ...]


class File(NamedTuple):
    """One file of a backup; `name` with slashes."""

    name: str
    octets: int
    crc32c: str


class Manifest(NamedTuple):
    """The manifest of a backup. `created_ms` is wall time, `definitions` how many there are."""

    node: str
    created_ms: int
    ticket: int
    definitions: int
    files: tuple[File, ...]

    @property
    def octets(self) -> int:
        """Return the size of all files together."""
        return sum(file.octets for file in self.files)

    def encode(self) -> bytes:
        """Return the octets of the file."""
        has_streams = any(file.name.startswith("/".join((*STREAM_PARTS, ""))) for file in self.files)
        # One without streams can be restored by programs that know none.
        head = {"pybroker_backup": VERSION if has_streams else VERSION_WITHOUT_STREAMS, **self._asdict()}
        files = head.pop("files")
        lines = [f"{json.dumps(name)}:{json.dumps(value)}" for name, value in head.items()]
        lines.append('"files":[' + ",".join("\n" + json.dumps(file._asdict()) for file in files) + "]")
        octets = ("{" + ",\n".join(lines) + ",").encode()
        return octets + _CRC + b"%08x" % crc32c(octets) + _END

    @classmethod
    def decode(cls, octets: bytes) -> "Manifest":
        """Read it. Raises BackupError."""
        at = octets.rfind(_CRC)
        if at < 0 or octets[at:] != _CRC + b"%08x" % crc32c(octets[:at]) + _END:
            raise _damaged(f"{MANIFEST} is damaged: checksum mismatch")
        found = json.loads(octets)
        version = found.pop("pybroker_backup")
        if version > VERSION:
            raise BackupError(
                f"the backup has version {version}, but this program supports only up to {VERSION}: use a newer one"
            )
        del found["crc32c"]
        return cls(**{**found, "files": tuple(File(**file) for file in found["files"])})


def create(data: "Path", target: "Path", moment: Moment, now_ms: int) -> Work:
    """Copy a data folder into the folder `target`, which is empty or not there. Raises BackupError, DiskError.

    The node keeps everything that `moment` names where it is. Nothing stays of a backup that could not be finished.
    """
    if target.resolve().is_relative_to(data.resolve()):
        raise BackupError(f"the backup folder must not be inside the data folder {data}")
    root = _emptied(target)
    finished = False
    try:
        log, copy = log_folder(data), open_log(root)
        files: list[File] = []
        source = Disk(log)
        names = [
            (fmt.segment_name(number), used or source.size_of(fmt.segment_name(number)))
            for number, used in moment.segments
        ]
        open_ones = {fmt.segment_name(number) for number, used in moment.segments if used}
        # Read at once: a node that stops writes a last one under the same name.
        checkpoint = source.read_file(checkpoint_name(moment.commit_position))
        names.append((checkpoint_name(moment.commit_position), len(checkpoint)))
        with closing(StreamCopy(source, _next_seq(checkpoint))) as streams:
            total = sum(octets for _, octets in names) + streams.octets()
            done = 0
            for name, octets in names:
                parts = _first(source, name, octets) if fmt.segment_number(name) else iter((checkpoint,))
                if name in open_ones:
                    parts = _ended(parts, octets)
                copied, crc = yield from _taken(_written(copy, name, parts), done, total)
                if copied != octets:
                    raise BackupError(f"{name} ends after {copied} of {octets} octets")
                done += octets
                files.append(File("/".join((*PARTS, name)), octets, f"{crc:08x}"))
            copy.sync_folder()
            yield from _copy_streams(streams, copy, files, done, total)
        definitions = _take_definitions(data, root, files)
        manifest = Manifest(moment.node, now_ms, moment.commit_position, definitions, tuple(files))
        root.write_file(MANIFEST, manifest.encode())
        finished = True
    finally:
        if not finished:
            _remove(root)
    return manifest


def _next_seq(checkpoint: bytes) -> int:
    """Return the seq that the log of the backup gives next. Raises BackupError."""
    try:
        return Checkpoint.decode(checkpoint).next_seq
    except fmt.FormatError as error:
        raise BackupError(f"the checkpoint of the moment is damaged: {error}") from error


def _copy_streams(
    streams: StreamCopy, copy: Disk, files: list[File], done: int, total: int
) -> Generator[tuple[int, int], None, None]:
    """Copy all streams, and note their files."""
    folders: dict[int, Disk] = {}
    for part in streams.parts():
        if part.stream_id not in folders:
            folders[part.stream_id] = copy.below(STREAMS).below(folder_name(part.stream_id))
        written = _written(folders[part.stream_id], part.name, streams.read(part))
        octets, crc = yield from _taken(written, min(done, total), total)
        if octets != part.octets:
            raise BackupError(f"{part.name} of stream {part.stream_id} ends after {octets} of {part.octets} octets")
        done += octets
        files.append(File("/".join((*STREAM_PARTS, folder_name(part.stream_id), part.name)), octets, f"{crc:08x}"))
    for folder in folders.values():
        folder.sync_folder()


def check(folder: "Path") -> Work:
    """Read all files of a backup and compare them with its manifest. Raises BackupError, DiskError."""
    manifest = read_manifest(folder)
    done, total = 0, manifest.octets
    for file in manifest.files:
        octets, crc = yield from _taken(_parts(folder, file), done, total)
        _compare(file, octets, crc)
        done += octets
    return manifest


def restore(folder: "Path", data: "Path") -> Work:
    """Copy a backup into a data folder that holds nothing yet, and make its definitions ready for a start.

    Raises BackupError, DiskError; then nothing stays in the data folder of what was copied.
    """
    manifest = read_manifest(folder)
    root = Disk(data)
    finished = False
    try:
        done, total = 0, manifest.octets
        log = open_log(root)
        folders = {(): root, PARTS: log}
        for file in manifest.files:
            *parents, name = file.name.split("/")
            if not _is_a_place(tuple(parents)) or not name or name.startswith("."):
                raise BackupError(f"{MANIFEST} lists {file.name}, which is not a file of a backup")
            written = _written(_folder_of(folders, tuple(parents)), name, _parts(folder, file))
            octets, crc = yield from _taken(written, done, total)
            _compare(file, octets, crc)
            done += octets
        for each in folders.values():
            each.sync_folder()
        Newest(root).write(max([fmt.segment_number(name) or 0 for name in log.names()], default=0))
        open_definitions(root).file.close()
        finished = True
    finally:
        if not finished:
            _remove(root)
    return manifest


def _folder_of(folders: dict[tuple[str, ...], Disk], parents: tuple[str, ...]) -> Disk:
    """Return a folder of a backup that is restored, made if it was not there."""
    if parents not in folders:
        folders[parents] = _folder_of(folders, parents[:-1]).below(parents[-1])
    return folders[parents]


def _is_a_place(parents: tuple[str, ...]) -> bool:
    """Tell whether a backup has files in this folder."""
    if parents in {(), PARTS}:
        return True
    *above, stream = parents
    return tuple(above) == STREAM_PARTS and len(stream) == 16 and not stream.strip("0123456789abcdef")


def read_manifest(folder: "Path") -> Manifest:
    """Return what a backup says of itself. Raises BackupError."""
    if not folder.is_dir():
        raise BackupError(f"the folder {folder} does not exist")
    disk = Disk(folder)
    if MANIFEST not in disk.names():
        raise BackupError(f"{folder} is not a complete backup: it has no {MANIFEST}, which is written last")
    return Manifest.decode(disk.read_file(MANIFEST))


def _take_definitions(data: "Path", root: Disk, files: list[File]) -> int:
    """Write a snapshot of the definitions as they are now; return how many there are."""
    found = examine(data / DEFINITIONS)
    if found.state is None:
        raise BackupError(f"the definitions cannot be copied: {found.faults[0]}")
    write_snapshot(root, found.rows.values(), found.state)
    octets = root.read_file(SNAPSHOT)
    files.append(File(SNAPSHOT, len(octets), f"{crc32c(octets):08x}"))
    return len(found.rows)


def _emptied(target: "Path") -> Disk:
    """Return the folder, made if need be. Raises BackupError: there is something in it."""
    if target.is_dir() and any(path.is_file() for path in target.rglob("*")):
        raise BackupError(f"{target} is not empty: a backup needs an empty folder")
    if target.exists() and not target.is_dir():
        raise BackupError(f"{target} is not a folder")
    if not target.parent.is_dir():
        raise BackupError(f"the parent folder {target.parent} does not exist")
    return Disk(target.parent).below(target.name)


def _first(disk: Disk, name: str, octets: int) -> Iterator[bytes]:
    """Yield the first octets of a file, fewer where it ends."""
    file = disk.open(name)
    try:
        for at in range(0, octets, COPY_OCTETS):
            yield disk.read_at(file, at, min(COPY_OCTETS, octets - at))
    finally:
        disk.close(file)


def _ended(parts: Iterator[bytes], octets: int) -> Iterator[bytes]:
    """Yield the octets of a segment that is still written, ending here: so its header says, else its end is missed."""
    first = next(parts, b"")
    with suppress(fmt.FormatError):  # what is damaged is copied as it is
        first = fmt.of_size(first[: fmt.HEADER_OCTETS], octets) + first[fmt.HEADER_OCTETS :]
    yield first
    yield from parts


def _written(target: Disk, name: str, parts: Iterator[bytes]) -> Iterator[bytes]:
    """Write a new file, and yield each part that is written; on disk at the end."""
    file = target.create(name)
    try:
        at = 0
        for part in parts:
            target.write_at(file, at, part)
            at += len(part)
            if at % SYNC_OCTETS < len(part):
                target.sync(file)
            yield part
        target.sync(file)
    finally:
        target.close(file)


def _taken(parts: Iterator[bytes], done: int, total: int) -> Generator[tuple[int, int], None, tuple[int, int]]:
    """Take all parts of a file, say after each how far that is; return how many octets these were, and their crc."""
    crc = octets = 0
    for part in parts:
        crc = extend(crc, part)
        octets += len(part)
        yield done + octets, total
    return octets, crc


def _parts(folder: "Path", file: File) -> Iterator[bytes]:
    """Yield the octets of a file of a backup. Raises BackupError: it is not there."""
    path = folder / file.name
    disk = Disk(path.parent)
    if not path.is_file():
        raise _damaged(f"{file.name} is missing")
    opened = disk.open(path.name)
    try:
        at = 0
        while part := disk.read_at(opened, at, COPY_OCTETS):
            at += len(part)
            yield part
    finally:
        disk.close(opened)


def _compare(file: File, octets: int, crc: int) -> None:
    if octets != file.octets:
        raise _damaged(f"{file.name} has {octets} octets instead of {file.octets}")
    if f"{crc:08x}" != file.crc32c:
        raise _damaged(f"{file.name} is damaged: checksum mismatch")


def _damaged(text: str) -> BackupError:
    """Return the error for a file of a backup that is not what was written, or not there."""
    return BackupError(f"the backup is damaged and must not be restored: {text}")


def _remove(root: Disk) -> None:
    """Remove written files as far as possible, so that nobody finds half a backup."""
    folder = log_folder(root.root)
    try:
        if folder.is_dir():
            log = Disk(folder)
            for stream_id in stream_ids(log):
                remove_stream(log, stream_id)
            for name in log.names():
                log.unlink(name)
        for name in root.names():
            if name == MANIFEST or name.startswith(SNAPSHOT.partition(".")[0]):
                root.unlink(name)
    except DiskError:
        return


def as_moment(found: Mapping[str, Any]) -> Moment:
    """Return what a node said of its moment."""
    return Moment(found["node"], found["ticket"], tuple((number, used) for number, used in found["segments"]))
