"""Survivors: the messages that outlived the process, between the log and the durable queues.

At a start each queue gets what the log has for it. After a kill nobody knows what was delivered, so all of it is
redelivered, as in RabbitMQ; but a kill counts as no delivery, or it would use up the retries of messages at which no
consumer failed. After a clean stop it is exactly as it was.
"""

from array import array
from itertools import chain
from typing import TYPE_CHECKING

from pybroker.core.queue.paging.delivery_counts import delivered_alike
from pybroker.core.queue.paging.segments import EvictedSegment
from pybroker.run import MAYBE_DELIVERED, known_deliveries
from pybroker.store.segments.returned_rows import append, ascending

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.broker import Broker
    from pybroker.core.queue.destination import Companion, Destination
    from pybroker.core.queue.queue import Queue
    from pybroker.run import Entry
    from pybroker.store.recovery.recovery import Recovered
    from pybroker.store.segments.returned_rows import Rows


def durable_queues(broker: "Broker") -> "dict[int, Destination | Companion]":
    """Return the queues and schedules that may have something in the log, by id, and what they have beside messages."""
    vhosts = broker.vhosts.values()
    every: Iterator[Destination] = (
        queue for vhost in vhosts for queue in chain(vhost.queues.values(), vhost.schedules)
    )
    durable = [queue for queue in every if queue.durable]
    known: dict[int, Destination | Companion] = {queue.id: queue for queue in durable}
    known.update({each.id: each for queue in durable for each in queue.companions})
    return known


def restore(
    queues: "dict[int, Destination | Companion]", found: "Recovered", steady_ms: int = 0, now_ms: int = 0
) -> int:
    """Give each queue what the log has for it; return how many messages these are.

    `steady_ms` is what the log's time is ahead of the clock's `now_ms`: messages that are not due then wait on.
    """
    count = 0
    for queue_id, parts in found.queues.items():
        queue = queues[queue_id]
        returned = ascending(found.returned.get(queue_id, array("Q")))
        dues = returned[3::4]
        if found.clean and (queue.counts_deliveries or any(dues)):
            found.live_index.returned.load({queue_id: returned[:]})
        later_ms = now_ms + steady_ms
        returned[3::4] = array("Q", [due_ms - steady_ms if due_ms > later_ms else 0 for due_ms in dues])
        # Differs from RabbitMQ: a quorum queue counts one delivery of what consumers had when their node crashed.
        before = queue.messages  # of a stream, in its own files
        queue.restore(parts, 0 if found.clean else MAYBE_DELIVERED, returned)
        count += queue.messages - before
    return count


def losses(queues: "dict[int, Destination | Companion]", found: "Recovered") -> "Iterator[str]":
    """Give a sentence for each queue that has lost messages with a segment that is missing."""
    for missing in found.missing:
        for queue_id, count in missing.live.items():
            yield f"{queues[queue_id]!r} has lost {count} messages with the segment {missing.name}, which is missing"


def delivered(broker: "Broker", steady_ms: int = 0) -> "Rows":
    """Return the persistent messages that were delivered before, as rows of the log, whose time is so far ahead.

    Messages that may have been delivered before a kill have 0 deliveries.
    Messages on their way to a dead letter exchange are included: for the log they are in their queue until they arrive.
    """
    made: Rows = {}
    for vhost in broker.vhosts.values():
        for queue in vhost.queues.values():
            if queue.durable:
                rows = array("Q")
                for first, last, times in _delivered(queue):
                    if times:
                        append(rows, (first, last, known_deliveries(times), 0))
                for row in _delayed(queue, steady_ms):
                    append(rows, row)
                if rows:
                    made[queue.id] = rows
    return made


def _delayed(queue: "Queue", steady_ms: int) -> "Iterator[tuple[int, int, int, int]]":
    for row, entries in queue.delayed.rows() if queue.delayed is not None else ():
        # In memory it may be one that the log never had.
        if entries is None or all(entry.run.attributes.persistent for entry in entries):
            yield row.seq, row.seq + row.messages - 1, row.deliveries, row.due_ms + steady_ms


def _delivered(queue: "Queue") -> "Iterator[tuple[int, int, int]]":
    entries: list[Entry] = list(queue.vhost.broker.dead_letters.of(queue))
    for level in queue.backlog.levels:
        entries += level.returned
        entries += level.ready
        if level.segments is not None:
            entries += level.segments.entries()
            for part in level.segments.all_parts():
                if isinstance(part, EvictedSegment) and part.found is None and part.page is None and part.deliveries:
                    for first, last in part.spans():
                        yield from delivered_alike(part.deliveries, first, last)
    for entry in entries:
        if entry.deliveries and entry.run.attributes.persistent:
            first = entry.run.first_seq
            if entry.indexes.step == 1:
                yield first + entry.indexes.start, first + entry.indexes[-1], entry.deliveries
            else:
                for index in entry.indexes:
                    yield first + index, first + index, entry.deliveries
