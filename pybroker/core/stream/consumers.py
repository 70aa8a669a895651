"""The consumers of a stream: each of them that is able is served, since each gets everything."""

from typing import TYPE_CHECKING, Final

from pybroker.core.queue.ring import Consumers, PriorityRings

if TYPE_CHECKING:
    from pybroker.core.channel.consumer import Consumer

# One for all streams: nobody stands there.
_NO_RINGS: Final = PriorityRings()


class StreamConsumers(Consumers):
    """`able` are those with credit, the one that was served least recently first; nobody stands in a ring."""

    __slots__ = ("_able", "_is_held")

    def __init__(self) -> None:
        super().__init__(single_active=False)
        self._waiting = self._line = self._heirs = _NO_RINGS
        self._able: dict[Consumer, None] = {}
        self._is_held = False

    def remove(self, consumer: "Consumer") -> None:
        """Unsubscribe."""
        self._able.pop(consumer, None)
        super().remove(consumer)

    def resume(self, consumer: "Consumer") -> None:
        """Serve a consumer again that has credit."""
        if consumer.active and consumer.waiting:
            consumer.waiting = False
            self._able[consumer] = None

    def rest(self, consumer: "Consumer") -> None:
        """Serve it no more until it has credit."""
        consumer.waiting = True
        self._able.pop(consumer, None)

    def hold(self, *, held: bool) -> None:
        """Serve nobody while this is so."""
        self._is_held = held

    def pause(self, consumer: "Consumer") -> None:
        """Serve this one no more, whatever its credit."""
        consumer.active = False
        self.rest(consumer)

    def unpause(self, consumer: "Consumer") -> None:
        """Serve it again."""
        consumer.active = True
        self.resume(consumer)

    def next(self) -> "Consumer | None":
        """Return one that could be served now."""
        return next((consumer for consumer in self._able if consumer.credit() > 0), None) if not self._is_held else None

    def rotate(self, consumer: "Consumer") -> None:
        """Have the others come first."""
        if consumer in self._able:
            del self._able[consumer]
            self._able[consumer] = None

    def served(self) -> "list[Consumer]":
        """Return all that can be served now; the others wait for credit."""
        if self._is_held:
            return []
        for consumer in [consumer for consumer in self._able if consumer.credit() <= 0]:
            self.rest(consumer)
        return list(self._able)
