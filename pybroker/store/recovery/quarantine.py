"""Quarantine: the folder beside the log where octets are kept that are damaged. Nobody reads them again but people."""

import json
from typing import TYPE_CHECKING, Final

from pybroker.store import format as fmt
from pybroker.store.disk import DiskError

if TYPE_CHECKING:
    from pybroker.store.disk import Disk
    from pybroker.store.segments.live_index import Missing
    from pybroker.store.segments.scan import Damaged
    from pybroker.store.segments.segment import SegmentFile

QUARANTINE: Final = "quarantine"


def quarantine(disk: "Disk", file: "SegmentFile", damaged: "Damaged") -> str:
    """Keep damaged octets aside; return what they were."""
    what = {
        fmt.PUBLISH: "messages in it are lost",
        fmt.SETTLE: "acknowledged messages may be delivered again",
        fmt.TARGETS: "messages after it may be lost",
        fmt.BATCH: "nothing is lost",
    }.get(damaged.type, "its contents are unknown")
    kept = ""
    if damaged.octets:
        name = f"{file.number:016x}.{damaged.offset:x}"
        try:
            disk.below(QUARANTINE).write_file(name, file.read(damaged.offset, damaged.octets))
            kept = f", kept as {QUARANTINE}/{name}"
        except DiskError as error:
            kept = f", which could not be kept: {error}"
    return (
        f"the log is damaged: segment {file.number:x}, {damaged.octets} octets at {damaged.offset}, "
        f"{fmt.TYPE_NAMES[damaged.type]}: {what}{kept}"
    )


def set_aside(disk: "Disk", name: str) -> str:
    """Move a whole file into quarantine; return a clause that says where it is. Raises DiskError."""
    aside = disk.below(QUARANTINE)
    octets = disk.read_file(name)
    aside.write_file(name, octets)
    disk.unlink(name)
    disk.sync_folder()
    return f", kept as {QUARANTINE}/{name}"


def note_missing(disk: "Disk", missing: "Missing") -> str:
    """Keep a note of what was in a segment that is missing; return a sentence."""
    name = f"missing.{missing.name}.json"
    try:
        disk.below(QUARANTINE).write_file(name, json.dumps({"segment": missing.name, "live": missing.live}).encode())
    except DiskError as error:
        noted = f", which could not be recorded: {error}"
    else:
        noted = f", recorded in {QUARANTINE}/{name}"
    what = f"{sum(missing.live.values())} messages" if missing.live else "an unknown number of messages"
    return f"the log is damaged: segment {missing.name} is missing, and {what} in it{noted}"
