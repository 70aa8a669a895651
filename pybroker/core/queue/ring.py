"""The consumers of one queue, and whose turn it is: round robin among the able ones of the highest priority (F18).

A consumer without credit leaves the ring and comes back by `resume`, so that a turn costs O(able consumers).
"""

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.consumer import Consumer


class Consumers:
    """All consumers in order of subscription; `single_active` lets only the first (by priority, then age) be served."""

    __slots__ = ("_all", "_priorities", "_rings", "exclusive", "single_active")

    def __init__(self, *, single_active: bool) -> None:
        self._all: dict[Consumer, None] = {}
        self._rings: dict[int, deque[Consumer]] = {}
        self._priorities: list[int] = []
        self.single_active = single_active
        self.exclusive: Consumer | None = None

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> "Iterator[Consumer]":
        return iter(list(self._all))

    @property
    def active(self) -> "Consumer | None":
        """Return the single active consumer, None where that does not apply."""
        if not self.single_active:
            return None
        return next((consumer for consumer in self._all if consumer.active), None)

    @property
    def alone(self) -> bool:
        """Tell whether the consumer that `next` returned is the only one subscribed."""
        return len(self._all) == 1

    def add(self, consumer: "Consumer") -> None:
        """Subscribe."""
        self._all[consumer] = None
        if consumer.exclusive:
            self.exclusive = consumer
        consumer.active = not self.single_active or len(self._all) == 1
        consumer.waiting = True
        if consumer.active:
            self.resume(consumer)

    def remove(self, consumer: "Consumer") -> None:
        """Unsubscribe; the next in line becomes the single active consumer where that applies."""
        self._all.pop(consumer, None)
        consumer.cancelled = True
        if self.exclusive is consumer:
            self.exclusive = None
        ring = self._rings.get(consumer.priority)
        if ring is not None:
            if not consumer.waiting:
                ring.remove(consumer)
            if not ring:  # also where the last one left it for want of credit: priorities come without number
                del self._rings[consumer.priority]
                self._priorities.remove(consumer.priority)
        consumer.waiting = True
        if self.single_active and consumer.active and self._all:
            heir = max(self._all, key=lambda c: c.priority)  # max keeps the first of equals: the oldest
            heir.active = True
            self.resume(heir)
        consumer.active = False

    def resume(self, consumer: "Consumer") -> None:
        """Put a consumer that got credit at the end of its ring."""
        if not consumer.active or not consumer.waiting:
            return
        consumer.waiting = False
        ring = self._rings.get(consumer.priority)
        if ring is None:
            ring = self._rings[consumer.priority] = deque()
            self._priorities = sorted(self._rings, reverse=True)
        ring.append(consumer)

    def next(self) -> "Consumer | None":
        """Return the able consumer whose turn it is; unable ones before it leave their ring."""
        for priority in self._priorities:
            ring = self._rings[priority]
            while ring:
                consumer = ring[0]
                if consumer.credit() > 0:
                    return consumer
                consumer.waiting = True
                ring.popleft()
        return None

    def beside(self, consumer: "Consumer") -> int:
        """Return how many stand in the ring of the consumer that `next` returned, itself among them."""
        return len(self._rings[consumer.priority])

    def rotate(self, consumer: "Consumer") -> None:
        """Put the consumer that `next` returned at the end: it is being served."""
        self._rings[consumer.priority].rotate(-1)

    def able(self) -> "deque[Consumer] | None":
        """Return the ring of the highest priority that has an able consumer; the unable ones have left it."""
        for priority in self._priorities:
            ring = self._rings[priority]
            for _ in range(len(ring)):
                consumer = ring[0]
                if consumer.credit() > 0:
                    ring.rotate(-1)
                else:
                    consumer.waiting = True
                    ring.popleft()
            if ring:
                return ring
        return None
