"""One message that a trace follows, with its copies: a message is one thing to people, whatever becomes of it.

Each queue that it reached has a copy, and so has each queue that its dead letters reached, or that it was moved to. A
copy is gone when it is acknowledged, dropped or sent on.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.queue.destination import Destination

READY = "ready"
UNACKNOWLEDGED = "unacknowledged"
DELAYED = "delayed"
# Has left its queue, for its dead letter exchange.
DYING = "dying"
# Was refused by its queue, which may have a dead letter exchange for that.
REFUSED = "refused"


class Copy:
    """The message in one queue, or in the schedule of a delayed exchange: its state, since when, and who has it.

    `told` is why it waits, as was told last.
    """

    __slots__ = ("holder", "queue", "seq", "since_ms", "state", "told")

    def __init__(self, queue: "Destination", seq: int, state: str, now_ms: int) -> None:
        self.queue = queue
        self.seq = seq
        self.state = state
        self.since_ms = now_ms
        self.holder: dict[str, Any] = {}
        self.told = ""

    def become(self, state: str, now_ms: int, holder: dict[str, Any] | None = None) -> None:
        """Change its state."""
        self.state, self.since_ms, self.told = state, now_ms, ""
        self.holder = holder or {}

    def waits_anew(self, why: str) -> bool:
        """Learn why it waits; return whether that is another reason than the last one."""
        is_new = why != self.told
        self.told = why
        return is_new


class Followed:
    """A message with its `number` in the trace. `start_ms` is when it was published, on the clock's now_ms.

    `storing` are receipts of copies that are not on disk yet. `transaction` is the publisher's channel and the
    transaction that it waits for, None: for none.
    """

    __slots__ = ("_seqs", "copies", "has_entered", "is_over", "number", "start_ms", "storing", "transaction")

    def __init__(self, number: int, start_ms: int) -> None:
        self.number = number
        self.start_ms = start_ms
        self.copies: dict[tuple[Destination, int], Copy] = {}
        self._seqs: dict[int, int] = {}  # and how many copies have them
        self.storing: list[Receipt] = []
        self.transaction: tuple[Any, Any] | None = None
        self.has_entered = self.is_over = False

    @property
    def is_settled(self) -> bool:
        """Tell whether nothing can happen to it any more."""
        return not (self.copies or self.storing or self.transaction)

    def add(self, copy: Copy) -> None:
        """Take one more copy."""
        self.copies[copy.queue, copy.seq] = copy
        self._seqs[copy.seq] = self._seqs.get(copy.seq, 0) + 1

    def remove(self, copy: Copy) -> bool:
        """Let a copy go; tell whether it was the last one of its seq."""
        del self.copies[copy.queue, copy.seq]
        left = self._seqs.pop(copy.seq) - 1
        if left:
            self._seqs[copy.seq] = left
        return not left

    def waits_for(self, transaction: tuple[Any, Any] | None) -> None:
        """Wait for a commit, if there is a transaction."""
        self.transaction = transaction

    def entered(self) -> None:
        """Learn that its publish took effect: its transaction, if it had one, was committed."""
        self.transaction = None
        self.has_entered = True

    def end(self) -> None:
        """Learn that it was told how it ended."""
        self.is_over = True
