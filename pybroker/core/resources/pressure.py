"""Paging: while memory is short, the queue that holds most of it gives some up, a steady share at a time.

Contents that are in the log cost nothing to evict; transient ones go to the page log, but not while the disk is short.
The daemon says when memory is short and how much is used; `page_out` chooses what leaves a queue.

Meanwhile no more comes in than goes out: a connection that publishes more than its part of that into a queue with a
backlog is not read until the next tick, and is shown in `flow` by that queue.
"""

from heapq import nlargest
from typing import TYPE_CHECKING, Final

from pybroker.core.background_task import BackgroundTask
from pybroker.core.channel.throttle import DelayedCause, QueueCause
from pybroker.core.queue.paging.page_out import PageOut
from pybroker.core.queue.paging.segments import WINDOW_MESSAGES, WINDOW_OCTETS
from pybroker.core.resources.alarm import DISK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.broker import Broker
    from pybroker.core.channel.state import SessionState
    from pybroker.core.channel.throttle import ThrottleCause
    from pybroker.core.queue.destination import Destination
    from pybroker.core.queue.queue import Queue

# Given up in each tick, of which there are ten in a second.
TICK_OCTETS: Final = 8_388_608
# Least size of a share, so that there are not too many of them.
SHARE_OCTETS: Final = 65_536
# Looked for at a time among all queues, at most once in so long.
QUEUES: Final = 64
SEARCH_MS: Final = 500
# Approximate overhead of a small message in memory.
MESSAGE_OCTETS: Final = 64
# The disk is tried again so long after an error.
RETRY_MS: Final = 10_000
# Least inflow in a tick while the disk takes next to nothing, and the least for one of many publishers.
INFLOW_OCTETS_MIN: Final = 65_536
PUBLISHER_OCTETS_MIN: Final = 4_096


def resident_octets(queue: "Destination") -> int:
    """Return about what the messages that could leave take in memory."""
    return queue.octets_resident + MESSAGE_OCTETS * queue.messages_resident


# Differs from RabbitMQ: since version 4 nothing of a queue stays in memory, and the paging ratio means nothing.
class Paging(BackgroundTask):
    """`tick` gives a budget, which is used up in the next turns, one page after the other.

    While memory is short it is `pressing`, and publishers call `take`. `_taken` has what each did since the last tick,
    and what it was ahead by then; `_stopped` the cause for which a session is not read.
    """

    __slots__ = (
        "_broker",
        "_budget",
        "_busy",
        "_given",
        "_part_octets",
        "_queues",
        "_retry_at_ms",
        "_searched_at_ms",
        "_stopped",
        "_taken",
        "pressing",
    )

    def __init__(self, broker: "Broker") -> None:
        super().__init__(broker.turn)
        self._broker = broker
        self._budget = 0
        self._busy = False
        self._queues: list[Queue] = []
        self._searched_at_ms = -SEARCH_MS
        self._retry_at_ms = 0
        self._given = 0  # octets since the last tick
        self._part_octets = TICK_OCTETS
        self._taken: dict[SessionState, int] = {}
        self._stopped: dict[SessionState, ThrottleCause] = {}
        self.pressing = False

    def tick(self, used_octets: int) -> None:
        """Learn how much memory is used; if that is much, some of it goes before the next tick."""
        self.pressing = used_octets > self._broker.settings.watermarks.paging_octets
        self._share_out()
        self._given = 0
        self._let_go()
        if not self.pressing:
            self._budget = 0
            return
        self._budget = TICK_OCTETS
        if not self._busy:
            self.wake()

    def charge(self, session: "SessionState", queues: "Iterable[Destination]", octets: int) -> None:
        """Count what a session published into `queues`; more than its part, and it is not read until the next tick."""
        taken = self._taken.get(session, 0) + octets
        self._taken[session] = taken
        if taken > self._part_octets and session not in self._stopped:
            queue = max(filter(_can_give, queues), key=resident_octets, default=None)
            if queue is not None:
                cause = self._stopped[session] = _cause(queue)
                session.stop_reading(cause)

    @staticmethod
    def octets_in_memory(queue: "Queue") -> int:
        """Return about what all messages of a queue take in memory, with those that are not acknowledged."""
        if queue.retains:
            return queue.memory_octets
        backlog = queue.backlog
        return backlog.octets - backlog.octets_evicted + MESSAGE_OCTETS * (queue.messages - backlog.messages_evicted)

    def _share_out(self) -> None:
        """Set how much each publisher may send until the next tick; any excess is carried over."""
        taken, part = self._taken, self._part_octets
        publishers = max(1, len(taken))
        self._taken = {session: octets - part for session, octets in taken.items() if octets > part and self.pressing}
        # A disk that is at work since the last tick took no more than that; else what is to go decides.
        inflow = max(self._given, INFLOW_OCTETS_MIN) if self._busy else TICK_OCTETS
        self._part_octets = max(PUBLISHER_OCTETS_MIN, inflow // publishers)

    def _let_go(self) -> None:
        """Resume reading of sessions that may send again."""
        stopped, self._stopped = self._stopped, {}
        for session, cause in stopped.items():
            if self._taken.get(session, 0) > self._part_octets:
                self._stopped[session] = cause
            else:
                session.resume_reading(cause)

    def deliver(self, now_ms: int) -> None:
        """Have one page written, of one queue."""
        broker = self._broker
        pages = broker.pages
        if self._busy or self._budget <= 0:
            return
        if DISK in broker.alarms or now_ms < self._retry_at_ms:
            pages = None
        queue = self._next_queue(now_ms)
        if queue is None:
            return
        page_out = PageOut(queue, self._budget, pages)
        page_out.gather()
        self._given += self._budget - page_out.octets_left
        if not page_out.moved and not page_out.full:
            self._queues.remove(queue)
        self._budget = page_out.octets_left - SHARE_OCTETS

        def written(error: str) -> None:
            self._busy = False
            page_out.written(error)
            if error:
                self._failed(error)
            self.wake()

        if pages is None:
            page_out.written("")
            self.wake()
        else:
            self._busy = True
            pages.reserved_octets = broker.settings.watermarks.disk_limit_octets
            pages.commit(written)

    def _next_queue(self, now_ms: int) -> "Queue | None":
        """Return the queue with most in memory, None if none has more than must stay."""
        queues = self._queues = [queue for queue in self._queues if not queue.deleted and _can_give(queue)]
        if not queues and now_ms - self._searched_at_ms >= SEARCH_MS:
            self._searched_at_ms = now_ms
            every = (queue for vhost in self._broker.vhosts.values() for queue in vhost.queues.values())
            queues = self._queues = nlargest(QUEUES, filter(_can_give, every), resident_octets)
        return max(queues, key=resident_octets, default=None)

    def _failed(self, error: str) -> None:
        self._retry_at_ms = self._broker.clock.now_ms + RETRY_MS
        self._broker.warn("paging.suspended", "paging", f"paging is suspended for {RETRY_MS // 1000} seconds: {error}")


def _cause(queue: "Destination") -> "ThrottleCause":
    """Return the cause that a queue, or what waits in a delayed exchange, is for sessions."""
    if queue.vhost.queues.get(queue.name) is queue:
        return QueueCause(queue.vhost.name, queue.name)
    return DelayedCause(str(queue))


def _can_give(queue: "Destination") -> bool:
    """Tell whether a queue has more in memory than a head window; a stream has little, which it gives up by itself."""
    if queue.retains:
        return False
    return queue.messages_resident > WINDOW_MESSAGES or queue.octets_resident > WINDOW_OCTETS
