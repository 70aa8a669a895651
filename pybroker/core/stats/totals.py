"""Totals of the node, which never fall: what its virtual hosts count, and what belongs to none of them."""

from typing import TYPE_CHECKING, Final

from pybroker.core.stats.traffic import Traffic

if TYPE_CHECKING:
    from pybroker.core.peer.session import PeerSession
    from pybroker.core.policy.limits import QueueLimits
    from pybroker.core.stats.message_sizes import MessageSizes

# How dead letters are forwarded, as RabbitMQ's counters name it.
DISABLED: Final = "disabled"
AT_MOST_ONCE: Final = "at_most_once"
AT_LEAST_ONCE: Final = "at_least_once"


class Deaths:
    """Messages that left their queues undelivered or were given up, by reason; `confirmed` ones have arrived."""

    __slots__ = ("confirmed", "delivery_limit", "expired", "maxlen", "rejected")

    def __init__(self) -> None:
        self.expired = self.rejected = self.maxlen = self.delivery_limit = self.confirmed = 0

    def count(self, reason: str, messages: int) -> None:
        """Count messages that died for a reason, or were confirmed."""
        setattr(self, reason, getattr(self, reason) + messages)


class Churn:
    """Connections, channels and queues that came and went. A queue is `declared` whenever somebody asks for it."""

    __slots__ = (
        "channels_closed",
        "channels_opened",
        "connections_closed",
        "connections_opened",
        "queues_created",
        "queues_declared",
        "queues_deleted",
    )

    def __init__(self) -> None:
        self.connections_opened = self.connections_closed = 0
        self.channels_opened = self.channels_closed = 0
        self.queues_declared = self.queues_created = self.queues_deleted = 0

    def count(self, name: str) -> None:
        """Count one more, by the name of what became of it."""
        setattr(self, name, getattr(self, name) + 1)


class Ended:
    """Messages of sessions of one protocol that are gone."""

    __slots__ = ("delivered", "published")

    def __init__(self) -> None:
        self.published = self.delivered = 0


class Totals:
    """Messages since the start, and what else the node counts.

    `received_confirm` are publishes that are to be confirmed or committed, `uncommitted` those whose transactions were
    not committed, and `refused` those that closed their channels. `publishers` are channels that have published.
    `stream_confirmed` are publishes through the stream protocol that were confirmed.
    `ended` has what sessions have counted that are gone, by protocol.
    """

    __slots__ = (
        "_gone",
        "_sizes",
        "_traffics",
        "churn",
        "deaths",
        "ended",
        "publishers",
        "received_confirm",
        "refused",
        "stream_confirmed",
        "uncommitted",
    )

    def __init__(self, sizes: "MessageSizes") -> None:
        self._sizes = sizes
        self._traffics: dict[Traffic, None] = {}  # of virtual hosts that are not gone with all they had
        self._gone = Traffic({})
        self.churn = Churn()
        self.deaths = {name: Deaths() for name in (DISABLED, AT_MOST_ONCE, AT_LEAST_ONCE)}
        self.ended: dict[str, Ended] = {}
        self.publishers = self.received_confirm = self.refused = self.uncommitted = 0
        self.stream_confirmed = 0

    def add(self, traffic: Traffic) -> None:
        """Count what a new virtual host counts."""
        self._traffics[traffic] = None

    def remove(self, traffic: Traffic) -> None:
        """Keep what a virtual host has counted that is gone."""
        del self._traffics[traffic]
        self._gone.vhost_gone(traffic)

    def count_uncommitted(self, received: int, kept: int) -> None:
        """Count messages that were received in a transaction, which kept so many of them for its commit."""
        self.received_confirm += received
        self.uncommitted += kept

    def count_committed(self, messages: int) -> None:
        """Count messages of a transaction that is committed."""
        self.uncommitted -= messages

    def of_death(self, limits: "QueueLimits") -> Deaths:
        """Return the counts of queues with these limits."""
        if limits.dead_letter_exchange is None:
            return self.deaths[DISABLED]
        return self.deaths[AT_LEAST_ONCE if limits.at_least_once else AT_MOST_ONCE]

    def session_ended(self, session: "PeerSession") -> None:
        """Keep what a session has counted that is gone."""
        ended = self.ended.setdefault(session.protocol, Ended())
        ended.published += session.published
        ended.delivered += session.delivered

    def total(self, name: str) -> int:
        """Return a count of the virtual hosts, by its name in Traffic."""
        return self._gone.total(name) + sum([traffic.total(name) for traffic in self._traffics])

    @property
    def received(self) -> int:
        """Return how many messages publishers have sent."""
        return self._sizes.messages + self.refused

    @property
    def published(self) -> int:
        """Return how many of these were published: neither refused nor held by a transaction."""
        return self._sizes.messages - self.uncommitted

    @property
    def routed(self) -> int:
        """Return how many messages of publishers queues were sent, counted once for each queue."""
        return self._gone.routed + sum([traffic.routed for traffic in self._traffics])

    @property
    def given(self) -> int:
        """Return how many messages were delivered to consumers or fetched."""
        return self.total("delivered") + self.total("delivered_no_ack") + self.total("got")
