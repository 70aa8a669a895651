"""Followed: one message of a trace and its copies.

There is a copy for each queue that the message reaches, directly, as a dead letter, or by a move. A copy ends when it
is acknowledged, dropped or forwarded.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.queue.destination import Destination

READY = "ready"
UNACKNOWLEDGED = "unacknowledged"
DELAYED = "delayed"
# On its way from its queue to the dead letter exchange.
DYING = "dying"
# Refused by its queue, which may dead-letter it.
REFUSED = "refused"


class Copy:
    """The message in one queue, or in the schedule of a delayed exchange: its state, since when, and who has it.

    `told` is the reason for its waiting that was reported last.
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
        """Note why it waits; return whether the reason has changed."""
        is_new = why != self.told
        self.told = why
        return is_new


class Followed:
    """A message, its `number` in the trace, and the time of its publish, `start_ms`, on the clock's now_ms.

    `storing` has receipts for copies that are not on disk yet. `transaction` is the channel and the transaction that
    will publish it, or None. `streams` are those that keep it.
    """

    __slots__ = ("_seqs", "copies", "has_entered", "is_over", "number", "start_ms", "storing", "streams", "transaction")

    def __init__(self, number: int, start_ms: int) -> None:
        self.number = number
        self.start_ms = start_ms
        self.copies: dict[tuple[Destination, int], Copy] = {}
        self._seqs: dict[int, int] = {}  # and how many copies have them
        self.storing: list[Receipt] = []
        self.streams: list[str] = []
        self.transaction: tuple[Any, Any] | None = None
        self.has_entered = self.is_over = False

    @property
    def is_settled(self) -> bool:
        """Tell whether nothing can happen to it any more."""
        return not (self.copies or self.storing or self.transaction)

    def add(self, copy: Copy) -> None:
        """Add a copy."""
        self.copies[copy.queue, copy.seq] = copy
        self._seqs[copy.seq] = self._seqs.get(copy.seq, 0) + 1

    def remove(self, copy: Copy) -> bool:
        """Remove a copy; tell whether no other one has its seq."""
        del self.copies[copy.queue, copy.seq]
        left = self._seqs.pop(copy.seq) - 1
        if left:
            self._seqs[copy.seq] = left
        return not left

    def waits_for(self, transaction: tuple[Any, Any] | None) -> None:
        """Wait for the commit of a transaction, if there is one."""
        self.transaction = transaction

    def entered(self, streams: "Iterable[str]" = ()) -> None:
        """Note that its publish took effect, also in these streams, and that its transaction, if any, was committed."""
        self.streams += streams
        self.transaction = None
        self.has_entered = True

    def end(self) -> None:
        """Note that its end was reported."""
        self.is_over = True
