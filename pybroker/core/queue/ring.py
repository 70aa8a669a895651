"""The consumers of one queue, and whose turn it is: round robin among the able ones of the highest priority.

A consumer without credit leaves the ring and comes back by `resume`, so that a turn costs O(able consumers). One that
unsubscribes is passed over where it stands: to take it out of the middle would cost O(consumers) each time.
"""

from bisect import bisect_left, insort
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.channel.consumer import Consumer

# So many unsubscribed consumers may stand in a line, and as many again as are subscribed.
CANCELLED_MAX: Final = 64


class PriorityRings:
    """Consumers in line by priority. Invariant: no ring is kept whose consumers have all unsubscribed."""

    __slots__ = ("cancelled", "priorities", "rings")

    def __init__(self) -> None:
        self.rings: dict[int, deque[Consumer]] = {}
        self.priorities: list[int] = []  # ascending, so that the highest is dropped in O(1)
        self.cancelled = 0  # how many unsubscribed while they stood here, since the lines were last swept

    def append(self, consumer: "Consumer") -> None:
        """Put a consumer at the end of those of its priority."""
        ring = self.rings.get(consumer.priority)
        if ring is None:
            ring = self.rings[consumer.priority] = deque()
            insort(self.priorities, consumer.priority)
        ring.append(consumer)

    def leave(self, consumer: "Consumer", others: int) -> None:
        """Let a cancelled consumer go, wherever it stands; `others` are subscribed still. O(1), amortized."""
        ring = self.rings.get(consumer.priority)
        if ring is None:
            return
        while ring and ring[0].cancelled:
            ring.popleft()
        if not ring:  # also where the last one left it for want of credit: priorities come without number
            self.drop(consumer.priority)
            return
        self.cancelled += 1
        if self.cancelled > others + CANCELLED_MAX:
            self._sweep()

    def pop(self) -> "Consumer | None":
        """Take out the first one of the highest priority."""
        while self.priorities:
            ring = self.rings[self.priorities[-1]]
            while ring:
                consumer = ring.popleft()
                if not consumer.cancelled:
                    return consumer
            self.drop(self.priorities[-1])
        return None

    def drop(self, priority: int) -> None:
        """Forget the empty ring of a priority."""
        del self.rings[priority]
        del self.priorities[bisect_left(self.priorities, priority)]

    def remove(self, consumer: "Consumer") -> None:
        """Take out one that stands here; O(consumers)."""
        ring = self.rings[consumer.priority]
        ring.remove(consumer)
        if not ring:
            self.drop(consumer.priority)

    def _sweep(self) -> None:
        self.cancelled = 0
        for priority, ring in list(self.rings.items()):
            left = deque([consumer for consumer in ring if not consumer.cancelled])
            if left:
                self.rings[priority] = left
            else:
                self.drop(priority)


class Consumers:
    """All consumers in order of subscription; `single_active` lets only the first (by priority, then age) be served.

    `_waiting` are those that are served: all that stand in `_line`, or nobody while the queue is paused. A consumer
    that is paused itself stands nowhere.
    """

    __slots__ = ("_active", "_all", "_heirs", "_line", "_waiting", "exclusive", "single_active")

    def __init__(self, *, single_active: bool) -> None:
        self._all: dict[Consumer, None] = {}
        self._waiting = self._line = PriorityRings()
        self._heirs = PriorityRings()  # of the single active consumer
        self._active: Consumer | None = None
        self.single_active = single_active
        self.exclusive: Consumer | None = None

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> "Iterator[Consumer]":
        return iter(list(self._all))

    @property
    def active(self) -> "Consumer | None":
        """Return the single active consumer, None where that does not apply."""
        return self._active

    @property
    def alone(self) -> bool:
        """Tell whether the consumer that `next` returned is the only one subscribed."""
        return len(self._all) == 1

    def add(self, consumer: "Consumer") -> None:
        """Subscribe."""
        self._all[consumer] = None
        if consumer.exclusive:
            self.exclusive = consumer
        consumer.waiting = True
        consumer.active = not self.single_active or self._active is None
        if not consumer.active:
            self._heirs.append(consumer)
            return
        if self.single_active:
            self._active = consumer
        self.resume(consumer)

    def remove(self, consumer: "Consumer") -> None:
        """Unsubscribe; the next in line becomes the single active consumer where that applies."""
        if self._all.pop(consumer, self) is self:
            return
        consumer.cancelled = True
        if self.exclusive is consumer:
            self.exclusive = None
        if consumer.paused is None:
            (self._line if consumer.active else self._heirs).leave(consumer, len(self._all))
        consumer.waiting = True
        consumer.active = False
        if self._active is consumer:
            self._active = heir = self._heirs.pop()
            if heir is not None:
                heir.active = True
                self.resume(heir)

    def forget(self) -> None:
        """Drop consumers that unsubscribed while they waited in line: the queue is deleted, and they point at it."""
        self._waiting = self._line = PriorityRings()
        self._heirs = PriorityRings()

    def resume(self, consumer: "Consumer") -> None:
        """Put a consumer that got credit at the end of its ring."""
        if consumer.active and consumer.waiting:
            consumer.waiting = False
            self._line.append(consumer)

    def hold(self, *, held: bool) -> None:
        """Serve nobody while this is so; those that could be served keep their places."""
        self._waiting = PriorityRings() if held else self._line

    def pause(self, consumer: "Consumer") -> None:
        """Serve this one no more; an heir that is paused does not become the single active consumer."""
        if not consumer.active:
            self._heirs.remove(consumer)
        elif not consumer.waiting:
            self._line.remove(consumer)
        consumer.active = False
        consumer.waiting = True

    def unpause(self, consumer: "Consumer") -> None:
        """Serve it again, after the others of its priority."""
        if self.single_active and self._active not in {None, consumer}:
            self._heirs.append(consumer)
            return
        if self.single_active:
            self._active = consumer
        consumer.active = True
        self.resume(consumer)

    def next(self) -> "Consumer | None":
        """Return the able consumer whose turn it is; unable ones before it leave their ring."""
        waiting = self._waiting
        priorities = waiting.priorities
        while priorities:
            ring = waiting.rings[priorities[-1]]
            while ring:
                consumer = ring[0]
                if consumer.credit() > 0 and not consumer.cancelled:
                    return consumer
                consumer.waiting = True
                ring.popleft()
            if len(priorities) == 1:
                return None  # most queues have one: it is not made anew with each message
            waiting.drop(priorities[-1])
        return None

    def beside(self, consumer: "Consumer") -> int:
        """Return how many stand in the ring of the consumer that `next` returned, itself among them, at most."""
        return len(self._waiting.rings[consumer.priority])

    def rotate(self, consumer: "Consumer") -> None:
        """Put the consumer that `next` returned at the end: it is being served."""
        self._waiting.rings[consumer.priority].rotate(-1)

    def able(self) -> "deque[Consumer]":
        """Return the ring of the consumer that `next` returned; the unable ones have left it."""
        waiting = self._waiting
        ring = waiting.rings[waiting.priorities[-1]]
        for _ in range(len(ring)):
            consumer = ring[0]
            if consumer.credit() > 0 and not consumer.cancelled:
                ring.rotate(-1)
            else:
                consumer.waiting = True
                ring.popleft()
        return ring
