"""Publisher confirms of one channel, in publish order ([rmq confirms]).

Publishes stand in line with the receipt that says what they wait for; those that follow one another and wait for the
same share one. When the first receipt's logs have completed that, its publishes are confirmed, except those that a
queue rejected; when one of its logs has failed, they are refused, and only they. Does not know frames.
"""

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pybroker.core.channel.receipt import Receipt
    from pybroker.store.log import Log


class ConfirmLine:
    """`next_seq` is the publish sequence number that the next publish on the channel gets (the first is 1).

    `line` is what waits: (receipt, first publish seq), ascending; each goes up to the next one's. A publish that waits
    for nothing is answered with the one before it, and at once if there is none. `awaited` is a log whose next commit
    may let some of them go; None: there is none.
    """

    __slots__ = ("_rejected", "answered", "awaited", "line", "next_seq")

    def __init__(self) -> None:
        self.next_seq = 1
        self.answered = 0  # all up to this seq are
        self.line: deque[tuple[Receipt, int]] = deque()
        self._rejected: list[int] = []
        self.awaited: Log | None = None

    @property
    def unconfirmed(self) -> int:
        """Return how many publishes still wait for their confirm."""
        return self.next_seq - 1 - self.answered

    def add(self, count: int, receipt: "Receipt") -> bool:
        """Take `count` publishes with their receipt; tell whether it was kept, so that it must not be changed."""
        first = self.next_seq
        self.next_seq = first + count
        if receipt.rejected:
            self._rejected += [first + index for index in receipt.rejected]
        line = self.line
        if receipt.log is None or (line and line[-1][0].covers(receipt)):
            return False
        line.append((receipt, first))
        if self.awaited is None:
            self.awaited = receipt.log
        return True

    def pop(self) -> list[tuple[bool, int, bool]]:
        """Return what may be sent now: (ack, publish seq, multiple) ..."""
        line = self.line
        out: list[tuple[bool, int, bool]] = []
        upto, log = line[0][1] - 1 if line else self.next_seq - 1, None
        while line:
            log = line[0][0].awaited
            if log is None:
                line.popleft()
                upto = line[0][1] - 1 if line else self.next_seq - 1
            elif log.failed:
                self._acknowledge(upto, out)
                upto = self._refuse(out)
                log = None
            else:
                break
        self.awaited = log
        if upto > self.answered:
            self._acknowledge(upto, out)
        return out

    def _acknowledge(self, upto: int, out: list[tuple[bool, int, bool]]) -> None:
        """Answer all up to this seq with an ack, but for those that were rejected."""
        done = self.answered
        self.answered = upto
        if self._rejected:
            rejected = sorted({seq for seq in self._rejected if seq <= upto})
            self._rejected = [seq for seq in self._rejected if seq > upto]
            for seq in rejected:
                if seq - 1 > done:
                    out.append((True, seq - 1, seq - 1 > done + 1))
                out.append((False, seq, False))
                done = seq
        if upto > done:
            out.append((True, upto, upto > done + 1))

    def _refuse(self, out: list[tuple[bool, int, bool]]) -> int:
        """Answer the first publishes whose logs failed with one nack; return the last seq of them."""
        line = self.line
        while line and line[0][0].failed:
            line.popleft()
        upto = line[0][1] - 1 if line else self.next_seq - 1
        out.append((False, upto, upto > self.answered + 1))
        self.answered = upto
        self._rejected = [seq for seq in self._rejected if seq > upto]
        return upto
