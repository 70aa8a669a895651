"""Epoch: the random number that the crc of each record of a log begins from (format.py: seed), and where it is known.

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

# An epoch fits a segment if one of its records is found in so many octets.
TRIED_OCTETS: Final = 1_048_576


class Known(NamedTuple):
    """A log's epoch, `told` by its files or drawn; its sound checkpoints, newest first; a sentence for what is not."""

    epoch: int
    told: bool
    checkpoints: "list[Checkpoint]"
    complaints: list[str]


def draw() -> int:
    """Return the epoch of a new log."""
    return int.from_bytes(os.urandom(4))


def find(disk: "Disk") -> Known:
    """Ask headers and checkpoints for the epoch, and believe most of them.

    If all are damaged the number may still be right that stands in one: its records show that. Raises VersionError for
    what a newer program wrote.
    """
    sound, complaints = checkpoints.newest(disk)
    segments = [name for name in disk.names() if fmt.segment_number(name) is not None]
    headers = {name: octets for name in segments if (octets := _start(disk, name, fmt.HEADER_OCTETS))}
    told = Counter([*[each.epoch for each in sound], *_sound(headers)])
    if told:
        epoch: int | None = told.most_common(1)[0][0]
    else:
        raw = Counter([*_raw_of_checkpoints(disk), *[_at(octets, fmt.EPOCH_AT) for octets in headers.values()]])
        tried = (each for each, _ in raw.most_common() if any(_fits(disk, name, each) for name in segments))
        epoch = next(tried, None)
        if epoch is None and segments:
            complaints.append("the epoch of the log is in no segment and no checkpoint: the log is unreadable")
    for each in sound:
        if each.epoch != epoch:
            complaints.append(
                f"checkpoint {checkpoint_name(each.commit_position)} is ignored: it belongs to another log"
            )
    valid = [each for each in sound if each.epoch == epoch]
    return Known(draw() if epoch is None else epoch, epoch is not None, valid, complaints)


def _sound(headers: dict[str, bytes]) -> "Iterator[int]":
    """Yield the epochs of sound headers; readers of the segments report what is wrong with others."""
    for octets in headers.values():
        try:
            yield fmt.SegmentHeader.decode(octets).epoch
        except fmt.VersionError:
            raise
        except fmt.FormatError:
            continue


def _raw_of_checkpoints(disk: "Disk") -> "Iterator[int]":
    for name in disk.names():
        if checkpoint_commit_position(name) is not None:
            yield _at(_start(disk, name, checkpoints.EPOCH_AT + 4), checkpoints.EPOCH_AT)


def _at(octets: bytes, offset: int) -> int:
    """Return the number that stands there, whatever is left of it."""
    return int.from_bytes(octets[offset : offset + 4], "little")


def _fits(disk: "Disk", name: str, epoch: int) -> bool:
    number = fmt.segment_number(name)
    assert number is not None
    octets = _start(disk, name, TRIED_OCTETS)
    found = Scanner(fmt.seed(epoch, number), fmt.HEADER_OCTETS).feed(octets[fmt.HEADER_OCTETS :])
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
