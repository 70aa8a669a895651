"""Length limits (F32): what happens to a queue that has more than x-max-length or x-max-length-bytes ready."""

from typing import TYPE_CHECKING

from pybroker.core.limits import DROP_HEAD, REJECT_PUBLISH_DLX
from pybroker.core.queue import dead_letter
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


def drop_heads(queue: "Queue") -> None:
    """Drop the oldest ready messages (of the highest priority first, as RabbitMQ) until the limits hold."""
    limits = queue.limits
    if limits.overflow != DROP_HEAD:
        return
    gone: list[Entry] = []
    if limits.length_max is not None:
        while queue.messages_ready > limits.length_max:
            gone.append(_take_head(queue, queue.messages_ready - limits.length_max))
    if limits.octets_max is not None:
        while queue.octets_ready > limits.octets_max:
            gone.append(_take_head(queue, 1))
    if gone:
        queue.dropped += sum(len(entry.indexes) for entry in gone)
        dead_letter.depart(queue, gone, "maxlen")


def _take_head(queue: "Queue", count: int) -> "Entry":
    level = next(level for level in queue.levels if level.count)
    entry = level.take(count)
    queue.removed([entry])
    return entry
