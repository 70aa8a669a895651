"""Quarantine: the folder beside the log where octets are kept that are damaged. Nobody reads them again but people."""

from typing import TYPE_CHECKING, Final

from pybroker.store import format as fmt
from pybroker.store.disk import DiskError

if TYPE_CHECKING:
    from pybroker.store.disk import Disk
    from pybroker.store.scan import Damaged
    from pybroker.store.segment import SegmentFile

QUARANTINE: Final = "quarantine"


def quarantine(disk: "Disk", file: "SegmentFile", damaged: "Damaged") -> str:
    """Keep damaged octets aside; return what they were."""
    what = {
        fmt.PUBLISH: "messages in it are lost",
        fmt.SETTLE: "messages that were acknowledged there may come again",
        fmt.TARGETS: "messages after it may be lost",
        fmt.BATCH: "nothing is lost with it",
    }.get(damaged.type, "what it was cannot be told")
    kept = ""
    if damaged.octets:
        name = f"{file.number:016x}.{damaged.offset:x}"
        try:
            disk.below(QUARANTINE).write_file(name, file.read(damaged.offset, damaged.octets))
            kept = f", kept as {QUARANTINE}/{name}"
        except DiskError as error:
            kept = f", not kept: {error}"
    return (
        f"the log is damaged: segment {file.number:x}, {damaged.octets} octets at {damaged.offset}, "
        f"{fmt.TYPE_NAMES[damaged.type]}: {what}{kept}"
    )
