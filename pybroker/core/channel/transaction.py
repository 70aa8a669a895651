"""A transaction of one channel ([tx]): publishes and acknowledgements that take effect at commit, or not at all.

Publishes are routed when they are made and enqueued at commit. Memory is bounded: above `tx_octets_max` the
channel is closed before more is kept.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.channel.publisher_sequence import sequence_of
from pybroker.errors import PreconditionFailed

if TYPE_CHECKING:
    from pybroker.core.channel.publisher_sequence import PublisherSequence
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.queue.destination import Destination
    from pybroker.core.routing.publish import Contents, Route

# A commit is one group of log records and is never split, so it must fit a batch of the journal.
TX_OCTETS_MAX: Final = 16_777_216


class Transaction:
    """`publishes` in order, of so many `messages`; `acks` as (ack | requeue | reject, batches) in order.

    `sequence` is what its publisher numbered it with, in the first message; None: it did not.
    """

    __slots__ = ("acks", "messages", "octets", "publishes", "sequence")

    def __init__(self) -> None:
        self.publishes: list[tuple[Route, Contents, tuple[Destination, ...]]] = []
        self.acks: list[tuple[str, list[Batch]]] = []
        self.messages = self.octets = 0
        self.sequence: PublisherSequence | None = None

    def publish(self, route: "Route", contents: "Contents", queues: "tuple[Destination, ...]") -> None:
        """Keep a publish until commit. Raises PreconditionFailed (406) above the limit, and for a wrong number."""
        self.octets += contents.octets
        # Differs from RabbitMQ: it has no limit. The largest message is above ours by its frames, and may come alone.
        if self.publishes and self.octets > TX_OCTETS_MAX:
            raise PreconditionFailed(f"transaction is larger than {TX_OCTETS_MAX} octets: commit more often")
        if not self.publishes:
            self.sequence = sequence_of(contents.contents[0])
        self.messages += len(contents.contents)
        self.publishes.append((route, contents, queues))

    def taken(self) -> "list[Batch]":
        """Return every batch that waits for commit."""
        return [batch for _, batches in self.acks for batch in batches]
