"""Counts of a virtual host's messages, which never fall: what queues and exchanges counted stays when these go."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pybroker.core.routing.exchange import Exchange
    from pybroker.run import Entry


class Traffic:
    """Messages since the virtual host was made, or the node started.

    `delivered` and `delivered_no_ack` are those of consumers, with and without acknowledgement. `got` counts all gets,
    those without acknowledgement too, and `got_empty` those that found nothing; `redelivered` ones are among both.

    Exchanges keep their counts as long as they are there: `publish_in`, `publish_out`, `returned` and `dropped` are of
    those that are gone, `total` is of all. `made` are messages that the broker itself sent to queues through
    exchanges, and which no publisher sent: traces, events, messages that an operator moves.
    """

    __slots__ = (
        "_exchanges",
        "acked",
        "confirmed",
        "delivered",
        "delivered_no_ack",
        "dropped",
        "got",
        "got_empty",
        "got_no_ack",
        "made",
        "publish_in",
        "publish_out",
        "redelivered",
        "returned",
    )

    def __init__(self, exchanges: "dict[str, Exchange]") -> None:
        self._exchanges = exchanges
        self.publish_in = self.publish_out = self.confirmed = self.returned = self.dropped = self.made = 0
        self.delivered = self.delivered_no_ack = self.redelivered = self.acked = 0
        self.got = self.got_no_ack = self.got_empty = 0

    def total(self, name: str) -> int:
        """Return a count by its name, with what exchanges have of it."""
        total: int = getattr(self, name)
        if name in _OF_EXCHANGES:
            total += sum([getattr(exchange, name) for exchange in self._exchanges.values()])
        return total

    @property
    def routed(self) -> int:
        """Return how many messages of publishers queues were sent, counted once for each queue."""
        return self.total("publish_out") - self.made

    def count_get(self, entry: "Entry | None", *, no_ack: bool) -> None:
        """Count a fetch that found this, or nothing."""
        self.got += entry is not None
        self.got_no_ack += no_ack and entry is not None
        self.got_empty += entry is None
        self.redelivered += entry is not None and entry.deliveries != 0

    def count_made(self, messages: int) -> None:
        """Count messages that the broker itself sent to queues."""
        self.made += messages

    def exchange_gone(self, exchange: "Exchange") -> None:
        """Keep what an exchange has counted; it is none of the virtual host's any more."""
        for name in _OF_EXCHANGES:
            setattr(self, name, getattr(self, name) + getattr(exchange, name))

    def vhost_gone(self, traffic: "Traffic") -> None:
        """Keep what a virtual host has counted that is deleted."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + traffic.total(name))


_OF_EXCHANGES = frozenset({"publish_in", "publish_out", "returned", "dropped"})
_COUNTS = tuple(name for name in Traffic.__slots__ if not name.startswith("_"))
