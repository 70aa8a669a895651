"""Memory used by messages and buffers, counted object by object (memory_breakdown).

A run that several queues share is counted once. The program, connections and definitions are not counted here: they are
the rest of the resident set. The count walks over every entry, and yields to other work meanwhile.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from sys import getsizeof
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from pybroker.core.queue.paging.delivery_counts import DeliveryCounts
from pybroker.core.queue.paging.segments import EvictedSegment
from pybroker.run import BYTES_OCTETS, PLAIN_ATTRIBUTES, POINTER_OCTETS, Entry, Names, Run

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.core.queue.queue import Queue
    from pybroker.core.stream.stream import Stream

# Between two pauses: about a millisecond.
ENTRIES_PER_SLICE: Final = 5_000
PAUSE_S: Final = 0.000_1
# Looked at to estimate what is kept of evicted messages: a segment has up to 65,536 elements.
SEGMENT_PARTS: Final = 1_024

_EMPTY_RUN: Final = Run(Names("", "", b""), PLAIN_ATTRIBUTES, 0, [], 0, 0, 0, 0)
RUN_OCTETS: Final = getsizeof(_EMPTY_RUN)
ENTRY_OCTETS: Final = getsizeof(Entry(_EMPTY_RUN, range(0))) + getsizeof(range(0))
# Of evicted messages: one of their seq ranges, and what is around those of one part.
ELEMENT_OCTETS: Final = 16
SEGMENT_OCTETS: Final = 450
# Of those that a start found: a range that was delivered otherwise than its neighbours.
COUNTED_OCTETS: Final = 20
# An empty queue with what belongs to it: tracemalloc over 3,000 of them.
QUEUE_OCTETS: Final = 2_211


class MemoryUsage(NamedTuple):
    """Octets: contents of messages; entries and runs around them; buffers of input and output."""

    contents: int
    entries: int
    buffers: int


def measure(broker: "Broker", pause: Callable[[float], object]) -> MemoryUsage:
    """Count everything; `pause` is called between slices, so what is counted may move meanwhile."""
    contents = entries = 0
    seen: set[int] = set()
    for count, run in enumerate(_runs(broker), 1):
        if count % ENTRIES_PER_SLICE == 0:
            pause(PAUSE_S)
        if run is None:
            continue
        entries += ENTRY_OCTETS
        # The id of a run that has gone may be taken by a new one: not counted then, for the sake of a bounded set.
        if id(run) not in seen:
            seen.add(id(run))
            contents += run.held_octets
            entries += RUN_OCTETS
    for vhost in list(broker.vhosts.values()):
        queues = list(vhost.queues.values())
        entries += sum(map(_evicted_octets, queues))
        entries += sum([queue.delayed.memory_octets for queue in queues if queue.delayed is not None])
        entries += sum([schedule.index_octets for schedule in vhost.schedules])
    return MemoryUsage(contents, entries, sum(map(_buffered, list(broker.sessions.values()))))


def of_queue(queue: "Queue") -> int:
    """Return about what a queue's messages take, as if it shared none and all were like the one that leaves next.

    It costs nothing like a walk over the entries, so a listing of many queues can show it.
    """
    if not queue.messages and queue.delayed is None:
        return QUEUE_OCTETS
    backlog = queue.backlog
    entries = sum(len(level.ready) + len(level.returned) for level in backlog.levels)
    entries += sum(len(level.segments.fresh) for level in backlog.levels if level.segments is not None)
    around = BYTES_OCTETS + POINTER_OCTETS
    head = backlog.head()
    if head is not None:
        around += (head.run.octets - head.run.body_octets) // head.run.count
    bodies = backlog.octets - backlog.octets_evicted - backlog.octets_delayed
    messages = (queue.messages - backlog.messages_evicted - backlog.messages_delayed) * around
    if queue.delayed is not None:
        window = queue.delayed.window
        bodies += window.octets + queue.delayed.memory_octets
        messages += window.messages * around
        entries += len(window.resident)
    return QUEUE_OCTETS + entries * (ENTRY_OCTETS + RUN_OCTETS) + messages + bodies + _evicted_octets(queue)


def _evicted_octets(queue: "Queue") -> int:
    """Return the approximate memory of evicted messages, extrapolated from the first parts."""
    if not queue.backlog.messages_evicted:
        return 0
    octets = 0
    for level in queue.backlog.levels:
        if level.segments is not None:
            count = len(level.segments.parts) + len(level.segments.paged)
            some = [
                part for part in islice(level.segments.all_parts(), SEGMENT_PARTS) if isinstance(part, EvictedSegment)
            ]
            found = sum([SEGMENT_OCTETS + ELEMENT_OCTETS * len(part.seq_ranges) for part in some])
            octets += found * count // min(count, SEGMENT_PARTS) if count else 0
            counts = {part.deliveries for part in some if isinstance(part.deliveries, DeliveryCounts)}
            octets += COUNTED_OCTETS * sum(map(len, counts))
    return octets


def _runs(broker: "Broker") -> Iterator[Run | None]:
    """Yield the run of every entry, ready or delivered and not acknowledged; None for each queue, which is work too."""
    for vhost in list(broker.vhosts.values()):
        for queue in list(vhost.queues.values()):
            yield None
            for level in list(queue.backlog.levels):
                for entry in list(level):
                    yield entry.run
            if queue.retains:
                yield from cast("Stream", queue).runs_in_memory
            if queue.delayed is not None:
                for entries in list(queue.delayed.window.resident.values()):
                    for entry in entries:
                        yield entry.run
        for schedule in list(vhost.schedules):
            yield from list(schedule.cache.runs.values())
    for session in list(broker.sessions.values()):
        channels: dict[int, Any] = getattr(session, "channels", {})
        for channel in list(channels.values()):
            for batch in list(channel.unacked):
                yield batch.run


def _buffered(session: Any) -> int:
    """Return what of a connection was read and is not understood yet, or waits to be sent."""
    octets: int = len(session.rest) + session.queued_octets + session.unsent_octets
    return octets
