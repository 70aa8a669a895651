"""A channel and its session as the core sees them: the state that deliveries and settles share.

The classes of each protocol extend these; the core knows neither methods nor sockets.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from pybroker.core.channel.credit import Credit
from pybroker.core.channel.requeue import give_back, settle
from pybroker.core.channel.throttle import (
    RESOURCE,
    AlarmCause,
    RemovalCause,
    RequeueCause,
    Throttle,
    ThrottleCause,
)
from pybroker.core.channel.unacked import Batch, Unacked
from pybroker.session import Session, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pybroker.core.auth.users import User
    from pybroker.core.broker import Broker
    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.channel.timed_out import TimedOutTags
    from pybroker.core.exchange.trace import Party
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.removal import Removal
    from pybroker.core.topology.vhost import VHost
    from pybroker.run import Entry


# A session that published so recently is expected to go on: while there is an alarm it is read in small portions until
# it publishes again, so that a flood of all of them together fills no memory that is short already.
PUBLISHING_MS: Final = 10_000
ALARM_READ_OCTETS: Final = 4_096


class SessionState(Session):
    """A session that can own exclusive queues. Operators know it by its `name`.

    While `outbox_full` nothing is delivered to any of its channels.
    `throttle` has the reasons for which it is not read, and `readable` says that there are none. It is `publishing` if
    it did so some seconds ago, and since the last alarm was set: that one blocks it with the next publish.
    `portion_octets` is how much is read at a time until then, 0: as much as usual.
    """

    name: str

    __slots__ = (
        "_acked",
        "_delivered",
        "_published",
        "broker",
        "channels",
        "credit",
        "exclusive_queues",
        "id",
        "outbox_full",
        "portion_octets",
        "published_ms",
        "publishing",
        "throttle",
        "user",
        "vhost",
    )

    def __init__(self, broker: "Broker", turn: Turn, session_id: int) -> None:
        super().__init__(turn)
        self.broker = broker
        self.id = session_id
        self.outbox_full = False
        self.user: User | None = None
        self.vhost: VHost | None = None
        self.exclusive_queues: dict[Queue, None] = {}
        self.channels: Mapping[int, ChannelState] = {}
        self._published = self._delivered = self._acked = 0  # messages, on channels that are closed
        self.publishing = False
        self.published_ms = 0  # when it began to be
        self.portion_octets = 0
        self.throttle = Throttle()
        self.credit = Credit(self)

    # -- who it belongs to --------------------------------------------------------------------------------------------

    def enter(self, vhost: "VHost") -> None:
        """Be a connection of the user to a virtual host from now on; limits count it."""
        assert self.user is not None
        self.vhost = vhost
        vhost.sessions[self] = None
        self.user.sessions[self] = None

    def leave(self) -> None:
        """Be none any more. Idempotent."""
        if self.vhost is not None and self.user is not None:
            self.vhost.sessions.pop(self, None)
            self.user.sessions.pop(self, None)

    def count_channels(self, more: int) -> None:
        """Count channels that were opened, or (below zero) are gone: limits are checked without a walk over them."""
        assert self.user is not None
        self.user.channels += more
        self.broker.channels += more

    # -- what it has counted ------------------------------------------------------------------------------------------

    @property
    def published(self) -> int:
        """Return how many messages it has published, a transaction's when it was committed."""
        return self._published + sum([channel.published for channel in self.channels.values()])

    @property
    def delivered(self) -> int:
        """Return how many messages were delivered to it, or fetched by it."""
        return self._delivered + sum([channel.delivered_or_got for channel in self.channels.values()])

    @property
    def acked(self) -> int:
        """Return how many messages it has acknowledged."""
        return self._acked + sum([channel.acked for channel in self.channels.values()])

    def channel_closed(self, channel: "ChannelState") -> None:
        """Keep what a channel has counted; it is none of the open ones any more."""
        self._published += channel.published
        self._delivered += channel.delivered_or_got
        self._acked += channel.acked

    # -- when it is not read (flow control) ---------------------------------------------------------------------------

    def stop_reading(self, cause: ThrottleCause) -> None:
        """Have nothing read from the peer until this cause, and all others, are gone."""
        self.throttle.stop(cause, self.broker.clock.now_ms)
        self.readable = False

    def resume_reading(self, cause: ThrottleCause) -> None:
        """Learn that this cause is gone, if it was one."""
        if self.throttle.resume(cause, self.broker.clock.now_ms):
            self.readable = True
            self.reading_resumed()

    def wait_for(self, removal: "Removal", cause: ThrottleCause | None = None) -> None:
        """Have nothing read from the peer until something is gone with all that hung on it."""
        cause = RemovalCause() if cause is None else cause
        self.stop_reading(cause)
        removal.call_backs.append(partial(self.resume_reading, cause))

    def reading_resumed(self) -> None:
        """Learn that the peer is read again."""
        self.mark_dirty()  # its driver looks at the end of the turn

    def first_published(self) -> None:
        """Learn that it publishes, for the first time in some seconds or since an alarm was set, which blocks it."""
        self.publishing = True
        self.published_ms = self.broker.clock.now_ms
        if self.broker.alarms:
            self.stop_reading(AlarmCause(self.broker.alarms.resources))

    def forget_published(self, now_ms: int) -> None:
        """Forget a publish after some seconds: a client that drains queues must not be blocked for it."""
        if self.publishing and not self.throttle.blocked and now_ms - self.published_ms >= PUBLISHING_MS:
            self.publishing = False

    def heed_alarms(self) -> None:
        """While there is an alarm, be blocked with the next publish; go on when there is none."""
        if not self.broker.alarms:
            self.portion_octets = 0
            if self.throttle.blocked:
                self.publishing = False
                self.resume_reading(RESOURCE)
        elif self.publishing and not self.throttle.blocked:
            self.publishing = False
            self.read_octets = self.portion_octets = ALARM_READ_OCTETS

    def heed_pauses(self) -> None:
        """Go on if no paused queue is in the way any more."""
        raise NotImplementedError

    def queued(self, octets: int) -> None:
        """Count octets that a consumer put into the outbox."""
        raise NotImplementedError


class ChannelState:
    """Deliveries of one channel, and counts of messages since it was opened.

    `unacked_consumed`, the global limit's count, is `unacked` without what get took. `got` counts all gets, those
    without acknowledgement too; `redelivered` is in `got` and in the deliveries. Consumers count their deliveries
    themselves.
    """

    __slots__ = (
        "_delivered",
        "_delivered_no_ack",
        "acked",
        "consumers",
        "dropped",
        "got",
        "got_empty",
        "got_no_ack",
        "last_served",
        "may_deliver",
        "next_tag",
        "prefetch_global",
        "published",
        "redelivered",
        "returned",
        "session",
        "timed_out",
        "unacked",
        "unacked_consumed",
    )

    def __init__(self, session: SessionState) -> None:
        self.session = session
        self.next_tag = 1
        self.unacked = Unacked()
        self.unacked_consumed = 0
        self.timed_out: TimedOutTags | None = None  # deliveries that timed out, since there was one
        self.prefetch_global = 0
        self.last_served: Consumer | None = None
        self.may_deliver = True
        self.consumers: dict[str, Consumer] = {}
        self.published = self.returned = self.dropped = 0
        self.got = self.got_no_ack = self.got_empty = self.redelivered = self.acked = 0
        self._delivered = self._delivered_no_ack = 0  # to consumers that are gone

    @property
    def pid(self) -> str:
        """Return its id as rabbitmqctl shows one."""
        raise NotImplementedError

    @property
    def party(self) -> "Party":
        """Return the consumer of this channel as the firehose names it."""
        raise NotImplementedError

    # -- what it has counted ------------------------------------------------------------------------------------------

    @property
    def delivered(self) -> int:
        """Return how many messages its consumers were delivered that are to be acknowledged."""
        return self._delivered + sum([each.delivered for each in self.consumers.values() if not each.no_ack])

    @property
    def delivered_no_ack(self) -> int:
        """Return how many messages its consumers were delivered without acknowledgement."""
        return self._delivered_no_ack + sum([each.delivered for each in self.consumers.values() if each.no_ack])

    @property
    def delivered_or_got(self) -> int:
        """Return how many messages it was given in any way."""
        gone = self._delivered + self._delivered_no_ack
        return gone + sum([consumer.delivered for consumer in self.consumers.values()]) + self.got

    @property
    def confirmed(self) -> int:
        """Return how many of its publishes were confirmed."""
        return 0

    def consumer_gone(self, consumer: "Consumer") -> None:
        """Keep what a consumer has counted; it is none of the channel's any more."""
        if consumer.no_ack:
            self._delivered_no_ack += consumer.delivered
        else:
            self._delivered += consumer.delivered
        consumer.gone()

    def count_redelivered(self, messages: int) -> None:
        """Count messages that it was given and that had been delivered before."""
        self.redelivered += messages

    def count_get(self, entry: "Entry | None", *, no_ack: bool) -> None:
        """Count a fetch that found this, or nothing."""
        self.got += entry is not None
        self.got_no_ack += no_ack and entry is not None
        self.got_empty += entry is None
        self.redelivered += entry is not None and entry.deliveries != 0

    # -- settled, returned --------------------------------------------------------------------------------------------

    def settle(self, batches: list[Batch]) -> None:
        """Acknowledge: the queues forget these messages, the consumers get their credit back."""
        vhost = self.session.vhost
        assert vhost is not None
        if vhost.tracing:
            vhost.broker.traces.settled(batches, "ack", self)
        count = 0
        for batch in batches:
            queue, indexes = batch.queue, batch.indexes
            n = len(indexes)
            count += n
            queue.settled(batch.run, indexes)
            queue.acked += n
            self._credit_back(batch.consumer, n)
        self.acked += count
        vhost.traffic.acked += count
        if self.prefetch_global:
            self.resume_consumers()

    def ack_all(self, batches: list[Batch]) -> None:
        """Acknowledge. While very many are settled in shares the peer is not read: its next frames come after."""
        removal = settle(batches, self)
        if removal is not None:
            self.session.wait_for(removal, RequeueCause())

    def give_back(
        self, batches: list[Batch], *, requeue: bool, at_once: bool = False, failed: bool = False
    ) -> "Removal | None":
        """Reject or requeue: to the original place, or to the dead letter exchange.

        A consumer may have `failed`, which counts for a delayed retry.

        While very many go in shares, unless all go `at_once`, the peer is not read: its next method finds them done.
        Return what an answer has to wait for, if any.
        """
        removal = give_back(batches, requeue=requeue, channel=self, at_once=at_once, failed=failed)
        if removal is not None:
            self.session.wait_for(removal, RequeueCause())
        return removal

    def credit_back(self, batches: list[Batch]) -> None:
        """Give the consumers credit for what is rejected or requeued."""
        for batch in batches:
            self._given_back(batch.consumer, len(batch.indexes))

    def credited(self) -> None:
        """Let consumers that share the channel's limit go on: credit was given back."""
        if self.prefetch_global:
            self.resume_consumers()

    def answer_timed_out(self, first: int, last: int) -> bool:
        """Take the answer to deliveries that timed out: their consumers get credit for it. False if it is to none."""
        spans = [] if self.timed_out is None else self.timed_out.answered(first, last)
        if not spans:
            return False
        broker = self.session.broker
        count = sum(span.last - span.first + 1 for span in spans)
        broker.warn(
            "consumer.late_ack",
            f"late {self!r}",
            f"{self!r} has answered delivery tag {spans[0].first} ({count} in all) after its consumer timeout: "
            "ignored, because the message was requeued",
            self.session,
        )
        for span in spans:
            self._given_back(span.consumer, span.last - span.first + 1)
        if self.prefetch_global:
            self.resume_consumers()
        return True

    def resume_consumers(self) -> None:
        """Let consumers that waited for flow, credit or outbox be served again."""
        consumers = list(self.consumers.values())
        if self.prefetch_global and self.last_served in consumers:
            # Share the rest of the channel's limit in turn, rather than always giving it to the first consumers.
            after = consumers.index(self.last_served) + 1
            consumers = consumers[after:] + consumers[:after]
        for consumer in consumers:
            if consumer.waiting:
                consumer.resume()

    def _given_back(self, consumer: "Consumer | None", n: int) -> None:
        if consumer is not None:
            consumer.count_given_back(n)
            self._credit_back(consumer, n)

    def _credit_back(self, consumer: "Consumer | None", n: int) -> None:
        if consumer is None:
            return
        consumer.unacked -= n
        self.unacked_consumed -= n
        # If the channel has a limit of its own, any consumer may go on: the caller tells all of them, once.
        if consumer.waiting and not self.prefetch_global:
            consumer.resume()
