"""Get: take messages from a queue's head as basic.get does, show them, then settle them or put them back.

Messages are settled when the caller says that it has shown them all: if it leaves before, they go back.
"""

from typing import TYPE_CHECKING, Any, Final

from pybroker.core.auth.access import check_exclusive_access
from pybroker.core.auth.permissions import READ, check
from pybroker.core.channel.unacked import Batch
from pybroker.core.operator.stand_in import StandIn
from pybroker.core.queue.browse.browsed import Browsed
from pybroker.core.queue.browse.shown import Shown
from pybroker.core.stream.refusals import refuse_stream
from pybroker.errors import ContentTooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from pybroker.core.auth.users import User
    from pybroker.core.events.cause import Cause
    from pybroker.core.queue.queue import Queue
    from pybroker.run import Entry

# Held while the others are taken: they go back, or are acknowledged, together.
HELD_OCTETS_MAX: Final = 67_108_864
# Between two looks whether the head is back from disk.
PAUSE_S: Final = 0.001


class _Got:
    """The answer of a queue whose head had to be read; a caller that left wants none."""

    __slots__ = ("entry", "has_left", "is_there", "queue")

    def __init__(self, queue: "Queue") -> None:
        self.queue = queue
        self.entry: Entry | None = None
        self.is_there = self.has_left = False

    def take_head(self) -> None:
        """Take the head now, for the next one in line may come at once."""
        self.is_there = True
        if not self.has_left and not self.queue.deleted:
            self.entry = self.queue.get(no_ack=False)


def get(
    queue: "Queue",
    user: "User | None",
    cause: "Cause",
    pause: "Callable[[float], object]",
    *,
    messages_max: int,
    ack: bool,
    reject: bool = False,
    body_octets_max: int,
    whole: bool = False,
    raw: bool,
) -> "Iterator[list[dict[str, Any]] | None]":
    """Yield up to so many messages as documents, some at a time, or none while the disk is read.

    With `ack` or `reject` None follows in the end, and they are gone when the caller comes back from that: all has been
    shown. Rejected ones go to the dead letter exchange, if the queue has one. Else they go back to their places, as
    redelivered ones. No more are taken than memory may hold meanwhile.

    A larger body than `body_octets_max` is cut. To be acknowledged `whole`, it stays, and nothing after it is taken; if
    it comes first, it is refused. Nothing is acknowledged with a refusal: that may be the whole answer to a caller.

    Raises AccessRefused (403), ResourceLocked (405) for an exclusive queue, ContentTooLarge (311), MethodNotImplemented
    (540) for a stream.
    """
    check(user, queue.vhost.name, READ, "queue", queue.name)
    check_exclusive_access(queue, None)
    refuse_stream(queue, "basic.get")
    queue.catch_up()
    broker = queue.vhost.broker
    operator: Any = StandIn(cause)
    held: list[Batch] = []
    shown = Shown(queue, body_octets_max, raw=raw)
    count = octets = 0
    is_last_too_large = False
    try:
        while count < messages_max and octets < HELD_OCTETS_MAX:
            entry = yield from _head(queue, pause)
            if entry is None:
                break
            run, indexes = entry.run, entry.indexes
            count += 1
            held.append(Batch(count, queue, None, run, indexes, entry.deliveries, broker.clock.now_ms))
            if queue.vhost.tracing:
                broker.traces.delivered(queue, run, indexes, entry.deliveries, operator, None, no_ack=False)
            message = Browsed(0, run, indexes[0], entry.deliveries)
            size = message.body_octets
            if ack and whole and size > body_octets_max:
                if count == 1:
                    raise ContentTooLarge(_too_large(message.seq, size, body_octets_max))
                is_last_too_large = True
                break
            octets += size
            yield from shown.add(message)
            pause(0)
        yield shown.hand_over()
        if reject:
            yield None
            _reject(queue, held, operator)
        elif ack:
            yield None
            _acknowledge(queue, held, operator, but_last=is_last_too_large)
    finally:
        if held:
            _put_back(queue, held, operator)


def _too_large(seq: int, octets: int, octets_max: int) -> str:
    limits = f"has {octets:,} octets, and at most {octets_max:,} are shown"
    return f"the body of message {seq} {limits}: it stays in the queue; acknowledge it with an AMQP client"


def _head(queue: "Queue", pause: "Callable[[float], object]") -> "Generator[list[dict[str, Any]], None, Entry | None]":
    """Take the queue's head, and yield nothing until it is there; None: there is no more."""
    got = _Got(queue)
    try:
        if queue.wait_for_head(got.take_head):
            got.take_head()
        while not got.is_there:
            pause(PAUSE_S)
            yield []
    finally:
        got.has_left = True
    return got.entry


def _acknowledge(queue: "Queue", held: list[Batch], operator: Any, *, but_last: bool) -> None:
    """Settle what was shown, unless the queue is gone with it."""
    shown = held[:-1] if but_last else held[:]
    if queue.vhost.tracing:
        queue.vhost.broker.traces.settled(shown, "ack", operator)
    for batch in shown:
        if not queue.deleted:
            queue.settled(batch.run, batch.indexes)
            queue.acked += 1
    queue.vhost.traffic.acked += len(shown)
    del held[: len(shown)]


def _reject(queue: "Queue", held: list[Batch], operator: Any) -> None:
    if queue.vhost.tracing and not queue.deleted:
        queue.vhost.broker.traces.settled(held, "reject", operator)
    queue.reject(held)
    held.clear()


def _put_back(queue: "Queue", held: list[Batch], operator: Any) -> None:
    if queue.vhost.tracing and not queue.deleted:
        queue.vhost.broker.traces.settled(held, "requeue", operator)
    queue.give_back(held)
