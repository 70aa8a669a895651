"""Reader: messages read back from segments, in the files thread.

Damaged and missing messages are reported and left out. Messages that cannot be read at the moment (no descriptor is
free, memory is short, the disk does not answer) are asked for again: they are not lost, and a queue waits for them.

Requests that come while something is being read are read together: messages of many queues that came at one time lie
beside each other, and to look for those of each queue alone would read all of them as often as there are queues.
"""

from bisect import bisect_right
from collections import deque
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from pybroker.seq_ranges import SeqRanges
from pybroker.store import format as fmt
from pybroker.store.disk import DiskError
from pybroker.store.segments.segment import SegmentFile
from pybroker.store.worker import reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.run import Run
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
# Bodies and requests that are read together, and requests that are answered in one turn of the loop.
TOGETHER_OCTETS: Final = 2_097_152
TOGETHER_MAX: Final = 256
ANSWERS_MAX: Final = 16


class _Asked(NamedTuple):
    """One request, and whether it was tried before."""

    locate: "Locate"
    steady_ms: int
    done: "Fetched"
    again: bool


class Reader:
    """Reads the segments of the log with this id.

    `on_unreadable` is called with the reason if messages are left out, `on_late` if they come later, with an empty text
    when they came.
    """

    __slots__ = (
        "_asked",
        "_disk",
        "_files",
        "_is_reading",
        "_late",
        "_log_id",
        "_tried_ms",
        "_waiting",
        "on_late",
        "on_unreadable",
    )

    def __init__(self, files: "Worker", disk: "Disk", log_id: int) -> None:
        self._files = files
        self._disk = disk
        self._log_id = log_id
        self._asked: deque[_Asked] = deque()  # until what is being read is there
        self._is_reading = False
        self._waiting: list[_Asked] = []
        self._tried_ms = 0
        self._late = ""
        self.on_late: Callable[[str], None] = _nobody
        self.on_unreadable: Callable[[str], None] = _nobody

    def fetch(self, locate: "Locate", steady_ms: int, done: "Fetched", *, again: bool = False) -> None:
        """Have messages read back, as `read_back` does; `done` is called once with what is there, ascending by seq."""
        self._asked.append(_Asked(locate, steady_ms, done, again))
        if not self._is_reading:
            try:
                self._read_next()
            except BaseException:
                # The caller learns of it, and asks again.
                self._asked.pop()
                raise

    def _read_next(self, *, waited: bool = False) -> None:
        """Read what was asked for longest, and with it others that are to have the same time.

        Of what waited something may be settled by now, and its segment written anew.
        """
        together: list[_Asked] = []
        wanted: list[Wanted] = []
        octets = 0
        steady_ms = self._asked[0].steady_ms
        for asked in self._asked:
            if octets >= TOGETHER_OCTETS or len(together) >= TOGETHER_MAX or asked.steady_ms != steady_ms:
                break
            located = asked.locate(again=asked.again or waited)
            octets += sum(seq_ranges.octets for _, _, seq_ranges in located)
            together.append(asked)
            wanted.append(located)
        job = partial(read_together, self._disk, self._log_id, wanted, steady_ms)
        before = self._asked
        try:
            self._asked = deque(islice(before, len(together), None))
            self._is_reading = True
            # Comes last: nobody may be answered twice.
            self._files.submit(job, partial(self._read, together))
        except BaseException:
            self._asked, self._is_reading = before, False
            raise

    def _read(self, together: list[_Asked], result: Any) -> None:
        # A queue waits for `done`: until it is called, keep the request as one to be tried again, whatever goes wrong.
        self._waiting += reversed(together)
        left = 0
        try:
            if isinstance(result, BaseException):
                self._tell(f"messages cannot be read now, which is tried again each second: {reason(result)}")
                return
            self._tell("")
            found, complaints = result
            for text in complaints:
                self.on_unreadable(text)
            if len(found) > ANSWERS_MAX:
                others: Any = found[ANSWERS_MAX:], []
                self._files.submit(lambda: others, partial(self._read, together[ANSWERS_MAX:]))
                left = len(found) - ANSWERS_MAX
                del self._waiting[len(self._waiting) - len(found) : -ANSWERS_MAX]
            for mine in found[:ANSWERS_MAX]:
                self._waiting.pop().done(mine)
        finally:
            if not left:
                self._is_reading = False
                if self._asked:
                    self._read_next(waited=True)

    def _tell(self, late: str) -> None:
        if late != self._late:
            self._late = late
            self.on_late(late)

    def tick(self, now_ms: int) -> None:
        """Try again what failed."""
        if self._waiting and now_ms - self._tried_ms >= RETRY_MS:
            self._tried_ms = now_ms
            while self._waiting:
                self.fetch(*self._waiting[-1][:3], again=True)
                self._waiting.pop()
        if self._asked and not self._is_reading:
            self._read_next(waited=True)  # for want of memory it was not begun


def read_together(
    disk: "Disk", log_id: int, wanted: "list[Wanted]", steady_ms: int
) -> "tuple[list[list[tuple[Run, range]]], list[str]]":
    """Return what `read_back` does for each of several, of which each segment is read once."""
    if len(wanted) == 1:
        found, complaints = read_back(disk, log_id, wanted[0], steady_ms)
        return [found], complaints
    segments: dict[int, tuple[Index, list[SeqRanges]]] = {}
    for one in wanted:
        for number, index, seq_ranges in one:
            segments.setdefault(number, (index, []))[1].append(seq_ranges)
    whole = [(number, index, _united(several)) for number, (index, several) in segments.items()]
    found, complaints = read_back(disk, log_id, whole, steady_ms)
    starts = [first_seq(part) for part in found]
    return [_parts(found, starts, one) for one in wanted], complaints


def _united(several: "list[SeqRanges]") -> SeqRanges:
    """Return the messages of several, of which some may have the same."""
    whole, stop = SeqRanges(), 0
    for first, count, size in sorted(element for each in several for element in each.ranges()):
        start, stop = max(first, stop), max(first + count, stop)
        if start < stop:
            whole.add(start, stop - start, size)
    return whole


def _parts(found: "list[tuple[Run, range]]", starts: list[int], wanted: "Wanted") -> "list[tuple[Run, range]]":
    """Return which messages of what was found are wanted, ascending by seq."""
    mine: list[tuple[Run, range]] = []
    for first, count in sorted(each[:2] for _, _, seq_ranges in wanted for each in seq_ranges.ranges()):
        at = max(0, bisect_right(starts, first) - 1)
        while at < len(found) and starts[at] < first + count:
            run, indexes = found[at]
            start = max(first - run.first_seq, indexes.start)
            stop = min(first + count - run.first_seq, indexes.stop)
            if start < stop:
                before = mine[-1] if mine else None
                if before is not None and before[0] is run and before[1].stop == start:
                    mine[-1] = run, range(before[1].start, stop)
                else:
                    mine.append((run, range(start, stop)))
            at += 1
    return mine


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
