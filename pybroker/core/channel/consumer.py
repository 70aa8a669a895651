"""A consumer of one queue: its identity, and how much it can take now.

The door subclasses it and implements `deliver`; nothing here knows frames.
"""

from typing import TYPE_CHECKING, ClassVar, Final

from pybroker.core.channel.unacked import Batch

if TYPE_CHECKING:
    from pybroker.core.channel.state import ChannelState
    from pybroker.core.queue.pause import Pause
    from pybroker.core.queue.queue import Queue
    from pybroker.entries_run import EntriesRun
    from pybroker.run import Entry, Run

# The credit of a consumer without prefetch limit. Auto-ack consumers are bounded by their session's outbox only.
UNLIMITED: Final = 1 << 30


class Consumer:
    """Invariants: `unacked` counts its outstanding deliveries; while `waiting` it is not in its queue's ring.

    `delivered` counts its messages, and `given_back` those of them that it or the broker gave back, or rejected.

    `prefetch` 0 means no limit (AMQP §1.8.3.2 as RabbitMQ reads it: per consumer). Higher `priority` is served first.
    One that `takes_chunks`, of a stream, gets chunks, and its credit counts them.
    """

    takes_chunks: ClassVar[bool] = False

    __slots__ = (
        "active",
        "arguments",
        "cancelled",
        "channel",
        "delivered",
        "exclusive",
        "given_back",
        "no_ack",
        "no_local",
        "paused",
        "prefetch",
        "priority",
        "queue",
        "tag",
        "unacked",
        "waiting",
    )

    def __init__(
        self, queue: "Queue", channel: "ChannelState", tag: str, *, no_ack: bool, exclusive: bool, prefetch: int
    ) -> None:
        self.queue = queue
        self.channel = channel
        self.tag = tag
        self.no_ack = no_ack
        self.exclusive = exclusive
        self.prefetch = prefetch
        self.no_local = False  # messages of its own session are not enqueued: in exclusive queues only
        self.priority = 0
        self.arguments: dict[str, object] = {}
        self.unacked = 0
        self.delivered = self.given_back = 0
        self.active = True  # False: registered, but paused, or another one is the single active consumer
        self.paused: Pause | None = None  # an operator's order: it is not active then
        self.waiting = False
        self.cancelled = False

    @property
    def takes_stored(self) -> bool:
        """Tell whether a chunk may stay in its stream's files until it is sent."""
        return False

    def credit(self) -> int:
        """Return how many messages may be delivered now, 0 if none."""
        channel = self.channel
        if not channel.may_deliver or channel.session.outbox_full:
            return 0
        limit = channel.prefetch_global
        if self.no_ack:
            # It does not count against the channel's limit, but waits for it (RabbitMQ: rabbit_limiter.erl, can_send).
            return UNLIMITED if not limit or channel.unacked_consumed < limit else 0
        credit = self.prefetch - self.unacked if self.prefetch else UNLIMITED
        if limit:
            credit = min(credit, limit - channel.unacked_consumed)
        return credit if credit > 0 else 0  # noqa: FURB136 - asked four times for a delivery: a call would cost as much

    @property
    def acked(self) -> int:
        """Return how many messages it has acknowledged."""
        return 0 if self.no_ack else self.delivered - self.unacked - self.given_back

    def count_given_back(self, messages: int) -> None:
        """Count messages that it was delivered and is not to acknowledge any more."""
        self.given_back += messages

    @property
    def is_full(self) -> bool:
        """Tell whether it has as many unacknowledged messages as its prefetch allows."""
        channel = self.channel
        return not self.no_ack and (
            0 < self.prefetch <= self.unacked or 0 < channel.prefetch_global <= channel.unacked_consumed
        )

    def dispatch(self, run: "Run", indexes: range, deliveries: int, now_ms: int) -> None:
        """Deliver, and remember what must be acknowledged; without acknowledgement it is settled by that."""
        channel = self.channel
        n = len(indexes)
        first_tag = channel.next_tag
        channel.next_tag = first_tag + n
        if not self.no_ack:
            channel.unacked.append(Batch(first_tag, self.queue, self, run, indexes, deliveries, now_ms))
            channel.unacked_consumed += n
            self.unacked += n
            channel.last_served = self
        self.delivered += n
        channel.session.queued(self.deliver(run, indexes, deliveries, first_tag))

    def dispatch_all(self, entries: "list[Entry]", count: int, now_ms: int) -> None:
        """Do the same for many entries, `count` messages in all, counting only once."""
        channel, no_ack = self.channel, self.no_ack
        tag = channel.next_tag
        channel.next_tag = tag + count
        octets = 0
        for entry in entries:
            indexes = entry.indexes
            if not no_ack:
                channel.unacked.append(Batch(tag, self.queue, self, entry.run, indexes, entry.deliveries, now_ms))
            octets += self.deliver(entry.run, indexes, entry.deliveries, tag)
            tag += len(indexes)
        if not no_ack:
            channel.unacked_consumed += count
            self.unacked += count
            channel.last_served = self
        self.delivered += count
        channel.session.queued(octets)

    def deliver(self, run: "Run", indexes: range, deliveries: int, first_tag: int) -> int:
        """Put the messages into the peer's outbox; return how many octets that is."""
        raise NotImplementedError

    def deliver_chunk(self, run: "EntriesRun", now_ms: int) -> None:
        """Deliver a chunk of a stream, all of it; this is its credit's use."""
        raise NotImplementedError

    def passed_over(self, run: "Run", now_ms: int) -> None:
        """Learn that messages of a stream do not pass its filter."""

    def came_to(self, offset: int) -> None:
        """Learn that it has got what there is of a stream before an offset."""

    def gone(self) -> None:
        """Learn that it is none of the channel's any more."""

    def cancelled_by_server(self) -> None:
        """Tell the peer that the queue is gone (consumer_cancel_notify)."""
        raise NotImplementedError

    def obey(self, order: "Pause | None") -> None:
        """Be delivered nothing, as an operator ordered; None: go on."""
        before, self.paused = self.paused, order
        if order is None:
            self.queue.consumers.unpause(self)
            self.queue.wake()
        elif before is None:
            self.queue.consumers.pause(self)

    def resume(self) -> None:
        """Stand in the queue's ring again if there is credit."""
        if self.waiting and not self.cancelled and self.credit() > 0:
            self.queue.consumers.resume(self)
            self.queue.wake()
