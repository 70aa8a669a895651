"""Publisher confirms of one channel, in publish order ([rmq confirms]).

Publishes stand in line with the receipt that says what they wait for; those that follow one another and wait for the
same share one. When the first receipt's logs have completed that, its publishes are confirmed, except those that a
queue rejected; when one of its logs has failed, they are refused, and only they. Does not know frames.
"""

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.routing.exchange import Exchange
    from pybroker.store.log import Log


class ConfirmLine:
    """`next_seq` is the publish sequence number that the next publish on the channel gets (the first is 1).

    `line` is what waits: (receipt, first publish seq), ascending; each goes up to the next one's. A publish that waits
    for nothing is answered with the one before it, and at once if there is none. `awaited` is a log whose next commit
    may let some of them go; None: there is none. Each exchange counts the confirms of its own publishes: `_exchanges`
    has (first publish seq, exchange), ascending, up to the next one's; those that follow one another to the same one
    are one.
    """

    __slots__ = ("_exchanges", "_refused", "_rejected", "answered", "awaited", "line", "next_seq")

    def __init__(self) -> None:
        self.next_seq = 1
        self.answered = 0  # all up to this seq are
        self.line: deque[tuple[Receipt, int]] = deque()
        self._rejected: list[int] = []
        self._refused = 0
        self._exchanges: deque[tuple[int, Exchange]] = deque()
        self.awaited: Log | None = None

    @property
    def unconfirmed(self) -> int:
        """Return how many publishes still wait for their confirm."""
        return self.next_seq - 1 - self.answered

    @property
    def confirmed(self) -> int:
        """Return how many publishes were confirmed."""
        return self.answered - self._refused

    def add(self, count: int, receipt: "Receipt", exchange: "Exchange") -> bool:
        """Take `count` publishes with their receipt; tell whether it was kept, so that it must not be changed."""
        first = self.next_seq
        self.next_seq = first + count
        exchanges = self._exchanges
        if not exchanges or exchanges[-1][1] is not exchange:
            exchanges.append((first, exchange))
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
                    self._count(done, seq - 1)
                out.append((False, seq, False))
                done = seq
            self._refused += len(rejected)
        if upto > done:
            out.append((True, upto, upto > done + 1))
            self._count(done, upto)

    def _count(self, done: int, upto: int) -> None:
        """Have the exchanges count the publishes after `done`, up to `upto`, as confirmed."""
        exchanges = self._exchanges
        while len(exchanges) > 1 and exchanges[1][0] <= upto:
            last = exchanges[1][0] - 1
            if last > done:
                exchanges[0][1].count_confirmed(last - done)
                done = last
            exchanges.popleft()
        exchanges[0][1].count_confirmed(upto - done)

    def _refuse(self, out: list[tuple[bool, int, bool]]) -> int:
        """Answer the first publishes whose logs failed with one nack; return the last seq of them."""
        line = self.line
        while line and line[0][0].failed:
            line.popleft()
        upto = line[0][1] - 1 if line else self.next_seq - 1
        out.append((False, upto, upto > self.answered + 1))
        self._refused += upto - self.answered
        self.answered = upto
        self._rejected = [seq for seq in self._rejected if seq > upto]
        return upto
