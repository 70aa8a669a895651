"""Message TTL and queue TTL. Due times are computed, never stored, so that a changed limit acts at once.

As in RabbitMQ only the head of each level is looked at: a message behind a longer-lived one waits for it.
Unacknowledged messages do not expire; returned ones do at once.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.events.cause import because
from pybroker.core.queue.dead_letter import route
from pybroker.core.queue.paging import eviction

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue
    from pybroker.run import Entry, Run

# Looked at in one go: a million messages that each are a run of their own, and due at once, are almost two seconds.
TURN_ENTRIES_MAX: Final = 4_096
# Cost of looking at a queue, or deleting one, in messages that expire.
LOOK_COST: Final = 4
DELETION_COST: Final = 16


def ttl_ms(queue: "Queue", run: "Run") -> int | None:
    """Return the lower of the queue's and the message's TTL, None if neither is set."""
    of_queue, of_message = queue.limits.message_ttl_ms, run.attributes.ttl_ms
    if of_queue is None:
        return of_message
    return of_queue if of_message is None else min(of_queue, of_message)


def expire(queue: "Queue", now_ms: int) -> None:
    """Remove heads that are due, and set the queue's timer to when the next head is.

    A turn's share at a time: `overdue` tells that more of them wait for the next turn, for which the queue is woken.
    """
    if (queue.overdue and queue.awake) or queue.returns:
        return
    gone: list[Entry] = []
    queue.overdue = False
    next_due = 0
    for level in queue.backlog.levels:
        while (head := level.head()) is not None:
            ttl = ttl_ms(queue, head.run)
            if ttl is None:
                break
            due = head.run.arrived_ms + ttl
            if due > now_ms:
                next_due = due if not next_due else min(next_due, due)
                break
            if len(gone) == TURN_ENTRIES_MAX:
                queue.overdue = True
                queue.wake()
                break
            gone.append(queue.backlog.remove_head(level, len(head.indexes)))
        if head is None and level.count:
            eviction.refill(queue, level)  # when it comes, it is looked at
    queue.timer_ms = next_due
    if next_due:
        queue.vhost.broker.timers.add(next_due, queue)
    if gone:
        queue.expired += sum(len(entry.indexes) for entry in gone)
        route.depart(queue, gone, "expired")


def expire_all(queue: "Queue") -> None:
    """Remove every head that is due, whatever that costs: get-empty would be a lie while there is one behind them."""
    now_ms = queue.vhost.broker.clock.now_ms
    behind = True
    while behind:
        queue.overdue = False
        expire(queue, now_ms)
        behind = queue.overdue


def timer(queue: "Queue", now_ms: int) -> int:
    """Do what is due for the queue: expire heads, or delete it when it has been unused for x-expires.

    Return what that cost, in messages that expire.
    """
    if queue.deleted:
        return 1
    if queue.expires_at_ms and queue.expires_at_ms <= now_ms and queue.paused is not None:
        queue.touch()  # that nobody uses it is the operator's doing
    if queue.expires_at_ms and queue.expires_at_ms <= now_ms and not queue.consumers:
        queue.vhost.delete_queue(queue, because(f"expired: unused for {queue.limits.expires_ms} ms (x-expires)"))
        return DELETION_COST
    before = queue.backlog.messages_ready
    if queue.timer_ms and queue.timer_ms <= now_ms:
        expire(queue, now_ms)
    return LOOK_COST + before - queue.backlog.messages_ready
