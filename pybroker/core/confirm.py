"""Publisher confirms of one channel, in publish order ([rmq confirms], data-model.md: confirm order).

Each received batch stands in line with the ticket its log record got (0: nothing to wait for). A completed ticket lets
the front of the line go; rejections are exceptions inside it. Does not know frames.
"""

from collections import deque


class ConfirmLine:
    """`next_seq` is the publish sequence number that the next publish on the channel gets (the first is 1).

    `line` is what waits: (ticket, last publish seq), both ascending; empty when all are answered.
    """

    __slots__ = ("_confirmed", "_rejected", "line", "next_seq")

    def __init__(self) -> None:
        self.next_seq = 1
        self._confirmed = 0  # all up to this seq have left
        self.line: deque[tuple[int, int]] = deque()
        self._rejected: list[int] = []

    @property
    def unconfirmed(self) -> int:
        """Return how many publishes still wait for their confirm."""
        return self.next_seq - 1 - self._confirmed

    def add(self, count: int, ticket: int = 0) -> int:
        """Take `count` publishes that wait for `ticket`; return the publish seq of the first."""
        first = self.next_seq
        self.next_seq = first + count
        line = self.line
        if line and line[-1][0] >= ticket:
            line[-1] = (line[-1][0], self.next_seq - 1)
        else:
            line.append((ticket, self.next_seq - 1))
        return first

    def reject(self, seq: int) -> None:
        """Answer this publish with basic.nack when its turn comes."""
        self._rejected.append(seq)

    def take(self, completed: int) -> list[tuple[bool, int, bool]]:
        """Return what may be sent now that tickets up to `completed` are on disk: (ack, publish seq, multiple) ..."""
        line = self.line
        upto = self._confirmed
        while line and line[0][0] <= completed:
            upto = line.popleft()[1]
        if upto == self._confirmed:
            return []
        done = self._confirmed
        out = []
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
        self._confirmed = upto
        return out

    def give_up(self) -> list[tuple[bool, int, bool]]:
        """Return the refusal of everything in the line, as `take` does: its tickets will never be completed."""
        first, last = self._confirmed + 1, self.next_seq - 1
        if last < first:
            return []
        self.line.clear()
        self._rejected.clear()
        self._confirmed = last
        return [(False, last, last > first)]
