"""Repair of streams: damaged segments are written anew, with gaps where messages are lost. No node runs on them.

A start mends torn ends and makes indexes by itself; but damage stays in its segment, and readers meet it each time.
"""

from typing import TYPE_CHECKING, Final

from pybroker.store.disk import DiskError
from pybroker.store.recovery.quarantine import QUARANTINE
from pybroker.store.sectors import Sectors
from pybroker.store.streams.cursor import Cursor
from pybroker.store.streams.folder import first_offsets, stream_ids, unlink
from pybroker.store.streams.format import HEADER_OCTETS, encode_gap, index_name, segment_name
from pybroker.store.streams.recovery import recover
from pybroker.store.streams.tail import lost, scan_tail
from pybroker.store.tools.scrub import Scrub
from pybroker.store.tools.stream_scrub import has_sound_index, scrub_streams

if TYPE_CHECKING:
    from collections.abc import Generator

    from pybroker.store.disk import Disk
    from pybroker.store.streams.folder import Folder
    from pybroker.store.streams.straight import CommittedSeqs
    from pybroker.store.streams.tail import Tail

# Suffix of a segment that is written anew, until it is whole; what a kill left of it goes at the next start.
NEW_SUFFIX: Final = ".new"
# Written and synced in pieces of this size.
WRITE_OCTETS: Final = 4_194_304


def repair_streams(
    log: "Disk", committed: "CommittedSeqs | None" = None
) -> "Generator[tuple[int, int], None, list[str]]":
    """Repair all streams in the folder of the log; return a sentence for each fault. Raises DiskError, VersionError.

    `committed` is what the log has committed of them, if that is known.
    """
    scrub = Scrub()
    yield from scrub_streams(log, scrub, running=False)
    # A start makes indexes again without a word, since nothing is lost with them.
    done = [text for text in scrub.damage if "its index is damaged" in text]
    streams = stream_ids(log)
    for number, stream_id in enumerate(streams):
        yield number, len(streams)
        # Damage in segments is told when it is taken out.
        found = recover(log, stream_id, committed.of(stream_id) if committed is not None else None)
        done += [report for report in found.reports if ".log, " not in report]
        if found.cut:
            done.append(found.cut)
        folder, end = found.writer.folder, found.writer.next_offset
        firsts = first_offsets(folder.disk)
        for at, first in enumerate(firsts, 1):
            stop = firsts[at] if at < len(firsts) else end
            told = _repaired(folder, first, stop)
            done += [f"stream {stream_id} is damaged: {segment_name(first)}, {text}" for text in told]
            yield number, len(streams)
        found.writer.note(firsts[-1] if firsts else None)  # one that is missing was told of
        recover(log, stream_id)  # which makes indexes again
    return done


def _repaired(folder: "Folder", first: int, stop: int) -> list[str]:
    """Write a segment anew if it is damaged, or does not reach up to where the next one begins; say what was."""
    tail = scan_tail(folder, first, whole=True)
    short = tail.next_offset < stop or tail.lost_end
    told: list[str] = []
    if tail.reports or short or not tail.sound:
        _forget_index(folder, first)
        told = _write_anew(folder, tail, stop)
        if not tail.sound:
            told.append("its header is damaged: nothing is lost")
    elif not has_sound_index(folder, first):
        _forget_index(folder, first)
    return told


def _forget_index(folder: "Folder", first: int) -> None:
    """Remove an index: gone from disk when this returns, since places change."""
    unlink(folder.disk, index_name(first))
    folder.disk.sync_folder()


def _write_anew(folder: "Folder", tail: "Tail", stop: int) -> list[str]:
    """Write sound chunks into a new file, and gaps between them; it takes the name when all of it is on disk."""
    disk, first = folder.disk, tail.first_offset
    name = segment_name(first)
    unlink(disk, name + NEW_SUFFIX)
    source = disk.open(name)
    try:
        target = disk.create(name + NEW_SUFFIX)
        try:
            told = _copy(folder, Sectors(disk, source), disk.size(source), target, first, stop)
        finally:
            disk.close(target)
    finally:
        disk.close(source)
    disk.rename(name + NEW_SUFFIX, name)
    disk.sync_folder()
    return told


def _copy(folder: "Folder", sectors: Sectors, size: int, target: int, first: int, stop: int) -> list[str]:
    """Copy sound chunks up to the offset `stop`; damaged octets go to quarantine."""
    disk, told = folder.disk, []
    cursor = Cursor(sectors.read, folder.seed, HEADER_OCTETS, size)
    expected, last_seq, timestamp_ms = first, 0, 0
    parts, written, position = [folder.header(first, 0, 0)], 0, HEADER_OCTETS
    while expected < stop:
        at = cursor.position
        front = cursor.sound(expected)
        if front is None:
            front = cursor.next_sound(expected)
            behind = stop if front is None else min(front.first_offset, stop)
            octets = cursor.position - at
            told.append(f"{octets} octets at {at}: {lost(expected, behind)}{_kept(folder, sectors, first, at, octets)}")
            if behind > expected:
                count = behind - expected
                parts.append(encode_gap(expected, count, last_seq, timestamp_ms, folder.seed, begins=False))
                expected = behind
        if front is not None and expected < stop:
            parts.append(cursor.octets(front))
            expected, last_seq, timestamp_ms = front.next_offset, front.last_seq, front.timestamp_ms
            cursor.position += front.octets
        position += len(parts[-1])
        if position - written >= WRITE_OCTETS:
            disk.write_at(target, written, b"".join(parts))
            disk.sync(target)
            written, parts = position, []
    disk.write_at(target, written, b"".join(parts))
    disk.sync(target)
    return told


def _kept(folder: "Folder", sectors: Sectors, first: int, at: int, octets: int) -> str:
    """Keep damaged octets aside; return a clause that says where."""
    if octets <= 0:
        return ""
    name = f"{first:020d}.{at:x}"
    try:
        folder.disk.below(QUARANTINE).write_file(name, sectors.read(at, octets))
    except DiskError as error:
        return f", which could not be kept: {error}"
    return f", kept as {QUARANTINE}/{name}"
