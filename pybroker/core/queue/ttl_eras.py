"""TTL eras: which message TTL of its own a queue had in force when a message arrived.

As in RabbitMQ (rabbit_amqqueue_process:calculate_msg_expiry) a message's expiry is fixed when it arrives: a policy that
comes later, a wrong one included, does not touch what waits. Nothing is kept per message. A queue remembers, as pairs
`(below_seq, ttl_ms)`, ascending, that messages below a seq and above the one before it arrived under that TTL (None:
without one); all others did under the TTL of its limits. The list is part of a durable queue's definition.
"""

from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.queue.queue import Queue
    from pybroker.store.definitions import Value

Eras: TypeAlias = tuple[tuple[int, int | None], ...]

ARGUMENT: Final = "x-message-ttl"
# Of a row: the TTL in force, and the eras before.
FIELD: Final = "message_ttl"
# Until the log was read nobody knows where the last era ended.
OPEN_SEQ: Final = (1 << 63) - 1
ERAS_MAX: Final = 64


def in_force(queue: "Queue", seq: int) -> int | None:
    """Return the queue's TTL that counts for a message."""
    for below_seq, ttl_ms in queue.ttl_eras or ():
        if seq < below_seq:
            return ttl_ms
    return queue.limits.message_ttl_ms


def changed(queue: "Queue", before_ms: int | None) -> None:
    """Begin an era: from the next seq on the TTL of the queue's new limits counts, `before_ms` for what is there."""
    if queue.ttl_eras is None:
        return  # a start: `restored` says what was
    broker = queue.vhost.broker
    if broker.growing is not None:
        broker.growing.run = None  # no run belongs to two eras
    queue.ttl_eras = _extended(queue, broker.log.next_seq, before_ms) if queue.messages else ()


def _extended(queue: "Queue", next_seq: int, before_ms: int | None) -> Eras:
    oldest_seq = _oldest_seq(queue)
    eras = [era for era in queue.ttl_eras or () if era[0] > oldest_seq]
    if not eras or eras[-1][0] != next_seq:
        eras.append((next_seq, before_ms))
    elif eras[-1][1] == queue.limits.message_ttl_ms:
        eras.pop()  # back to what it was, and nothing has come since
    while len(eras) > ERAS_MAX:
        # Differs from RabbitMQ: of more eras than that the two oldest are one, in which the longer TTL counts.
        (_, one), (below_seq, other) = eras[:2]
        eras[:2] = [(below_seq, None if one is None or other is None else max(one, other))]
    return tuple(eras)


def _oldest_seq(queue: "Queue") -> int:
    """Return a seq that none of the queue's messages is below; 0 where that is not known."""
    if queue.messages_ready != queue.messages:
        return 0
    firsts = []
    for level in queue.levels:
        head = level.head()
        if head is not None:
            firsts.append(head.first_seq)
        elif level.count:
            return 0
    return min(firsts, default=0)


# -- over a restart ---------------------------------------------------------------------------------------------------


def to_row(queue: "Queue") -> "Value":
    """Return what of it belongs into the queue's row: nothing where the TTL has always been that of the arguments."""
    now_ms = queue.limits.message_ttl_ms
    if not queue.ttl_eras and now_ms == queue.arguments.get(ARGUMENT):
        return {}
    return {FIELD: {"now": now_ms, "before": [list(era) for era in queue.ttl_eras or ()]}}


def restored(queue: "Queue", row: "Value") -> None:
    """Take the eras from the queue's row.

    Where the TTL in force is another one now, the change was not noted before the end of the process: then what the log
    has is older than that change.
    """
    kept: dict[str, Any] = row.get(FIELD) or {"now": queue.arguments.get(ARGUMENT), "before": []}
    eras = [(int(below_seq), ttl_ms) for below_seq, ttl_ms in kept["before"]]
    if kept["now"] != queue.limits.message_ttl_ms:
        eras.append((OPEN_SEQ, kept["now"]))
    queue.ttl_eras = tuple(eras)
    queue.timed = queue.timed or any(ttl_ms is not None for _, ttl_ms in eras)
    queue.set_limits(queue.limits)


def next_seq(queues: "Iterable[Queue]") -> int:
    """Return a seq that no era of any queue reaches: messages to come must not get seqs of one that is over."""
    known = (below_seq for queue in queues for below_seq, _ in queue.ttl_eras or () if below_seq != OPEN_SEQ)
    return max(known, default=0)


def close_open(queue: "Queue", seq: int) -> bool:
    """End the era that was open at the start: what comes from `seq` on is of the next one; return whether one was."""
    eras = queue.ttl_eras
    if not eras or eras[-1][0] != OPEN_SEQ:
        return False
    queue.ttl_eras = (*eras[:-1], (seq, eras[-1][1]))
    return True
