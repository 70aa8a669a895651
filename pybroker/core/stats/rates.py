"""Rates of queues, and when they will be empty or full, from samples of what each queue counts anyway.

Every five seconds a task notes the figures of the queues that move, a share of them in a turn. Queues that rest are
compared with what they were, 25,000 in a round: of 100,000 queues one that begins to move is seen 20 seconds later at
most, and until then its rates may be too low. Nothing is done per message.

Messages come in when they are enqueued: published, dead-lettered, moved. They go out when they are acknowledged,
expired, dropped, purged or moved. A message that comes back does neither.
"""

from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Final, cast

from pybroker.core.background_task import BackgroundTask
from pybroker.core.stats import growth
from pybroker.core.stats.history import MINUTE_MS, NOTHING, WINDOW_MS_MAX, Change, Figures, History
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from pybroker.core.broker import Broker
    from pybroker.core.queue.queue import Queue
    from pybroker.core.stats.growth import Growth
    from pybroker.core.stream.stream import Stream

INTERVAL_MS: Final = 5_000
# The loop ticks about once a second.
EARLY_MS: Final = 500
# Sampled in a turn, half a millisecond; compared in a turn, and in a round at most.
TURN_MOVING: Final = 200
TURN_RESTING: Final = 1_000
ROUND_RESTING: Final = 25_000


def figures_of(queue: "Queue") -> Figures:
    """Return the figures of now; what leaves a stream are the segments that are too old or too much."""
    if queue.retains:
        messages = queue.messages
        return Figures(queue.published, messages, messages, cast("Stream", queue).octets)
    backlog = queue.backlog
    waiting = backlog.messages_ready + backlog.messages_delayed
    octets = backlog.octets_ready + backlog.octets_delayed
    return Figures(queue.published, waiting + backlog.messages_unacknowledged, waiting, octets)


def _held(queue: "Queue") -> int:
    return queue.messages if queue.retains else queue.backlog.messages


def _is_unused(queue: "Queue") -> bool:
    return queue.history is None and not queue.published


class Rates(BackgroundTask):
    """The histories of queues, and what follows from them. `tick` is called about once a second."""

    __slots__ = ("_begun_ms", "_broker", "_moving", "_rested_ms", "_resting", "_resting_left", "_round", "_round_ms")

    def __init__(self, broker: "Broker") -> None:
        super().__init__(broker.turn)
        self._broker = broker
        self._moving: dict[Queue, None] = {}
        self._round: list[Queue] = []  # moving ones that are still to be sampled in this round
        self._round_ms = broker.clock.now_ms  # when it began
        self._resting: Iterator[Queue] | None = None  # all queues that are still to be compared
        self._resting_left = 0  # so many of them in this round
        self._begun_ms = broker.clock.now_ms  # when that began
        self._rested_ms = broker.clock.now_ms  # when it began the time before: all have been compared since then

    # -- what others ask ----------------------------------------------------------------------------------------------

    def change(self, queue: "Queue", window_ms: int) -> Change | None:
        """Return what became of a queue in about so much time, or since it was declared; None if that is too short."""
        now_ms = self._broker.clock.now_ms
        if now_ms - queue.declared_ms < INTERVAL_MS:
            return None
        then_ms = max(queue.declared_ms, now_ms - window_ms)
        history = queue.history
        if history is None:
            when_ms, before = max(queue.declared_ms, min(then_ms, self._rested_ms)), NOTHING
        else:
            when_ms, before = history.at(then_ms, now_ms - INTERVAL_MS, self._rested_ms)
        if now_ms - when_ms < INTERVAL_MS:
            return None
        now = figures_of(queue)
        return Change(now_ms - when_ms, *[one - other for one, other in zip(now, before, strict=True)])

    def idle_since_ms(self, queue: "Queue") -> int | None:
        """Return since when (wall time) no message came or went, some seconds late; None: since the last look at it."""
        clock, history = self._broker.clock, queue.history
        if history is None:
            return None if queue.published else clock.timestamp_ms - (clock.now_ms - queue.declared_ms)
        if queue.published != history.entered or _held(queue) != history.messages:
            return None
        return clock.timestamp_ms - (clock.now_ms - history.since_ms)

    def rate_in(self, queue: "Queue", window_ms: int) -> float | None:
        """Return how many messages a second came into a queue; None if it is too young to know."""
        if _is_unused(queue):
            return self._rate_of_unused(queue)
        change = self.change(queue, window_ms)
        return None if change is None else _rounded(1000 * change.entered / change.ms)

    def rate_out(self, queue: "Queue", window_ms: int) -> float | None:
        """Return how many messages a second left a queue, whatever the reason; None if it is too young to know."""
        if _is_unused(queue):
            return self._rate_of_unused(queue)
        change = self.change(queue, window_ms)
        return None if change is None else _rounded(1000 * max(0, change.left) / change.ms)

    def _rate_of_unused(self, queue: "Queue") -> float | None:
        """Return what the change of a queue that had no message comes to, ten times as fast: there may be thousands."""
        return 0.0 if self._broker.clock.now_ms - queue.declared_ms >= INTERVAL_MS else None

    def time_to_drain_s(self, queue: "Queue") -> int | None:
        """Return in how many seconds a queue is empty if it goes on as in the last minute; None if it does not shrink.

        A queue without messages needs no time. A stream is not to become empty.
        """
        if queue.retains:
            return None
        messages = queue.backlog.messages
        if not messages:
            return 0
        change = self.change(queue, MINUTE_MS)
        if change is None or change.messages >= 0:
            return None
        return ceil(messages * change.ms / -change.messages / 1000)

    def time_to_full_s(self, queue: "Queue") -> int | None:
        """Return in how many seconds a length limit is reached if a queue goes on as in the last minute.

        0 if it is full. None without a limit, and if the queue does not grow. A stream makes room by itself.
        """
        if queue.retains:
            return None
        limits = queue.limits
        if limits.length_max is None and limits.octets_max is None:
            return None
        waiting = figures_of(queue)[2:]
        held = self._broker.dead_letters.held(queue)
        change = self.change(queue, MINUTE_MS)
        grown = (0, 0) if change is None else change[3:]
        # One more message of the usual size would be too much.
        least = (1, max(1, waiting[1] // waiting[0]) if waiting[0] else 1)
        times = []
        for i, most in enumerate((limits.length_max, limits.octets_max)):
            if most is None:
                continue
            room = most - waiting[i] - held[i]
            if room < least[i]:
                return 0
            if change is not None and grown[i] > 0:
                times.append(ceil(room * change.ms / grown[i] / 1000))
        return min(times, default=None)

    def too_much(
        self,
        queues: "Collection[Queue]",
        full_within_s: float | None,
        drain_over_s: float | None,
        pause: "Callable[[float], object]",
    ) -> "list[Growth]":
        """Return which of these queues will be full so soon, or have work for longer; None: do not ask for that."""
        return growth.too_much(self, queues, growth.Bounds(full_within_s, drain_over_s), pause)

    # -- sampling -----------------------------------------------------------------------------------------------------

    def restored(self, queue: "Queue") -> None:
        """Learn that a queue has messages that did not come in: they were there before the start."""
        queue.begin_history(History(self._broker.clock.now_ms, figures_of(queue)))

    def tick(self) -> None:
        """Begin a round if it is time, and the last one is over."""
        now_ms = self._broker.clock.now_ms
        if now_ms - self._round_ms < INTERVAL_MS - EARLY_MS or self.awake:
            return
        self._round_ms = now_ms
        self._round = list(self._moving)
        self._resting_left = ROUND_RESTING
        if self._resting is None:
            self._resting = self._all_queues()
            self._begun_ms = now_ms
        self.wake()

    def deliver(self, _now_ms: int) -> None:
        """Do a turn's share of the round."""
        now_ms = self._broker.clock.now_ms
        if self._round:
            share = self._round[-TURN_MOVING:]
            del self._round[-TURN_MOVING:]
            for queue in share:
                self._sample(queue, now_ms)
        elif self._resting is not None:
            self._compare(self._resting, now_ms)
        if self._round or (self._resting is not None and self._resting_left):
            self.wake_again()

    def _sample(self, queue: "Queue", now_ms: int) -> None:
        history = queue.history
        assert history is not None
        if not queue.deleted:
            history.add(now_ms, figures_of(queue))
            if history.resting_ms <= WINDOW_MS_MAX:
                return
            history.shrink()
        del self._moving[queue]

    def _compare(self, queues: "Iterator[Queue]", now_ms: int) -> None:
        """Find those among a turn's share of all queues that have begun to move."""
        share = min(TURN_RESTING, self._resting_left)
        self._resting_left -= share
        compared = 0
        for queue in islice(queues, share):
            compared += 1
            history = queue.history
            if history is None:
                if queue.published:
                    self._begin(queue, now_ms)
            elif queue.published != history.entered or _held(queue) != history.messages:
                self._begin(queue, now_ms)
        if compared < share:
            self._rested_ms = self._begun_ms
            self._resting = None

    def _begin(self, queue: "Queue", now_ms: int) -> None:
        """Sample a queue from now on; until it was compared last it had rested."""
        if queue in self._moving or queue.deleted:
            return
        if queue.history is None:
            queue.begin_history(History(queue.declared_ms, NOTHING))
        assert queue.history is not None
        queue.history.rest(self._rested_ms)
        queue.history.add(now_ms, figures_of(queue))
        self._moving[queue] = None

    def _all_queues(self) -> "Iterator[Queue]":
        """Yield the queues of one virtual host after another, as they are when its turn comes."""
        for vhost in list(self._broker.vhosts.values()):
            yield from as_they_were(vhost.queues.values())


def _rounded(rate: float) -> float:
    """Return three digits, and from 10 on one decimal."""
    return round(rate, 1) if rate >= 10 else float(f"{rate:.3g}")
