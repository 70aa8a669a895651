"""Heads: the messages of a queue from its head on, in the order in which consumers would get them."""

from typing import TYPE_CHECKING

from pybroker.core.queue import expiry
from pybroker.core.queue.move.source import Source
from pybroker.core.queue.paging import eviction

if TYPE_CHECKING:
    from pybroker.core.queue.move.source import Part
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level


class Heads(Source):
    """Takes heads as a consumer does; they are read back before they are needed."""

    __slots__ = ("_level", "_next_seq")

    def __init__(self, queue: "Queue") -> None:
        super().__init__(queue)
        self._next_seq = queue.log.next_seq
        self._level: Level | None = None

    def first(self) -> "Part | None":
        """Return the messages that leave next. None: none is left of those that were there, or it `waits`."""
        queue = self.queue
        if queue.timed and not queue.returns:
            expiry.expire(queue, queue.vhost.broker.clock.now_ms)
        self.waits = bool(queue.returns) or queue.overdue
        for level in () if self.waits else queue.backlog.levels:
            if not level.count:
                continue
            head = level.head()
            if head is None:
                eviction.refill(queue, level)
                self.waits = True
                return None
            left = self._next_seq - head.first_seq
            if left > 0:
                self._level = level
                return head.run, head.indexes[: -(-left // head.indexes.step)]
        return None

    def remove(self, count: int) -> "list[Part]":
        """Remove so many of the first messages from the queue."""
        assert self._level is not None
        entry = self.queue.backlog.remove_head(self._level, count)
        self.done += len(entry.indexes)
        return [(entry.run, entry.indexes)]

    def end_step(self) -> None:
        """Have the queue do what other heads than before mean, and the next ones read before they are needed."""
        super().end_step()
        if self._level is not None and not self.queue.deleted:
            eviction.refill(self.queue, self._level)
