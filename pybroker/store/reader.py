"""Reader: messages read back from segments, in the files thread."""

from typing import TYPE_CHECKING

from pybroker.store import format as fmt
from pybroker.store.disk import DiskError
from pybroker.store.segment import SegmentFile

if TYPE_CHECKING:
    from pybroker.run import Run
    from pybroker.store.disk import Disk
    from pybroker.store.ledger import Index
    from pybroker.store.scan import Damaged
    from pybroker.stretch import Stretch


def read_back(
    disk: "Disk", wanted: "list[tuple[int, Index, Stretch]]", steady_ms: int
) -> "tuple[list[tuple[Run, range]], list[str]]":
    """Return the messages wanted of each segment number, ascending, and a sentence for each reason why some are not.

    `steady_ms` is what the log's time is ahead of the clock's `now_ms`, in which runs know when they arrived.
    """
    found: list[tuple[Run, range]] = []
    complaints: list[str] = []
    for number, index, stretch in wanted:
        damages: list[Damaged] = []
        try:
            file = SegmentFile(disk, number)
            try:
                runs = file.read_publishes(stretch, index, damages.append)
            finally:
                file.close()
        except (DiskError, fmt.FormatError) as error:
            complaints.append(f"messages in segment {number:x} cannot be read: {error}")
            continue
        for run in {id(run): run for run, _ in runs}.values():
            run.arrived_ms -= steady_ms
        missing = stretch.count - sum(len(indexes) for _, indexes in runs)
        if missing:
            where = ", ".join(f"{each.octets} octets at {each.offset}" for each in damages) or "not found"
            complaints.append(f"{missing} messages in segment {number:x} cannot be read: damaged: {where}")
        found += runs
    return found, complaints
