"""Log: what the core sees of a group's log (data-model.md: the group seam). Seqs, tickets, and what is settled.

`store/memory.py` is the null engine. A journal on disk is another subclass: it gathers what is appended into batches,
and raises `completed` when one of them is on disk.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pybroker.run import Run


class Log:
    """Invariants: seqs never repeat; tickets only grow; what has a ticket up to `completed` survives a crash."""

    __slots__ = ("completed", "next_seq")

    def __init__(self) -> None:
        self.next_seq = 1
        self.completed = 0

    def take(self, count: int) -> int:
        """Return the first of `count` seqs that nobody has."""
        first = self.next_seq
        self.next_seq = first + count
        return first

    def append(self, run: "Run", indexes: range, queue_ids: tuple[int, ...]) -> int:
        """Record that messages of `run` reached these durable queues; return the ticket to wait for, 0: nothing to."""
        raise NotImplementedError

    def settle(self, queue_id: int, run: "Run", indexes: range) -> None:
        """Record that a durable queue has done with messages of `run`."""
        raise NotImplementedError
