"""Reader: messages read back from segments, in the files thread."""

from functools import partial
from typing import TYPE_CHECKING, Any

from pybroker.store import format as fmt
from pybroker.store.disk import DiskError
from pybroker.store.segment import SegmentFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.run import Run
    from pybroker.store.disk import Disk
    from pybroker.store.ledger import Index
    from pybroker.store.log import Fetched
    from pybroker.store.scan import Damaged
    from pybroker.store.worker import Worker
    from pybroker.stretch import Stretch

    # For each segment: its number, where its records are, and the messages that are wanted of it.
    Wanted = list[tuple[int, Index, Stretch]]


def fetch(
    files: "Worker",
    disk: "Disk",
    epoch: int,
    wanted: "Wanted",
    steady_ms: int,
    complain: "Callable[[str], None]",
    done: "Fetched",
) -> None:
    """Have messages read back, as `read_back` does; `done` is called once with what could be read, ascending by seq.

    A lack of descriptors passes, and what is merely not readable yet must not count as lost: reading is tried again.
    """

    def read(result: Any) -> None:
        if isinstance(result, DiskError) and result.lacks_descriptors:
            files.submit(disk.pause, lambda _: submit())
            return
        if isinstance(result, BaseException):
            result = ([], [f"messages cannot be read: {result}"])
        found, complaints = result
        for text in complaints:
            complain(text)
        done(found)

    def submit() -> None:
        files.submit(partial(read_back, disk, epoch, wanted, steady_ms), read)

    submit()


def read_back(
    disk: "Disk", epoch: int, wanted: "Wanted", steady_ms: int
) -> "tuple[list[tuple[Run, range]], list[str]]":
    """Return the messages that are wanted, ascending by seq, and a sentence for each reason why some are not there.

    `steady_ms` is what the log's time is ahead of the clock's `now_ms`, in which runs know when they arrived.

    Raises DiskError only where no file can be opened for lack of descriptors.
    """
    found: list[tuple[Run, range]] = []
    complaints: list[str] = []
    for number, index, stretch in wanted:
        damages: list[Damaged] = []
        try:
            file = SegmentFile(disk, number, epoch)
            try:
                runs = file.read_publishes(stretch, index, damages.append)
            finally:
                file.close()
        except (DiskError, fmt.FormatError) as error:
            if isinstance(error, DiskError) and error.lacks_descriptors:
                raise
            complaints.append(f"messages in segment {number:x} cannot be read: {error}")
            continue
        for run in {id(run): run for run, _ in runs}.values():
            run.arrived_ms -= steady_ms
        missing = stretch.count - sum(len(indexes) for _, indexes in runs)
        if missing:
            where = ", ".join(f"{each.octets} octets at {each.offset}" for each in damages) or "not found"
            complaints.append(f"{missing} messages in segment {number:x} cannot be read: damaged: {where}")
        found += runs
    found.sort(key=first_seq)
    return found, complaints


def first_seq(part: "tuple[Run, range]") -> int:
    """Return the seq that messages of a run begin with."""
    return part[0].first_seq + part[1].start
