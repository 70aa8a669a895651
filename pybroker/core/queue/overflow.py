"""Length limits (F32): what happens to a queue that has more than x-max-length or x-max-length-bytes ready."""

from typing import TYPE_CHECKING

from pybroker.core.limits import DROP_HEAD, REJECT_PUBLISH_DLX
from pybroker.core.queue import dead_letter

if TYPE_CHECKING:
    from pybroker.core.publish import Receipt
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level
    from pybroker.run import Entry


def enforce(queue: "Queue", level: "Level", new: int, receipt: "Receipt") -> None:
    """Bring the queue, which has just taken `new` messages at `level`, back to its limits."""
    limits = queue.limits
    if limits.length_max is None and limits.octets_max is None:
        return
    if limits.overflow == DROP_HEAD:
        drop_heads(queue)
        return
    rejected = _cut_tail(queue, level, new)
    if not rejected:
        return
    for entry in rejected:
        receipt.reject(entry.run, entry.indexes)
    if limits.overflow == REJECT_PUBLISH_DLX:
        dead_letter.depart(queue, rejected, "maxlen")


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


def _cut_tail(queue: "Queue", level: "Level", new: int) -> "list[Entry]":
    """Remove those of the `new` messages for which there is no room, keeping the first ones."""
    limits = queue.limits
    over = 0
    if limits.length_max is not None:
        over = min(new, max(0, queue.messages_ready - limits.length_max))
    if limits.octets_max is not None and queue.octets_ready > limits.octets_max:
        over = new  # the queue gives such a queue one message at a time: a smaller one behind may still fit
    rejected = level.take_tail(over)
    queue.removed(rejected)
    return rejected
