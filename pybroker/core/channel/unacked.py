"""A channel's unacknowledged deliveries, by delivery tag (AMQP §1.8.3.12, [basic.ack]).

Delivered slices are kept as they were dispatched: a batch of consecutive tags over a range of one run. An ack in order
moves an index, `multiple` pops whole batches, an ack out of order splits one. Does not know what a settled message
means to its queue.
"""

from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.queue.queue import Queue
    from pybroker.run import Run

# Popped batches are cut from the front of the list this many at a time: list.pop(0) for each would be O(n).
COMPACT_AT: Final = 256
# A delivery is old after a second: most have been acknowledged by then.
UNPIN_AGE_MS: Final = 1_000
UNPIN_BATCHES: Final = 1_024


class Batch:
    """Messages of one run with the consecutive tags `first_tag .. last_tag`; `consumer` is None for basic.get."""

    __slots__ = ("consumer", "delivered_ms", "deliveries", "first_tag", "indexes", "queue", "run")

    def __init__(
        self,
        first_tag: int,
        queue: "Queue",
        consumer: "Consumer | None",
        run: "Run",
        indexes: range,
        deliveries: int,
        delivered_ms: int,
    ) -> None:
        self.first_tag = first_tag
        self.queue = queue
        self.consumer = consumer
        self.run = run
        self.indexes = indexes
        self.deliveries = deliveries
        self.delivered_ms = delivered_ms

    @property
    def last_tag(self) -> int:
        """Return the tag of the last message."""
        return self.first_tag + len(self.indexes) - 1

    def part(self, start: int, stop: int) -> "Batch":
        """Return messages `start .. stop - 1` of this batch as a batch of their own."""
        return Batch(
            self.first_tag + start,
            self.queue,
            self.consumer,
            self.run,
            self.indexes[start:stop],
            self.deliveries,
            self.delivered_ms,
        )


_FIRST_TAG = attrgetter("first_tag")


class Unacked:
    """Outstanding deliveries of one channel. Invariant: batches ascend by tag and never overlap."""

    __slots__ = ("_batches", "_head", "_looked", "count")

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self._head = 0  # batches before it are taken already
        self._looked = 0  # where `unpin` goes on
        self.count = 0

    def __iter__(self) -> "Iterator[Batch]":
        return iter(self._batches[self._head :])

    def oldest_first(self, count: int) -> "Iterator[Batch]":
        """Yield up to `count` batches; none may be taken meanwhile."""
        for at in range(self._head, min(self._head + count, len(self._batches))):
            yield self._batches[at]

    def since(self, tag: int, count: int) -> list[Batch]:
        """Return up to `count` batches from that of a tag, or the next one, on."""
        batches, head = self._batches, self._head
        at = max(head, bisect_right(batches, tag, lo=head, key=_FIRST_TAG) - 1)
        if at < len(batches) and batches[at].last_tag < tag:
            at += 1
        return batches[at : at + count]

    def append(self, batch: Batch) -> None:
        """Remember a delivery; its tags are above all earlier ones."""
        self._batches.append(batch)
        self.count += len(batch.indexes)

    def pop(self, tag: int) -> Batch | None:
        """Remove one message; None if the tag is not outstanding."""
        batches, head = self._batches, self._head
        if head == len(batches):
            return None
        batch = batches[head]
        if batch.first_tag != tag:
            within = self.pop_range(tag, tag)
            return within[0] if within else None
        self.count -= 1
        if len(batch.indexes) == 1:
            self._drop_head(head + 1)
            return batch
        taken = batch.part(0, 1)
        batch.first_tag += 1
        batch.indexes = batch.indexes[1:]
        return taken

    def pop_range(self, first_tag: int, last_tag: int) -> list[Batch]:
        """Remove `first_tag .. last_tag` as far as they are outstanding from `first_tag` on without a gap."""
        batches = self._batches
        at = self._find(first_tag)
        if at is None:
            return []
        batch = batches[at]
        before = first_tag - batch.first_tag
        left = [batch.part(0, before)] if before else []
        if before:
            batch = batch.part(before, len(batch.indexes))
        taken: list[Batch] = []
        stop, tag = at, first_tag
        while batch.first_tag == tag:
            stop += 1
            n = len(batch.indexes)
            wanted = last_tag - tag + 1
            if wanted < n:
                taken.append(batch.part(0, wanted))
                left.append(batch.part(wanted, n))
                tag += wanted
                break
            taken.append(batch)
            tag += n
            if tag > last_tag or stop == len(batches):
                break
            batch = batches[stop]
        self.count -= tag - first_tag
        if at == self._head and not left:
            self._drop_head(stop)
        else:
            # At once for the whole range: what lies behind it moves, and that may be very many.
            batches[at:stop] = left
        return taken

    def pop_up_to(self, tag: int) -> list[Batch] | None:
        """Remove all up to and including `tag` (0: all); None, and nothing removed, if `tag` is not outstanding."""
        batches, head = self._batches, self._head
        if tag == 0:
            taken = batches[head:]
            self.clear()
            return taken
        at = self._find(tag)
        if at is None:
            return None
        taken = batches[head:at]
        last = batches[at]
        n = tag - last.first_tag + 1
        if n == len(last.indexes):
            taken.append(last)
            at += 1
        else:
            taken.append(last.part(0, n))
            last.first_tag += n
            last.indexes = last.indexes[n:]
        self._drop_head(at)
        for batch in taken:
            self.count -= len(batch.indexes)
        return taken

    def pop_below(self, tag: int) -> list[Batch]:
        """Remove all up to and including `tag`, be that outstanding or not."""
        at = bisect_right(self._batches, tag, lo=self._head, key=_FIRST_TAG) - 1
        if at < self._head:
            return []
        return self.pop_up_to(min(tag, self._batches[at].last_tag)) or []

    def put_back(self, batches: list[Batch]) -> None:
        """Return batches that were taken (tx.rollback)."""
        self._batches = sorted([*self._batches[self._head :], *batches], key=_FIRST_TAG)
        self._head = 0
        self.count += sum(len(batch.indexes) for batch in batches)

    def unpin(self, now_ms: int) -> None:
        """Give old deliveries of which little is left runs of their own: one message would keep thousands.

        Looks at some batches a call, and goes round.
        """
        batches = self._batches
        for _ in range(min(UNPIN_BATCHES, len(batches) - self._head)):
            if not self._head <= self._looked < len(batches):
                self._looked = self._head
            batch = batches[self._looked]
            self._looked += 1
            if now_ms - batch.delivered_ms >= UNPIN_AGE_MS and batch.run.pins(batch.indexes):
                batch.run = batch.run.part(batch.indexes)
                batch.indexes = range(len(batch.indexes))

    def clear(self) -> None:
        """Forget everything."""
        self._batches = []
        self._head = 0
        self.count = 0

    def _find(self, tag: int) -> int | None:
        """Return which batch has this tag; None if it is not outstanding."""
        batches, head = self._batches, self._head
        if head == len(batches):
            return None
        if batches[head].first_tag == tag:
            return head
        at = bisect_right(batches, tag, lo=head, key=_FIRST_TAG) - 1
        return at if at >= head and tag <= batches[at].last_tag else None

    def _drop_head(self, head: int) -> None:
        if head == len(self._batches):
            self._batches.clear()
            self._head = 0
        elif head > COMPACT_AT and head * 2 > len(self._batches):
            del self._batches[:head]
            self._head = 0
        else:
            # A batch that was taken must not pin its run until the list is cut: the taker has it now.
            for at in range(self._head, head):
                self._batches[at] = _TAKEN
            self._head = head


_TAKEN: Final[Batch] = Batch.__new__(Batch)
_TAKEN.first_tag = 0
