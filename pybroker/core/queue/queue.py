"""Queue: entries in, entries out. Classic semantics; features are in modules of their own.

Costs are per entry, never per message. Knows consumers by their base class and nothing of frames. Invariants:
every message is in exactly one of: its backlog, a channel's unacked, the broker's `dead_letters`, or nowhere.
"""

from typing import TYPE_CHECKING, Any, ClassVar, Final

from pybroker.core.auth.permissions import READ, check
from pybroker.core.policy.limits import DROP_HEAD
from pybroker.core.policy.policy import UNRULED
from pybroker.core.queue import basic_get, dispatch, expiry, overflow, pause, recover
from pybroker.core.queue.backlog import Backlog
from pybroker.core.queue.browse.peek import Wish, peek
from pybroker.core.queue.dead_letter import route
from pybroker.core.queue.destination import UNLIMITED, Destination
from pybroker.core.queue.paging import eviction
from pybroker.core.queue.paging.eviction import PACK_BEHIND_MESSAGES, RESIDENT_OCTETS
from pybroker.core.queue.retry.delayed import DelayedMessages
from pybroker.core.queue.ring import Consumers
from pybroker.core.resources import memory_usage
from pybroker.core.stats.fates import Fates
from pybroker.run import Entry, Run, known_deliveries

if TYPE_CHECKING:
    from array import array
    from collections import deque
    from collections.abc import Callable, Iterator

    from pybroker.core.auth.users import User
    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.channel.state import SessionState
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.events.cause import Cause
    from pybroker.core.policy.limits import QueueLimits
    from pybroker.core.queue.pause import Pause
    from pybroker.core.queue.ready import Level
    from pybroker.core.stats.history import History
    from pybroker.core.topology.vhost import VHost
    from pybroker.wire.table import Table

# More than this ready although there are consumers: they are behind (share).
BACKLOG_MESSAGES: Final = 2_000
BACKLOG_OCTETS: Final = 1_048_576
# Consumers that took nothing for this long are not busy but stuck; holding publishers would not help them.
BUSY_MS: Final = 20


class Queue(Destination):
    """A named queue. `owner` is the session of an exclusive queue; `backlog` has the messages."""

    kind: ClassVar[str] = "queue"
    state: ClassVar[str] = "running"  # a queue here has no other one

    __slots__ = (
        "acked",
        "applied",
        "arguments",
        "auto_delete",
        "backlog",
        "consumers",
        "declared_ms",
        "delayed",
        "delivered",
        "delivered_ms",
        "delivered_no_ack",
        "dropped",
        "exclusive",
        "expired",
        "expires_at_ms",
        "fates",
        "got",
        "got_empty",
        "got_no_ack",
        "history",
        "limits",
        "overdue",
        "owner",
        "published",
        "redelivered",
        "refused_origin",
        "rejecting",
        "returns",
        "timed",
        "timer_ms",
        "type",
        "unreadable",
        "user",
        "waiting",
    )

    def __init__(
        self,
        vhost: "VHost",
        name: str,
        *,
        durable: bool,
        auto_delete: bool,
        owner: "SessionState | None",
        arguments: "Table",
        limits: "QueueLimits",
        user: str = "",
    ) -> None:
        super().__init__(vhost, name, durable=durable)
        self.auto_delete = auto_delete
        self.exclusive = owner is not None
        self.owner = owner
        self.arguments = arguments
        self.type = limits.queue_type
        self.user = user
        self.backlog = Backlog(limits.priority_max, durable=durable)
        self.consumers = Consumers(single_active=limits.single_active_consumer)
        self.applied = UNRULED  # policies
        self.delayed: DelayedMessages | None = None  # since a message had to wait for its retry
        self.waiting: deque[Callable[[], None]] | None = None  # gets, until an evicted head is back
        self.delivered_ms = -BUSY_MS  # when something was handed to a consumer last
        self.timed = False  # a message may have a TTL
        self.timer_ms = 0  # when the timer is to look at the head; 0: not set
        self.overdue = False  # heads that are due wait for the next turn: nothing is delivered before
        self.returns = 0  # connections and channels from which messages still come back: nothing is handed out before
        self.refused_origin = 0  # no_local: the session whose own messages are not enqueued; 0: none
        self.expires_at_ms = 0  # x-expires: when the queue goes if nobody uses it; 0: never
        self.set_limits(limits)
        self.published = self.delivered = self.delivered_no_ack = self.redelivered = 0
        self.acked = self.got = self.got_no_ack = self.got_empty = self.expired = self.dropped = self.unreadable = 0
        self.fates = Fates()
        self.declared_ms = vhost.broker.clock.now_ms
        self.history: History | None = None  # since it was seen to move

    # -- what others ask ----------------------------------------------------------------------------------------------

    @property
    def messages(self) -> int:
        """Return ready, unacknowledged and delayed messages together, as `list_queues` counts them."""
        return self.backlog.messages + route.held(self)[0]

    @property
    def messages_ready(self) -> int:
        """Return how many messages wait for a consumer."""
        return self.backlog.messages_ready

    @property
    def messages_unacknowledged(self) -> int:
        """Return how many messages were delivered and not acknowledged yet."""
        return self.backlog.messages_unacknowledged

    @property
    def messages_delayed(self) -> int:
        """Return how many messages came back and wait for their retry."""
        return self.backlog.messages_delayed

    @property
    def messages_resident(self) -> int:
        """Return how many ready messages have their contents in memory."""
        return self.backlog.messages_resident

    @property
    def octets_resident(self) -> int:
        """Return the octets of these messages' bodies."""
        return self.backlog.octets_resident

    @property
    def consumer_count(self) -> int:
        """Return how many consumers are subscribed."""
        return len(self.consumers)

    @property
    def in_use(self) -> bool:
        """Tell whether it has consumers (queue.delete if-unused)."""
        return len(self.consumers) > 0

    @property
    def backlogged(self) -> bool:
        """Tell whether consumers are at work and behind, so that publishers are read less (share)."""
        if self.backlog.messages_ready <= BACKLOG_MESSAGES and self.backlog.octets_ready <= BACKLOG_OCTETS:
            return False
        return self.vhost.broker.clock.now_ms - self.delivered_ms < BUSY_MS

    @property
    def delivers_at_once(self) -> bool:
        """Tell whether a consumer would get a message now: nothing is ready before it."""
        if self.backlog.messages_ready or self.returns or self.paused is not None:
            return False
        return self.consumers.next() is not None

    def has_room(self, octets: int) -> bool:
        """Tell whether it would take a message whose body has so many octets, and not refuse it as too much."""
        return not self.rejecting or overflow.has_room(self, octets)

    def room(self) -> tuple[int, int]:
        """Return how many messages more it may have, and how many octets of bodies, whatever it does with others."""
        return overflow.room(self) if self.bounded else UNLIMITED

    @property
    def memory_octets(self) -> int:
        """Return about what its messages take in memory (list_queues)."""
        return memory_usage.of_queue(self)

    def begin_history(self, history: "History") -> None:
        """Have what it counts sampled there from now on (`stats/rates`)."""
        self.history = history

    def set_limits(self, limits: "QueueLimits") -> None:
        """Replace the limits; questions of the hot path are answered once, here."""
        self.limits = limits
        self.vhost.broker.timeouts_differ |= limits.consumer_timeout_ms is not None
        lengths = limits.length_max is not None or limits.octets_max is not None
        self.bounded = lengths or limits.message_ttl_ms is not None
        self.timed = self.timed or limits.message_ttl_ms is not None
        self.rejecting = lengths and limits.overflow != DROP_HEAD
        # A smaller message may fit where the one before it did not, and what expires behind a dropped head leaves its
        # room to the next: so each is looked at alone.
        smaller_may_fit = self.rejecting and limits.octets_max is not None
        self.one_by_one = smaller_may_fit or limits.message_ttl_ms == 0 or (lengths and self.timed)

    # -- reading without a trace --------------------------------------------------------------------------------------

    def peek(
        self, user: "User | None", pause: "Callable[[float], object]", **wish: Any
    ) -> "Iterator[list[dict[str, Any]]]":
        """Yield its messages as documents, as a `Wish` with these fields says; `pause` lets others go on.

        Raises AccessRefused (403): `user` may not read it.
        """
        check(user, self.vhost.name, READ, "queue", self.name)
        return peek(self, Wish(**wish), pause)

    # -- in -----------------------------------------------------------------------------------------------------------

    def enqueue(self, run: "Run", indexes: range, receipt: "Receipt") -> None:
        """Append messages at the tail. If that exceeds a limit, drop the oldest, or refuse the new ones."""
        if self.refused_origin and self.refused_origin == run.origin:
            return
        n, backlog, ttl_ms = len(indexes), self.backlog, run.attributes.ttl_ms
        if ttl_ms is not None and not self.timed:
            self.timed = True
            self.set_limits(self.limits)
        if n > 1 and (self.one_by_one or ttl_ms == 0):
            for i in indexes:
                self.enqueue(run, range(i, i + 1), receipt)
            return
        bounded = self.bounded or ttl_ms is not None
        if bounded:
            # As if one message came at a time: what was here has its turn first, then the new ones may be too many.
            if backlog.messages_ready:
                self.deliver(self.vhost.broker.clock.now_ms)
            if self.rejecting and overflow.refused(self, run, indexes, receipt):
                return
        self.published += n
        level = backlog.enqueue(run, indexes)
        if bounded:
            self._keep_limits(level, n, receipt)
        elif not self.awake and self.consumers:
            self.wake()
        if backlog.messages_ready > PACK_BEHIND_MESSAGES or backlog.octets_ready > RESIDENT_OCTETS:
            eviction.save_memory(self, level)

    def _keep_limits(self, level: "Level", new: int, receipt: "Receipt") -> None:
        """Let consumers take what they can before anything counts as too much or too old."""
        now_ms = self.vhost.broker.clock.now_ms
        self.deliver(now_ms, expire=False)
        overflow.enforce(self, level, new, receipt)
        if self.timed:
            expiry.expire(self, now_ms)

    # -- out ----------------------------------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Deliver what this turn has enqueued, before somebody looks or leaves: methods take effect in order."""
        if self.awake:
            self.deliver(self.vhost.broker.clock.now_ms)

    def deliver(self, now_ms: int, *, expire: bool = True) -> None:
        """Deal what is ready to the consumers that are able, at most one turn's share; the rest wakes it again."""
        dispatch.deliver(self, now_ms, expire=expire)
        if self.backlog.messages_evicted:
            eviction.load_ahead(self, now_ms)

    def get(self, *, no_ack: bool) -> Entry | None:
        """Take one message from the head for basic.get; None if nothing is ready."""
        return basic_get.get(self, no_ack=no_ack)

    def count_get(self, entry: Entry | None, *, no_ack: bool) -> None:
        """Count a fetch that found this, or nothing."""
        self.got += entry is not None
        self.got_no_ack += no_ack and entry is not None
        self.got_empty += entry is None
        self.redelivered += entry is not None and entry.deliveries != 0
        self.vhost.traffic.count_get(entry, no_ack=no_ack)

    def wait_for_head(self, call_back: "Callable[[], None]") -> bool:
        """Tell whether `get` has its answer now; else call back once, when it has, in the order of the calls."""
        return basic_get.wait_for_head(self, call_back)

    # -- settled, returned --------------------------------------------------------------------------------------------

    def settled(self, run: "Run", indexes: range) -> None:
        """Forget unacknowledged messages for good."""
        self.backlog.settle(run, indexes)
        if self.durable:
            self.forget(run, indexes)

    def forget(self, run: "Run", indexes: range) -> None:
        """Tell the log that these messages are done with: acknowledged, dropped or sent on."""
        if (
            self.durable
            and run.attributes.persistent
            and (not self.deleted or ("queue", self.name) in self.vhost.leaving)
        ):
            self.log.settle(self.id, run, indexes)

    def give_back(self, batches: "list[Batch]", *, failed: bool = False) -> None:
        """Put unacknowledged messages back to their original place, or have them wait for their retry.

        Delivered too often, they are dead.
        """
        if not self.deleted:
            dispatch.requeue(self, batches, failed=failed)
            self._look_at_heads()

    def delay(self, entries: list[Entry], due_ms: int) -> None:
        """Have unacknowledged messages wait until then."""
        self.backlog.delay(entries)
        if self.delayed is None:
            self.delayed = DelayedMessages(self)
        self.delayed.add(entries, due_ms)
        if self.vhost.tracing:
            self.vhost.broker.traces.retry_delayed(self, entries, due_ms)

    def retry(self, entries: list[Entry]) -> None:
        """Take delayed messages back to their original place: they are due."""
        self.backlog.retry(entries)
        if self.vhost.tracing:
            self.vhost.broker.traces.retried(self, entries)
        self._look_at_heads()
        if self.waiting:
            basic_get.answer(self)

    def delayed_came(self) -> None:
        """Learn that delayed messages were read back."""
        assert self.delayed is not None
        self.delayed.came()

    def hold(self) -> None:
        """Deliver, expire and drop nothing before `release`: messages older than the heads come back in shares."""
        self.returns += 1

    def release(self) -> None:
        """Go on if all of it is back; with several that hold, the last one's release counts."""
        self.returns -= 1
        if not self.returns:
            if not self.deleted:
                self._look_at_heads()
            if self.waiting:
                basic_get.answer(self)

    def head_came(self) -> None:
        """Go on with what waited for an evicted head, or learn that it will not come."""
        if self.waiting:
            basic_get.answer(self)
        if self.deleted:
            return
        if self.bounded:
            self.deliver(self.vhost.broker.clock.now_ms)
            overflow.drop_heads(self, late=True)
        self._look_at_heads()

    def _look_at_heads(self) -> None:
        """Do what other heads than before may mean; while messages come back, `release` does it."""
        if self.returns:
            return
        if self.bounded:
            overflow.drop_heads(self)
        if self.timed:
            expiry.expire(self, self.vhost.broker.clock.now_ms)
        if self.consumers:
            self.wake()

    def reject(self, batches: "list[Batch]") -> None:
        """Drop unacknowledged messages that nobody wants; with a dead letter exchange they go there."""
        if self.deleted:
            return
        for batch in batches:
            self.backlog.settle(batch.run, batch.indexes)
        route.depart(self, [Entry(b.run, b.indexes, known_deliveries(b.deliveries) + 1) for b in batches], "rejected")

    def obey(self, order: "Pause | None") -> None:
        """Have publishers or consumers wait, or be refused, as an operator ordered; None: all go on."""
        self.paused = order
        pause.apply(self)

    def purge(self) -> int:
        """Drop what is ready or delayed; return how many messages that were."""
        count = self.backlog.messages_ready + self.backlog.messages_delayed
        purge_task = self.vhost.broker.purge_task
        purge_task.add(self, self.backlog.clear())
        if self.delayed is not None:
            self.backlog.clear_delayed()
            purge_task.add(self, self.delayed.clear())
        if self.vhost.tracing:
            self.vhost.broker.traces.emptied(self)
        if self.waiting:
            basic_get.answer(self)
        self.fates.purge(0 if self.deleted else count)
        return count

    def consumer_left(self, cause: "Cause") -> None:
        """Do what a consumer's leaving means; that of the last one: auto-delete, or the start of x-expires."""
        if self.deleted:
            return
        if self.refused_origin and not any(consumer.no_local for consumer in self.consumers):
            self.refused_origin = 0
        if self.consumers:
            self.wake()  # the heir of a single active consumer may find what that one could not take
        elif self.auto_delete:
            self.vhost.delete_queue(self, cause)
        else:
            self.touch()

    def touch(self) -> None:
        """Start x-expires anew: the queue was used (declared, got from, or its last consumer left)."""
        if self.limits.expires_ms is not None:
            broker = self.vhost.broker
            self.expires_at_ms = 0 if self.consumers else broker.clock.now_ms + self.limits.expires_ms
            if self.expires_at_ms:
                broker.timers.add(self.expires_at_ms, self)

    # -- timers, and a start ------------------------------------------------------------------------------------------

    @property
    def due_times(self) -> tuple[int, ...]:
        """Return when a head expires, the queue itself, and when delayed messages are to be looked at."""
        return self.timer_ms, self.expires_at_ms, 0 if self.delayed is None else self.delayed.look_ms

    def due(self, now_ms: int) -> int:
        """Expire heads that are due, or the queue, and retry what is due; return what that cost."""
        cost = expiry.timer(self, now_ms)
        return cost if self.delayed is None or self.deleted else cost + self.delayed.return_due(now_ms)

    @property
    def counts_deliveries(self) -> bool:
        """Tell whether a delivery limit counts them, or delays do."""
        return self.limits.delivery_limit is not None or self.limits.retry is not None

    def restore(self, parts: "list[recover.Part]", others: int, returned: "recover.Returned | None" = None) -> None:
        """Take what the log had for this queue when the broker started."""
        recover.restore(self, parts, others, returned)
        self.vhost.broker.rates.restored(self)

    def restore_delayed(self, columns: "list[array[int]]") -> None:
        """Take what of it waits for its retry."""
        self.delayed = DelayedMessages(self)
        self.delayed.restore(columns)

    def __repr__(self) -> str:
        return f"queue '{self.name}' in vhost '{self.vhost.name}'"
