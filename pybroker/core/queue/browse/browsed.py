"""Browsed: one message of a queue, as it was when it was read."""

from typing import TYPE_CHECKING, Final

from pybroker.content_view import body, body_size, body_start, property_octets
from pybroker.wire.properties import decode_properties

if TYPE_CHECKING:
    from typing import Any

    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.channel.unacked import Batch
    from pybroker.run import Names, Run
    from pybroker.wire.properties import Properties

# The states of a message in a queue.
READY: Final = "ready"
UNACKNOWLEDGED: Final = "unacknowledged"
DELAYED: Final = "delayed"


class Browsed:
    """Message `index` of `run`, which was delivered `deliveries` times before and came back; `state` says where it is.

    `priority` is that of its level. Of an unacknowledged one `channel` is where it was delivered at `delivered_ms`,
    and `consumer` to whom, None for basic.get. A delayed one is ready again at `due_ms`. Both are of the clock that
    runs know, as `run.arrived_ms` is.
    """

    __slots__ = ("channel", "consumer", "delivered_ms", "deliveries", "due_ms", "index", "priority", "run", "state")

    def __init__(
        self,
        priority: int,
        run: "Run",
        index: int,
        deliveries: int,
        batch: "Batch | None" = None,
        channel: "Any" = None,
        due_ms: int = 0,
    ) -> None:
        self.priority = priority
        self.run = run
        self.index = index
        self.deliveries = deliveries
        self.state = DELAYED if due_ms else READY if batch is None else UNACKNOWLEDGED
        self.channel = channel
        self.consumer: Consumer | None = None if batch is None else batch.consumer
        self.delivered_ms = 0 if batch is None else batch.delivered_ms
        self.due_ms = due_ms

    @property
    def seq(self) -> int:
        """Return its identity, and its place in the level."""
        return self.run.first_seq + self.index

    @property
    def redelivered(self) -> bool:
        """Tell whether its next delivery, or the one it is in, is not the first."""
        return self.deliveries != 0

    @property
    def content(self) -> bytes:
        """Return header frame and body frames, as published."""
        return self.run.content(self.index)

    @property
    def names(self) -> "Names":
        """Return the exchange and routing key it was published with."""
        return self.run.names

    @property
    def property_octets(self) -> bytes:
        """Return the property flags and values, as in its header frame."""
        return property_octets(self.content)

    @property
    def properties(self) -> "Properties":
        """Return its properties, decoded."""
        return decode_properties(self.property_octets)

    @property
    def body_octets(self) -> int:
        """Return the size of its body."""
        return body_size(self.content)

    @property
    def body(self) -> bytes:
        """Return its body, as published."""
        return body(self.content)

    def body_start(self, octets_max: int) -> bytes:
        """Return the first octets of its body."""
        return body_start(self.content, octets_max)

    def __repr__(self) -> str:
        return f"Browsed(seq {self.seq}, priority {self.priority}, {self.state}, deliveries {self.deliveries})"
