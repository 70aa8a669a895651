"""Length limits (F32): what happens to a queue that has more than x-max-length or x-max-length-bytes ready."""

from typing import TYPE_CHECKING

from pybroker.core.limits import DROP_HEAD, REJECT_PUBLISH_DLX
from pybroker.core.queue import away, dead_letter, expiry
from pybroker.run import Entry

if TYPE_CHECKING:
    from pybroker.core.publish import Receipt
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level
    from pybroker.run import Run


def refused(queue: "Queue", run: "Run", indexes: range, receipt: "Receipt") -> bool:
    """Refuse a publish that finds no room at all, before anybody asks whether a consumer waits for it, as RabbitMQ."""
    limits = queue.limits
    full = limits.length_max is not None and queue.messages_ready >= limits.length_max
    if limits.octets_max is not None:  # then it is one message
        full = full or queue.octets_ready + run.body_octets_of(indexes) > limits.octets_max
    if full:
        _refuse(queue, [Entry(run, indexes)], receipt)
    return full


def enforce(queue: "Queue", level: "Level", new: int, receipt: "Receipt") -> None:
    """Bring the queue, which has just taken `new` messages at `level`, back to its limits."""
    limits = queue.limits
    if limits.overflow == DROP_HEAD:
        drop_heads(queue)
    elif limits.length_max is not None and queue.messages_ready > limits.length_max:
        refused = min(new, queue.messages_ready - limits.length_max)
        rejected = level.take_tail(refused)
        queue.removed(rejected)
        queue.published -= refused
        _refuse(queue, rejected, receipt)


def _refuse(queue: "Queue", entries: "list[Entry]", receipt: "Receipt") -> None:
    for entry in entries:
        receipt.reject(entry.indexes)
    if queue.limits.overflow == REJECT_PUBLISH_DLX:
        dead_letter.depart(queue, entries, "maxlen")
        return
    for entry in entries:
        queue.forget(entry.run, entry.indexes)


def drop_heads(queue: "Queue", *, late: bool = False) -> None:
    """Drop the oldest ready messages (of the highest priority first, as RabbitMQ) until the limits hold.

    Where that is `late`, because heads were away, what expires between two of them makes room as it would have then.
    """
    limits = queue.limits
    if limits.overflow != DROP_HEAD:
        return
    while (excess := _excess(queue)) > 0:
        if late and queue.timed:
            excess = 1
            expiry.expire(queue, queue.vhost.broker.clock.now_ms)
            if _excess(queue) <= 0:
                return
        level = next(level for level in queue.levels if level.count)
        if level.head() is None:
            # A dead letter needs its contents; until they are here there are more messages than the limit allows.
            dropped = 0 if limits.dead_letter_exchange is not None else away.drop_front(queue, level, excess)
            if not dropped:
                if not queue.vhost.broker.departures.has(queue):
                    away.refill(queue, level)
                return
            queue.dropped += dropped
            continue
        entry = level.take(excess)
        queue.removed([entry])
        queue.dropped += len(entry.indexes)
        dead_letter.depart(queue, [entry], "maxlen")


def _excess(queue: "Queue") -> int:
    """Return how many heads must go at least: exactly, for a length; one, for octets."""
    limits = queue.limits
    if limits.length_max is not None and queue.messages_ready > limits.length_max:
        return queue.messages_ready - limits.length_max
    return 1 if limits.octets_max is not None and queue.octets_ready > limits.octets_max else 0
