"""Dispatch of a queue's ready messages to its consumers, in turn and as far as their credit goes.

Entries are dealt in strides to several consumers of a ring, and poured as they are into a lonely one. Returned messages
go back to their place. Costs are per entry. Knows consumers by their base class, which decides whether one is able to
take more.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.queue import expiry
from pybroker.core.queue.dead_letter import route
from pybroker.run import Entry, known_deliveries

if TYPE_CHECKING:
    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level
    from pybroker.run import Run

# One queue's share of a turn: 4,096 messages of a flood are about a millisecond, so a hot queue cannot starve the rest.
TURN_MESSAGES_MAX: Final = 4_096
# Cost, in that share, of a message that is handed out alone, and of an entry that is poured.
ALONE_COST: Final = 4
# Cost of a message that was delivered before: its properties say so.
REDELIVERED_COST: Final = 16
# Dealt to one consumer at a time, so that several consumers of a backlog get their messages interleaved.
DEAL_MESSAGES_MAX: Final = 256
# Given to the only consumer at a time: about what a socket takes in one call. Bodies of 16 and 128 KiB cost a sixth
# less than with an outbox full at a time, a quarter of this.
POUR_OCTETS_MAX: Final = 917_504


def deliver(queue: "Queue", now_ms: int, *, expire: bool) -> None:
    """Deal what is ready to the consumers that are able, at most one turn's share; the rest wakes it again."""
    if queue.returns:
        return
    budget = TURN_MESSAGES_MAX
    consumers, backlog = queue.consumers, queue.backlog
    levels = backlog.levels
    watch_ttl = expire and queue.timed
    if watch_ttl:
        expiry.expire(queue, now_ms)
    while backlog.messages_ready and not queue.overdue:
        first = consumers.next()
        if first is None:
            return
        if budget <= 0:
            queue.wake()
            return
        level = levels[0] if len(levels) == 1 else next(level for level in levels if level.count)
        if backlog.messages_evicted and level.head() is None:
            return  # its head is evicted: whoever brings that back wakes the queue
        if consumers.alone and not queue.timed:
            budget -= _pour(queue, first, level, budget, now_ms)
            continue
        head = level.head()
        assert head is not None
        if len(head.indexes) <= consumers.beside(first) or first.channel.prefetch_global:
            # No more messages than consumers: to look at all of these for each entry would be their number squared.
            consumers.rotate(first)
            entry = backlog.dispatch_head(level, 1)
            budget -= REDELIVERED_COST if entry.deliveries else ALONE_COST
            _hand(queue, first, entry.run, entry.indexes, entry.deliveries, now_ms)
        else:
            budget -= _deal(queue, level, budget, now_ms)
        if watch_ttl:
            # The next head may be due already, and if not, the timer is to look at it in time.
            expiry.expire(queue, now_ms)


def _pour(queue: "Queue", consumer: "Consumer", level: "Level", budget: int, now_ms: int) -> int:
    """Give the only consumer as many entries as it can take, up to an outbox full."""
    if level.returned:
        budget = -(-budget // REDELIVERED_COST)
    messages_max = min(consumer.credit(), budget)
    entries_max = -(-budget // ALONE_COST)
    no_ack = consumer.no_ack
    entries, count, redelivered = queue.backlog.dispatch(level, messages_max, entries_max, POUR_OCTETS_MAX, no_ack)
    queue.delivered_ms = now_ms
    if redelivered:
        _count_redelivered(queue, consumer, redelivered)
    if not no_ack:
        queue.delivered += count
        queue.vhost.traffic.delivered += count
    else:
        queue.delivered_no_ack += count
        queue.vhost.traffic.delivered_no_ack += count
        if queue.durable:
            for entry in entries:
                queue.forget(entry.run, entry.indexes)
    consumer.dispatch_all(entries, count, now_ms)
    return max(count, ALONE_COST * len(entries)) + REDELIVERED_COST * redelivered


def _deal(queue: "Queue", level: "Level", budget: int, now_ms: int) -> int:
    """Deal the head entry in strides over the ring, starting with the consumer whose turn it is."""
    ring = queue.consumers.able()
    readers = []
    for consumer in ring:
        # Consumers of one channel share its limit: they are served one message at a time, by `deliver`.
        if consumer.channel.prefetch_global:
            break
        readers.append(consumer)
    k = len(readers)
    each = min(DEAL_MESSAGES_MAX, *[consumer.credit() for consumer in readers]) if k == len(ring) else 1
    cost = REDELIVERED_COST if level.returned else 1
    entry = queue.backlog.dispatch_head(level, min(each * k, -(-budget // cost)))
    n = len(entry.indexes)
    for i, consumer in enumerate(readers[:n]):
        _hand(queue, consumer, entry.run, entry.indexes[i::k], entry.deliveries, now_ms)
    ring.rotate(-n)
    return cost * n


def _hand(queue: "Queue", consumer: "Consumer", run: "Run", indexes: range, deliveries: int, now_ms: int) -> None:
    """Give a consumer what was dispatched."""
    n = len(indexes)
    queue.delivered_ms = now_ms
    if deliveries:
        _count_redelivered(queue, consumer, n)
    if not consumer.no_ack:
        queue.delivered += n
        queue.vhost.traffic.delivered += n
    else:
        queue.delivered_no_ack += n
        queue.vhost.traffic.delivered_no_ack += n
        queue.settled(run, indexes)
    consumer.dispatch(run, indexes, deliveries, now_ms)


def _count_redelivered(queue: "Queue", consumer: "Consumer", messages: int) -> None:
    queue.redelivered += messages
    queue.vhost.traffic.redelivered += messages
    consumer.channel.count_redelivered(messages)


def requeue(queue: "Queue", batches: "list[Batch]", *, failed: bool) -> None:
    """Put unacknowledged messages back to their original place; delivered too often, they are dead.

    They may have to wait for their retry: those that a consumer `failed` at, or the others, or all.
    """
    queue.fates.requeue(batches)
    limit, retry = queue.limits.delivery_limit, queue.limits.retry
    counts = queue.durable and queue.counts_deliveries
    now_ms = queue.vhost.broker.clock.now_ms
    over: list[Entry] = []
    returned: list[Entry] = []
    delayed: dict[int, list[Entry]] = {}
    for batch in batches:
        run, indexes, deliveries = batch.run, batch.indexes, known_deliveries(batch.deliveries) + 1
        entry = Entry(run, indexes, deliveries)
        if limit is not None and deliveries > limit:
            queue.backlog.settle(run, indexes)
            over.append(entry)
            continue
        # Differs from RabbitMQ: all that comes back counts, so that a nack waits longer each time as well.
        delay_ms = 0 if retry is None else retry.delay_ms(deliveries, failed=failed)
        due_ms = now_ms + delay_ms if delay_ms else 0
        if counts and run.attributes.persistent:
            queue.log.give_back(queue.id, run, indexes, deliveries, due_ms)
        if due_ms:
            delayed.setdefault(due_ms, []).append(entry)
        else:
            returned.append(entry)
    queue.backlog.requeue(returned)
    for due_ms, entries in delayed.items():
        queue.delay(entries, due_ms)
    if over:
        route.depart(queue, over, "delivery_limit")
