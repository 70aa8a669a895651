"""Reader: messages read back from segments, in the files thread.

Damaged and missing messages are reported and left out. Messages that cannot be read at the moment (no descriptor is
free, memory is short, the disk does not answer) are asked for again: they are not lost, and a queue waits for them.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from pybroker.store import format as fmt
from pybroker.store.disk import DiskError
from pybroker.store.segments.segment import SegmentFile
from pybroker.store.worker import reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.run import Run
    from pybroker.seq_ranges import SeqRanges
    from pybroker.store.disk import Disk
    from pybroker.store.log import Fetched
    from pybroker.store.segments.live_index import Index
    from pybroker.store.segments.scan import Damaged
    from pybroker.store.worker import Worker

    # For each segment: its number, where its records are, and the messages that are wanted of it.
    Wanted = list[tuple[int, Index, SeqRanges]]

    class Locate(Protocol):
        """Says where they are now: a segment may be written anew, or go, before a read that failed is tried again."""

        def __call__(self, *, again: bool) -> Wanted:
            """Return it, without what is settled if it is asked for again."""


# How long after a read that failed the same is tried again.
RETRY_MS: Final = 1_000


class Reader:
    """Reads the segments of the log with this id.

    `on_unreadable` is called with the reason if messages are left out, `on_late` if they come later, with an empty text
    when they came.
    """

    __slots__ = ("_disk", "_files", "_late", "_log_id", "_tried_ms", "_waiting", "on_late", "on_unreadable")

    def __init__(self, files: "Worker", disk: "Disk", log_id: int) -> None:
        self._files = files
        self._disk = disk
        self._log_id = log_id
        self._waiting: list[tuple[Locate, int, Fetched]] = []
        self._tried_ms = 0
        self._late = ""
        self.on_late: Callable[[str], None] = _nobody
        self.on_unreadable: Callable[[str], None] = _nobody

    def fetch(self, locate: "Locate", steady_ms: int, done: "Fetched", *, again: bool = False) -> None:
        """Have messages read back, as `read_back` does; `done` is called once with what is there, ascending by seq."""
        job = partial(read_back, self._disk, self._log_id, locate(again=again), steady_ms)
        self._files.submit(job, partial(self._read, (locate, steady_ms, done)))

    def _read(self, asked: "tuple[Locate, int, Fetched]", result: Any) -> None:
        # A queue waits for `done`: until it is called, keep the request as one to be tried again, whatever goes wrong.
        self._waiting.append(asked)
        if isinstance(result, BaseException):
            self._tell(f"messages cannot be read now, which is tried again each second: {reason(result)}")
            return
        self._tell("")
        found, complaints = result
        for text in complaints:
            self.on_unreadable(text)
        self._waiting.pop()[2](found)

    def _tell(self, late: str) -> None:
        if late != self._late:
            self._late = late
            self.on_late(late)

    def tick(self, now_ms: int) -> None:
        """Try again what failed."""
        if self._waiting and now_ms - self._tried_ms >= RETRY_MS:
            self._tried_ms = now_ms
            while self._waiting:
                self.fetch(*self._waiting[-1], again=True)
                self._waiting.pop()


def read_back(
    disk: "Disk", log_id: int, wanted: "Wanted", steady_ms: int
) -> "tuple[list[tuple[Run, range]], list[str]]":
    """Return the messages that are wanted, ascending by seq, and a sentence for each reason why some are not there.

    `steady_ms` is what the log's time is ahead of the clock's `now_ms`, in which runs know when they arrived. Raises
    DiskError: they may be there, but cannot be read now.
    """
    found: list[tuple[Run, range]] = []
    complaints: list[str] = []
    for number, index, seq_ranges in wanted:
        damages: list[Damaged] = []
        try:
            file = SegmentFile(disk, number, log_id)
        except DiskError as error:
            if not error.missing:
                raise
            complaints.append(f"{seq_ranges.count} messages are lost: {error}")
            continue
        except fmt.FormatError as error:
            complaints.append(f"messages in segment {number:x} cannot be read: {error}")
            continue
        try:
            runs = file.read_publishes(seq_ranges, index, damages.append)
        finally:
            file.close()
        for run in {id(run): run for run, _ in runs}.values():
            run.arrived_ms -= steady_ms
        missing = seq_ranges.count - sum(len(indexes) for _, indexes in runs)
        if missing:
            where = ", ".join(f"{each.octets} octets at {each.offset}" for each in damages) or "not found"
            complaints.append(f"{missing} messages in segment {number:x} cannot be read: damaged: {where}")
        found += runs
    found.sort(key=first_seq)
    return found, complaints


def first_seq(part: "tuple[Run, range]") -> int:
    """Return the seq that messages of a run begin with."""
    return part[0].first_seq + part[1].start


def _nobody(_: str) -> None:
    """Do nothing; a placeholder for a callback."""
