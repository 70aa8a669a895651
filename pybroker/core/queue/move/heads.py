"""Heads: the messages of a queue from its head on, in the order of delivery."""

from itertools import chain
from typing import TYPE_CHECKING

from pybroker.core.queue import expiry
from pybroker.core.queue.move.chosen import Chosen
from pybroker.core.queue.move.source import Source
from pybroker.core.queue.paging import eviction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.queue.move.source import Part, Planned
    from pybroker.core.queue.queue import Queue


class Heads(Source):
    """Takes messages from the head, as a consumer does, and has further ones read back from disk ahead of time."""

    TAKES_ALL = True

    __slots__ = ("_next_seq",)

    def __init__(self, queue: "Queue") -> None:
        super().__init__(queue)
        self._next_seq = queue.log.next_seq

    def surveyed(self) -> Source:
        """Return a source that browses the same messages: heads that stay cannot be skipped."""
        return Chosen(self.queue, lambda _: True)

    def parts(self) -> "Iterator[Part]":
        """Yield messages from the head on. Yield nothing once all have gone that were there, or while it `waits`."""
        queue = self.queue
        if queue.timed and not queue.returns:
            expiry.expire(queue, queue.vhost.broker.clock.now_ms)
        self.more = self.waits = bool(queue.returns) or queue.overdue
        for level in () if self.waits else queue.backlog.levels:
            if level.count and level.head() is None:
                eviction.refill(queue, level)
                self.more = self.waits = True
                return
            for entry in chain(reversed(level.returned), level.ready):
                left = self._next_seq - entry.first_seq
                if left <= 0:
                    break
                yield entry.run, entry.indexes[: -(-left // entry.indexes.step)]
            else:
                if level.segments is not None:
                    return  # messages that follow come with the next step

    def remove(self, planned: "list[Planned]") -> "list[Planned]":
        """Remove as many messages from the head."""
        backlog = self.queue.backlog
        for run, indexes, _ in planned:
            entry = backlog.remove_head(backlog.level_of(run.attributes.priority), len(indexes))
            assert entry.run is run
            assert entry.indexes == indexes
            self.done += len(indexes)
        return planned

    def end_step(self) -> None:
        """Have the queue act on its new head, and the messages behind it read back."""
        super().end_step()
        level = self.queue.backlog.first_level()
        if level is not None and not self.queue.deleted:
            eviction.refill(self.queue, level)
