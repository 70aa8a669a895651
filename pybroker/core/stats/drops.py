"""Counts of messages that left their queue undelivered, by where and why, for the telemetry.

One counter for each distinct (why, from where), removed when it is read; beyond COUNTERS_MAX, exchanges and routing
keys are not told apart, and beyond as many of these again nor are queues. One call for a run of messages, and none at
all while `Broker.losses` is None.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.run import Names

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost
    from pybroker.run import Entry

COUNTERS_MAX: Final = 1_000

UNROUTABLE: Final = "unroutable"
DEAD_LETTER: Final = "dead_letter"
# Stands for exchanges and routing keys that are not told apart.
OTHERS: Final = Names("(others)", "(others)", b"")


class Loss(NamedTuple):
    """`place` is a queue, or the virtual host if none was reached; `names` are exchange and key it was sent with."""

    kind: str
    reason: str
    place: "Queue | VHost"
    names: "Names"
    returned: bool


class DropCounts:
    """Messages and octets by loss, since they were taken last."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[Loss, list[int]] = {}

    def unroutable(
        self, vhost: "VHost", names: "Names", contents: "list[bytes]", reason: str, *, returned: bool
    ) -> None:
        """Count messages that reached no queue: they were returned to the publisher, or dropped."""
        self._add(Loss(UNROUTABLE, reason, vhost, names, returned), len(contents), sum(map(len, contents)))

    def departed(self, queue: "Queue", entries: "list[Entry]", reason: str) -> None:
        """Count messages that left a queue unread; with a dead letter exchange they go there."""
        kind = reason if queue.limits.dead_letter_exchange is None else DEAD_LETTER
        for entry in entries:
            self._add(Loss(kind, reason, queue, entry.run.names, False), len(entry.indexes), entry.body_octets)

    def pop(self) -> "list[tuple[Loss, int, int]]":
        """Return each loss with messages and octets, and begin anew."""
        counts, self._counts = self._counts, {}
        return [(loss, messages, octets) for loss, (messages, octets) in counts.items()]

    def _add(self, loss: Loss, messages: int, octets: int) -> None:
        counts: Any = self._counts.get(loss)
        if counts is None:
            counts = self._begin(loss)
        counts[0] += messages
        counts[1] += octets

    def _begin(self, loss: Loss) -> list[int]:
        if len(self._counts) >= COUNTERS_MAX:
            loss = loss._replace(names=OTHERS)
            if len(self._counts) >= 2 * COUNTERS_MAX and loss.kind != UNROUTABLE:
                queue: Any = loss.place
                loss = loss._replace(place=queue.vhost)
        return self._counts.setdefault(loss, [0, 0])
