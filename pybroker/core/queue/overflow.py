"""Length limits: drops and refusals of a queue that has more than x-max-length or x-max-length-bytes ready."""

from typing import TYPE_CHECKING, Final

from pybroker.core.policy.limits import DROP_HEAD, REJECT_PUBLISH_DLX
from pybroker.core.queue import expiry
from pybroker.core.queue.dead_letter import route
from pybroker.core.queue.destination import UNLIMITED
from pybroker.core.queue.paging import eviction
from pybroker.run import Entry

if TYPE_CHECKING:
    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level
    from pybroker.run import Run

# Cost of one go, at most, up to ten milliseconds: a message is 1, an entry 16, and so is an evicted message. There is
# more to drop only if a limit is new, or many messages came back.
DROP_COST: Final = 16_384
ENTRY_COST: Final = 16


def refused(queue: "Queue", run: "Run", indexes: range, receipt: "Receipt") -> bool:
    """Refuse a publish that finds no room at all, before anybody asks whether a consumer waits for it, as RabbitMQ."""
    octets = 0 if queue.limits.octets_max is None else run.body_octets_of(indexes)  # then it is one message
    full = _is_full(queue, octets)
    if full:
        _refuse(queue, [Entry(run, indexes)], receipt)
    return full


def has_room(queue: "Queue", octets: int) -> bool:
    """Tell whether a queue that refuses what is too much would take a message of so many octets."""
    if queue.backlog.messages_ready:
        queue.deliver(queue.vhost.broker.clock.now_ms)  # as before any other publish
    return not _is_full(queue, octets)


def room(queue: "Queue") -> tuple[int, int]:
    """Return how many messages more it may have, and how many octets of bodies; either is negative above the limit."""
    limits, backlog = queue.limits, queue.backlog
    if backlog.messages_ready:
        queue.deliver(queue.vhost.broker.clock.now_ms)  # as before any publish
    waiting, octets_waiting = route.held(queue)
    messages, octets = UNLIMITED
    if limits.length_max is not None:
        messages = limits.length_max - backlog.messages_ready - backlog.messages_delayed - waiting
    if limits.octets_max is not None:
        octets = limits.octets_max - backlog.octets_ready - backlog.octets_delayed - octets_waiting
    return messages, octets


def _is_full(queue: "Queue", octets: int) -> bool:
    limits = queue.limits
    messages, waiting = route.held(queue)
    backlog = queue.backlog
    messages += backlog.messages_ready + backlog.messages_delayed
    if limits.length_max is not None and messages >= limits.length_max:
        return True
    waiting += backlog.octets_ready + backlog.octets_delayed
    return limits.octets_max is not None and waiting + octets > limits.octets_max


def enforce(queue: "Queue", level: "Level", new: int, receipt: "Receipt") -> None:
    """Bring the queue, which has just taken `new` messages at `level`, back to its limits."""
    limits = queue.limits
    if limits.overflow == DROP_HEAD:
        drop_heads(queue)
        return
    if limits.length_max is None:
        return
    messages = queue.backlog.messages_ready + queue.backlog.messages_delayed + route.held(queue)[0]
    if messages > limits.length_max:
        refused = min(new, messages - limits.length_max)
        rejected = queue.backlog.remove_tail(level, refused)
        queue.published -= refused
        _refuse(queue, rejected, receipt)


def _refuse(queue: "Queue", entries: "list[Entry]", receipt: "Receipt") -> None:
    for entry in entries:
        receipt.reject(entry.indexes)
        queue.fates.refuse(len(entry.indexes))
    if queue.vhost.tracing:
        dies = queue.limits.overflow == REJECT_PUBLISH_DLX and queue.limits.dead_letter_exchange is not None
        queue.vhost.broker.traces.refused(queue, entries, dies=dies)
    if queue.limits.overflow == REJECT_PUBLISH_DLX:
        route.depart(queue, entries, "maxlen")
        return
    for entry in entries:
        queue.forget(entry.run, entry.indexes)


def drop_heads(queue: "Queue", *, late: bool = False) -> None:
    """Drop the oldest ready messages (of the highest priority first, as RabbitMQ) until the limits hold.

    If the drop comes `late`, because heads were evicted, messages that expire between two of them make room as they
    would have then. Very many messages go a turn's share at a time.
    """
    limits = queue.limits
    if limits.overflow != DROP_HEAD or queue.returns:
        return
    share = DROP_COST
    while (excess := _excess(queue)) > 0:
        if share <= 0:
            queue.vhost.broker.limit_reapply.add(queue)
            return
        if late and queue.timed:
            excess = 1
            expiry.expire(queue, queue.vhost.broker.clock.now_ms)
            if _excess(queue) <= 0:
                return
        level = queue.backlog.first_level()
        if level is None:
            return  # delayed ones count, but stay
        if level.head() is None:
            # A dead letter needs its contents; until they are here there are more messages than the limit allows.
            unseen = limits.dead_letter_exchange is None
            dropped = eviction.drop_front(queue, level, min(excess, -(-share // ENTRY_COST))) if unseen else 0
            if not dropped:
                if not queue.vhost.broker.dead_letters.has(queue):
                    eviction.refill(queue, level)
                return
            queue.dropped += dropped
            queue.vhost.broker.totals.of_death(limits).count("maxlen", dropped)
            share -= ENTRY_COST * dropped
            continue
        entry = queue.backlog.remove_head(level, min(excess, share))
        queue.dropped += len(entry.indexes)
        share -= ENTRY_COST + len(entry.indexes)
        route.depart(queue, [entry], "maxlen")


def _excess(queue: "Queue") -> int:
    """Return how many heads must go at least: exactly, for a length; one, for octets."""
    limits, backlog = queue.limits, queue.backlog
    messages = backlog.messages_ready + backlog.messages_delayed
    if limits.length_max is not None and messages > limits.length_max:
        return messages - limits.length_max
    octets = backlog.octets_ready + backlog.octets_delayed
    return 1 if limits.octets_max is not None and octets > limits.octets_max else 0
