"""Log id: the random number that the crc of each record of a log begins from (format.py: seed), and where it is known.

A publisher that cannot read the disk does not know it: octets of a message that look like a record are none, also where
damage has the scan look for the next one octet by octet. It is drawn when the log is begun, and never again; each
segment says it in its header and each checkpoint too. A log begins with a checkpoint, so that it stands in two places
as soon as there is a record.
"""

import os
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.store import format as fmt
from pybroker.store.disk import DiskError
from pybroker.store.segments import checkpoint as checkpoints
from pybroker.store.segments.checkpoint import checkpoint_commit_position, checkpoint_name
from pybroker.store.segments.scan import Record, Scanner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.store.disk import Disk
    from pybroker.store.segments.checkpoint import Checkpoint

# A log id fits a segment if one of its records is found in so many octets.
TRIED_OCTETS: Final = 1_048_576


class Known(NamedTuple):
    """The id of a log, `told` by its files or drawn; sound checkpoints, newest first; a sentence for each other one."""

    log_id: int
    told: bool
    checkpoints: "list[Checkpoint]"
    complaints: list[str]


def draw() -> int:
    """Return the id of a new log."""
    return int.from_bytes(os.urandom(4))


def find(disk: "Disk") -> Known:
    """Ask headers and checkpoints for the log id, and believe most of them.

    If all are damaged the number may still be right that stands in one: its records show that. Raises VersionError for
    what a newer program wrote.
    """
    sound, complaints = checkpoints.newest(disk)
    segments = [name for name in disk.names() if fmt.segment_number(name) is not None]
    headers = {name: octets for name in segments if (octets := _start(disk, name, fmt.HEADER_OCTETS))}
    told = Counter([*[each.log_id for each in sound], *_sound(headers)])
    if told:
        log_id: int | None = told.most_common(1)[0][0]
    else:
        raw = Counter([*_raw_of_checkpoints(disk), *[_at(octets, fmt.LOG_ID_AT) for octets in headers.values()]])
        tried = (each for each, _ in raw.most_common() if any(_fits(disk, name, each) for name in segments))
        log_id = next(tried, None)
        if log_id is None and segments:
            complaints.append("the id of the log is in no segment and no checkpoint: the log is unreadable")
    for each in sound:
        if each.log_id != log_id:
            complaints.append(
                f"checkpoint {checkpoint_name(each.commit_position)} is ignored: it belongs to another log"
            )
    valid = [each for each in sound if each.log_id == log_id]
    return Known(draw() if log_id is None else log_id, log_id is not None, valid, complaints)


def _sound(headers: dict[str, bytes]) -> "Iterator[int]":
    """Yield the log ids of sound headers; readers of the segments report what is wrong with others."""
    for octets in headers.values():
        try:
            yield fmt.SegmentHeader.decode(octets).log_id
        except fmt.VersionError:
            raise
        except fmt.FormatError:
            continue


def _raw_of_checkpoints(disk: "Disk") -> "Iterator[int]":
    for name in disk.names():
        if checkpoint_commit_position(name) is not None:
            yield _at(_start(disk, name, checkpoints.LOG_ID_AT + 4), checkpoints.LOG_ID_AT)


def _at(octets: bytes, offset: int) -> int:
    """Return the number that stands there, whatever is left of it."""
    return int.from_bytes(octets[offset : offset + 4], "little")


def _fits(disk: "Disk", name: str, log_id: int) -> bool:
    number = fmt.segment_number(name)
    assert number is not None
    octets = _start(disk, name, TRIED_OCTETS)
    found = Scanner(fmt.seed(log_id, number), fmt.HEADER_OCTETS).feed(octets[fmt.HEADER_OCTETS :])
    return any(isinstance(each, Record) for each in found)


def _start(disk: "Disk", name: str, octets: int) -> bytes:
    """Return the first octets of a file; none if the disk cannot read them."""
    try:
        file = disk.open(name)
        try:
            return disk.read_at(file, 0, octets)
        finally:
            disk.close(file)
    except DiskError:
        return b""
