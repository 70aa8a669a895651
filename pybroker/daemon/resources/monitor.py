"""The memory monitor: compares used memory with the watermark, sets and clears the alarm, and feeds paging.

A look costs some microseconds: the kernel's figure, the broker's own count, and once a second a sum over connections.
The broker decides what follows from an alarm; `total_memory` knows how much memory there is.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from pybroker.core.resources.alarm import MEMORY
from pybroker.core.resources.memory_usage import ELEMENT_OCTETS, QUEUE_OCTETS
from pybroker.core.resources.resource_limits import MIB, RSS
from pybroker.daemon.resources import garbage
from pybroker.daemon.resources.rss import ResidentSetReader
from pybroker.daemon.resources.used_memory import UsedMemory
from pybroker.daemon.resources.watch import Watch
from pybroker.humanize import size
from pybroker.log_event import event
from pybroker.run import held

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.daemon.resources.allocator import Allocator

# How often it is looked while memory is not far from short, for paging counts on ten shares a second; and while there
# is something to drain, so that no trim returns very much at once.
NEAR_MS: Final = 100
# Not far: above this part of the limit, or so near to where messages are paged out that a flood is there in a second.
NEAR_PARTS: Final = 4
FLOOD_OCTETS: Final = 1_024 * MIB
# A sum over ten thousand connections or queues takes a millisecond or two.
SUMS_MS: Final = 1_000
# Freed memory goes back to the system in portions: a trim keeps the heap locked, 0.1 to 0.3 ms for each MiB.
TRIM_OCTETS: Final = 32 * MIB
# A connection with a channel, without its buffers: tracemalloc over 300 of them.
SESSION_OCTETS: Final = 4_000

log = logging.getLogger("pybroker")


class Monitor(Watch):
    """The monitor of memory. Keeps its measurements in `watermarks.measured`."""

    __slots__ = (
        "_allocator",
        "_peak_accounted",
        "_read_rss",
        "_short",
        "_summed_at_ms",
        "_sums",
        "_used",
    )

    WHAT = "memory"

    def __init__(self, broker: "Broker", allocator: "Allocator", read_rss: Callable[[], int] | None = None) -> None:
        super().__init__(broker)
        self._allocator = allocator
        self._read_rss = read_rss or ResidentSetReader().octets
        self._used = UsedMemory()
        self._sums = 0
        self._summed_at_ms = -SUMS_MS
        self._peak_accounted = 0  # since the last trim
        self._short = False

    @property
    def pause_ms(self) -> int:
        """Return when to look again."""
        marks = self._broker.settings.watermarks
        used = marks.measured.used
        near = used * NEAR_PARTS > marks.memory_limit_octets or used + FLOOD_OCTETS > marks.paging_octets
        near = near or marks.measured.accounted > TRIM_OCTETS
        return min(NEAR_MS, marks.memory_interval_ms) if near else marks.memory_interval_ms

    def check(self) -> None:
        """Measure, have paged out what must go, and set or clear the alarm."""
        accounted = self._accounted()
        self._trim(accounted)
        self._measure(accounted)
        self._broker.paging.tick(self._broker.settings.watermarks.measured.used)
        self._judge()
        self.looked()

    def _accounted(self) -> int:
        """Return what is known to be in memory: runs, buffers, and about what queues and connections take."""
        broker = self._broker
        now_ms = broker.clock.now_ms
        if now_ms - self._summed_at_ms >= SUMS_MS:
            self._summed_at_ms = now_ms
            self._sums = self._buffers() + ELEMENT_OCTETS * self._messages_evicted() + self._scheduled()
        queues = sum([len(vhost.queues) for vhost in broker.vhosts.values()])
        return held.octets + self._sums + QUEUE_OCTETS * queues + SESSION_OCTETS * len(broker.sessions)

    def _buffers(self) -> int:
        sessions: list[Any] = list(self._broker.sessions.values())
        return sum([len(session.rest) + session.send_pend for session in sessions])

    def _messages_evicted(self) -> int:
        vhosts = self._broker.vhosts.values()
        return sum([sum([queue.backlog.messages_evicted for queue in vhost.queues.values()]) for vhost in vhosts])

    def _scheduled(self) -> int:
        vhosts = self._broker.vhosts.values()
        return sum([schedule.index_octets for vhost in vhosts for schedule in vhost.schedules])

    def _trim(self, accounted: int) -> None:
        """Give back to the system what was freed, once that is much."""
        self._peak_accounted = max(self._peak_accounted, accounted)
        if self._peak_accounted - accounted >= TRIM_OCTETS:
            self._peak_accounted = accounted
            self._allocator.trim()

    def _measure(self, accounted: int) -> None:
        marks = self._broker.settings.watermarks
        # If the system does not tell, use at least the accounted memory.
        found = self._used.update(self._read_rss() or accounted, accounted)
        measured = marks.measured
        measured.rss, measured.accounted, measured.reusable, measured.used = found
        if marks.strategy == RSS:
            measured.reusable, measured.used = 0, measured.rss

    def _judge(self) -> None:
        """Set or clear the alarm: the level alone counts, however often that changes."""
        marks, alarms = self._broker.settings.watermarks, self._broker.alarms
        used, limit = marks.measured.used, marks.memory_limit_octets
        was_short, self._short = self._short, used > limit
        if self._short != was_short:
            what = "set" if self._short else "clear"
            extra = event("memory.high" if self._short else "memory.normal")
            log.info("vm_memory_high_watermark %s. Memory used:%d allowed:%d", what, used, limit, extra=extra)
        if self._short:
            alarms.set(MEMORY, f"{size(used)} used, {size(limit)} allowed")
            if not was_short:
                garbage.collect_young()
        else:
            alarms.clear(MEMORY)
