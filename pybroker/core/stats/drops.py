"""Counts of messages that left their queue undelivered, by where and why, for the telemetry.

One counter for each distinct (why, from where), removed when it is read; at most COUNTERS_MAX, any further drop is
counted as `beyond`. One call for a run of messages, and none at all while `Broker.losses` is None.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost
    from pybroker.run import Entry, Names

COUNTERS_MAX: Final = 1_000

UNROUTABLE: Final = "unroutable"
DEAD_LETTER: Final = "dead_letter"


class Loss(NamedTuple):
    """`place` is a queue, or the virtual host if none was reached; `names` are exchange and key it was sent with."""

    kind: str
    reason: str
    place: "Queue | VHost"
    names: "Names"
    returned: bool


class DropCounts:
    """Messages and octets by loss, since they were taken last."""

    __slots__ = ("_counts", "beyond")

    def __init__(self) -> None:
        self._counts: dict[Loss, list[int]] = {}
        self.beyond = 0

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
            if len(self._counts) >= COUNTERS_MAX:
                self.beyond += messages
                return
            counts = self._counts[loss] = [0, 0]
        counts[0] += messages
        counts[1] += octets
