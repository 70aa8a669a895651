"""When messages arrived, by their seqs: a mark each second at most, for messages whose contents are not in memory.

Seqs ascend with time, so one row of marks serves all queues that share a log. Messages from before the first mark are
unknown: these were there before the start.
"""

from array import array
from bisect import bisect_right
from typing import Final

# About a megabyte, thinned out every few hours, in some milliseconds; ten years of marks are 50,000 then.
MARKS_MAX: Final = 65_536
# Thinned out, a mark is at most this part of its age later than the one before it.
FINENESS: Final = 4_096


class Arrivals:
    """Marks: messages from this seq on came at this time or later, and those below it before."""

    __slots__ = ("_first_seqs", "_times")

    def __init__(self) -> None:
        self._first_seqs = array("Q")
        self._times = array("q")

    def __len__(self) -> int:
        return len(self._times)

    def start(self, next_seq: int, now_ms: int) -> None:
        """Forget all marks: a log with other seqs is in use."""
        self._first_seqs, self._times = array("Q", [next_seq]), array("q", [now_ms])

    def mark(self, next_seq: int, now_ms: int) -> None:
        """Set a mark at the seq that the next message will get."""
        if self._first_seqs[-1] == next_seq:
            self._times[-1] = now_ms
            return
        self._first_seqs.append(next_seq)
        self._times.append(now_ms)
        if len(self) > MARKS_MAX:
            self._thin_out(now_ms)

    def arrived_ms(self, seq: int) -> int | None:
        """Return when a message came, up to a mark too early; None if that was before the first one."""
        at = bisect_right(self._first_seqs, seq) - 1
        return None if at < 0 else self._times[at]

    def _thin_out(self, now_ms: int) -> None:
        """Let marks go whose neighbours are near each other, compared with how old they are."""
        times = self._times
        stay = [0]
        for at in range(1, len(times) - 1):
            if times[at + 1] - times[stay[-1]] > (now_ms - times[at]) // FINENESS:
                stay.append(at)
        stay.append(len(times) - 1)
        self._first_seqs = array("Q", [self._first_seqs[at] for at in stay])
        self._times = array("q", [times[at] for at in stay])
