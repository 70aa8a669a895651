"""Schedule: the messages of one x-delayed-message exchange that wait for their time.

The router finds it instead of queues, and the log keeps its persistent messages under its id until they are published
on. Delays are counted on the clock that no operator sets, and go on through a restart; times are compared with the
clock on the wall, at least once a second, wherever somebody has set it. Both kinds leave in the order in which they are
due, those due at once in the order in which they were published.
"""

import heapq
import logging
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final

from pybroker.content_view import body_size, property_octets
from pybroker.core.delayed.cache import AROUND_OCTETS as FETCHED_OCTETS, DelayedCache
from pybroker.core.delayed.due import Due, due_in
from pybroker.core.delayed.index import ENTRY_OCTETS, DelayedIndex, Waiting
from pybroker.core.delayed.listing import walk
from pybroker.core.delayed.load import DelayedLoader
from pybroker.core.delayed.publish import DelayedPublisher
from pybroker.core.policy.pattern import NamePattern, PatternError
from pybroker.core.queue.destination import Destination
from pybroker.core.reply_text import describe
from pybroker.log_event import event
from pybroker.seq_ranges import merge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.delayed.cache import Cached
    from pybroker.core.delayed.listing import Listed
    from pybroker.core.exchange.delayed import DelayedExchange
    from pybroker.core.queue import recover
    from pybroker.run import Run

# Published on in one turn: some milliseconds.
TURN_MESSAGES: Final = 128
# How often times are compared with a clock that may have been set, and contents looked at that wait for the log.
LOOK_MS: Final = 1_000
# A timer is never set further ahead.
TIMER_MS_MAX: Final = 3_600_000
# No more is published on while this much waits for the disk, and for so long.
UNCOMMITTED_OCTETS_MAX: Final = 8_388_608
HOLD_MS: Final = 10
# Forgotten in one turn, of an exchange that was deleted.
FORGET_MESSAGES: Final = 8_192

# Of one whose content is in memory, beside its run, about.
CACHED_OCTETS: Final = 100

log = logging.getLogger("pybroker")


class Schedule(Destination):
    """`delays` goes by the clock's now_ms, `times` by its timestamp_ms. Nothing leaves before a start has read all."""

    kind: ClassVar[str] = "schedule"

    republishes: ClassVar[bool] = True

    __slots__ = (
        "_loader",
        "_publisher",
        "cache",
        "delays",
        "dropped",
        "exchange",
        "published",
        "timer_ms",
        "times",
        "unreadable",
    )

    def __init__(self, exchange: "DelayedExchange") -> None:
        super().__init__(exchange.vhost, "", durable=exchange.durable)
        self.exchange = exchange
        self.delays = DelayedIndex()
        self.times = DelayedIndex()
        self.cache = DelayedCache(self)
        self._publisher = DelayedPublisher(self)
        self._loader: DelayedLoader | None = None
        self.timer_ms = 0  # when it is to be looked at; 0: not set
        self.published = self.dropped = self.unreadable = 0
        exchange.vhost.schedules[self] = None

    # -- in -----------------------------------------------------------------------------------------------------------

    def enqueue(self, run: "Run", indexes: range, receipt: "Receipt") -> None:  # noqa: ARG002 - nothing is refused
        """Take messages that are not due yet."""
        cache = self.cache
        logged = self.durable and run.attributes.persistent
        look_ms = TIMER_MS_MAX + self.vhost.broker.clock.now_ms
        for index in indexes:
            content = run.content(index)
            size = body_size(content)
            delayed_index, due_ms = self._place(due_in(property_octets(content)), run.arrived_ms)
            delayed_index.add(due_ms, run.first_seq + index, size)
            due_ms -= 0 if delayed_index is self.delays else self._ahead(delayed_index)
            cache.put(run, index, size, due_ms, logged=logged)
            look_ms = min(look_ms, due_ms)
        self.published += len(indexes)
        cache.let_go()
        if look_ms < self.timer_ms or self.timer_ms <= run.arrived_ms or self.times or cache.crowded:
            self._look_at(look_ms)

    def _place(self, due: Due | None, arrived_ms: int) -> tuple[DelayedIndex, int]:
        if due is not None and due.time:
            return self.times, due.ms
        return self.delays, arrived_ms + (due.ms if due is not None else 0)

    def _ahead(self, delayed_index: DelayedIndex) -> int:
        """Return what the clock that this delayed_index goes by is ahead of now_ms."""
        clock = self.vhost.broker.clock
        return clock.timestamp_ms - clock.now_ms if delayed_index is self.times else 0

    @property
    def messages(self) -> int:
        """Return how many messages wait."""
        unread = 0 if self._loader is None else self._loader.left
        return len(self.delays) + len(self.times) + unread

    @property
    def messages_resident(self) -> int:
        """Return how many of them have their contents in memory."""
        return len(self.cache)

    @property
    def messages_evicted(self) -> int:
        """Return how many of them have their contents on disk only."""
        return self.messages - len(self.cache)

    # -- out ----------------------------------------------------------------------------------------------------------

    def deliver(self, now_ms: int, *, expire: bool = True) -> None:  # noqa: ARG002 - as a queue's
        """Publish on what is due, one turn's share of it."""
        if self.deleted:
            self._forget_some()
            return
        if self._loader is not None:
            self._go_on_reading(self._loader)
            return
        cache = self.cache
        cache.let_go()
        more = self.messages_evicted > 0 and cache.read_ahead(urgent=False)
        due = self.first(TURN_MESSAGES)
        if due and self.log.uncommitted_octets > UNCOMMITTED_OCTETS_MAX:
            self._look_at(now_ms + HOLD_MS)
            return
        done = on_time = 0
        copied: list[tuple[Waiting, Cached]] = []  # to another log
        with self.log.together():
            for each in due:
                cached = cache.pop(each.seq, each.size)
                if cached is None:
                    break
                if self._publisher.add(each.seq, *cached):
                    copied.append((each, cached))
                else:
                    self._settle(each, cached)
                done += 1
                on_time += each.delayed_index is self.times
            self.times.drop(on_time)
            self.delays.drop(done - on_time)
            self._publisher.end()
        if copied:
            self._settle_later(copied)
        if done < len(due):
            more = cache.read_ahead(urgent=True) or more
        if more or done == TURN_MESSAGES:
            self.wake()
        else:
            self._set_timer(now_ms)

    def _settle(self, each: Waiting, cached: "Cached | None") -> None:
        """Tell the log that it need not keep a message any longer."""
        if self.durable and (cached is None or cached[0].attributes.persistent):
            self.log.settle_seqs(self.id, each.seq, each.seq)

    def _settle_later(self, copied: "list[tuple[Waiting, Cached]]") -> None:
        """Settle messages when their copies are on disk in the logs that they went to."""

        def settle() -> None:
            if not self.deleted:
                for each, cached in copied:
                    self._settle(each, cached)

        self.vhost.broker.handovers.add(self._publisher.pop_receipt(), settle)

    def on_clock(self, each: Waiting) -> int:
        """Return when a message is due by the clock's now_ms, if nobody sets the one on the wall until then."""
        return each.due_ms - self._ahead(each.delayed_index)

    def first(self, count: int, ahead_ms: int = 0) -> list[Waiting]:
        """Return those that are due first, now or so soon, in their order."""
        clock = self.vhost.broker.clock
        delays = self.delays.first(count, clock.now_ms + ahead_ms)
        if not self.times:
            return [Waiting(*item, self.delays) for item in delays]
        times = self.times.first(count, clock.timestamp_ms + ahead_ms)
        shift = self._ahead(self.times)
        both = heapq.merge(
            ((item.due, item.seq, item, self.delays) for item in delays),
            ((item.due - shift, item.seq, item, self.times) for item in times),
        )
        return [Waiting(*item, delayed_index) for _, _, item, delayed_index in islice(both, count)]

    @property
    def due_times(self) -> tuple[int, ...]:
        """Return when it is to be looked at."""
        return (self.timer_ms,)

    def due(self, now_ms: int) -> int:  # noqa: ARG002 - it looks by itself
        """Publish on what is due, in this turn."""
        self.wake()
        return 1

    def _set_timer(self, now_ms: int) -> None:
        """Be looked at when the next is due, or when it is time to read some."""
        cache = self.cache
        for delayed_index in (self.delays, self.times):
            for item in delayed_index.first(1):
                # One that is not here is on its way.
                if item.seq in cache:
                    self._look_at(item.due - self._ahead(delayed_index))
        if self.messages_evicted and not cache.fetching and not cache.full:
            self._look_at(cache.read_at_ms)
        if cache.crowded:
            self._look_at(now_ms + TIMER_MS_MAX)

    def _look_at(self, look_ms: int) -> None:
        """Be looked at then, or before."""
        broker = self.vhost.broker
        now_ms = broker.clock.now_ms
        if self.times or self.cache.crowded:
            look_ms = min(look_ms, now_ms + LOOK_MS)
        look_ms = max(now_ms + 1, min(look_ms, now_ms + TIMER_MS_MAX))
        if self.timer_ms <= now_ms or look_ms < self.timer_ms:
            self.timer_ms = look_ms
            broker.timers.add(look_ms, self)

    def wake(self) -> None:
        """Ask the pump for a share of the next turn; deleted messages are released in shares as well."""
        if not self.awake:
            turn = self.vhost.broker.turn
            turn.queues.append(self)
            self.awake = True
            if not turn.woken:
                turn.wake()

    # -- by hand ------------------------------------------------------------------------------------------------------

    def cancel(self, each: Waiting) -> bool:
        """Drop a message before its time; tell whether it was there."""
        if not each.delayed_index.remove(each.due_ms, each.seq):
            return False
        self._settle(each, self.cache.forget(each.seq, each.size))
        self.dropped += 1
        if self.vhost.tracing:
            self.vhost.broker.traces.cancelled(self, each.seq)
        return True

    def find(self, seq: int) -> Waiting | None:
        """Return the message of this seq; it looks at all of them."""
        for delayed_index in (self.delays, self.times):
            due = delayed_index.find(seq)
            if due is not None:
                return Waiting(*delayed_index.after(due, seq - 1, 1)[0], delayed_index)
        return None

    def walk(self, pause: "Callable[[float], object]", *, contents: bool) -> "Iterator[Listed]":
        """Give all messages in the order in which they are due, with their contents or without."""
        return walk(self, pause, contents=contents)

    @staticmethod
    def matcher(pattern: str) -> "Callable[[str], bool] | str":
        """Return what tells whether a routing key fits, or why the pattern is none."""
        try:
            return NamePattern(pattern).matches
        except PatternError as error:
            return str(error)

    def lost(self, each: Waiting) -> None:
        """Go on without a message that could not be read; the log keeps what there is of it."""
        if each.delayed_index.remove(each.due_ms, each.seq):
            self.unreadable += 1
            self._tell_unreadable()

    def discard(self) -> None:
        """Drop everything: the exchange is deleted."""
        if self.deleted:
            return
        self.deleted = True
        broker = self.vhost.broker
        self.vhost.schedules.pop(self, None)
        if self.vhost.tracing:
            broker.traces.emptied(self)
        broker.timers.forget(self)
        if self.messages:
            name = describe("exchange", self.exchange.name, self.vhost.name)
            extra = event("exchange.delayed.discarded", vhost=self.vhost.name, exchange=self.exchange.name)
            log.warning("%s is deleted with %d messages that were not due", name, self.messages, extra=extra)
        self.delays.clear()
        self.times.clear()
        self.cache.clear()
        self._loader = None
        self.wake()

    def _forget_some(self) -> None:
        cache = self.cache
        left = FORGET_MESSAGES
        while cache and left:
            (cache.runs or cache.fetched).popitem()
            left -= 1
        if cache:
            self.wake()

    @property
    def index_octets(self) -> int:
        """Return about what is kept in memory of messages beside their contents."""
        cache = self.cache
        fetched = cache.fetched_octets + FETCHED_OCTETS * len(cache.fetched)
        return ENTRY_OCTETS * (len(self.delays) + len(self.times)) + CACHED_OCTETS * len(cache.runs) + fetched

    # -- after a start ------------------------------------------------------------------------------------------------

    def restore(
        self,
        parts: "list[recover.Part]",
        others: int,  # noqa: ARG002 - a queue's
        returned: "recover.Returned | None" = None,  # noqa: ARG002 - a queue's
    ) -> None:
        """Take what the log had: it is read, a share at a time, to learn when it is due; nothing leaves before."""
        self._loader = DelayedLoader(self, merge([seq_ranges for _, _, seq_ranges in parts]))

    def load(self, run: "Run", indexes: range) -> None:
        """Learn of messages that the log has."""
        for index, content in zip(indexes, run.contents_at(indexes), strict=True):
            delayed_index, due_ms = self._place(due_in(property_octets(content)), run.arrived_ms)
            delayed_index.add(due_ms, run.first_seq + index, body_size(content))

    def _go_on_reading(self, loader: DelayedLoader) -> None:
        if loader.share():
            self.wake()
        if not loader.left:
            self._loader = None
            if loader.lost:
                self.unreadable += loader.lost
                self._tell_unreadable()
            self.wake()

    def _tell_unreadable(self) -> None:
        text = f"{self!r} continues without {self.unreadable} unreadable messages"
        vhost, exchange = self.vhost, self.exchange.name
        key = f"unreadable {self.id}"
        vhost.broker.warn("exchange.delayed.unreadable", key, text, vhost=vhost.name, exchange=exchange)

    @property
    def reading(self) -> bool:
        """Tell whether a start has not read all of it yet."""
        return self._loader is not None

    def __repr__(self) -> str:
        return f"schedule of exchange '{self.exchange.name}' in vhost '{self.vhost.name}'"
