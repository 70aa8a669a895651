"""One basic.get and its answer, which waits among the channel's replies while the queue's head is on disk.

A get that had to wait takes the message in its turn; if the channel was closed meanwhile, it takes none.
"""

from typing import TYPE_CHECKING

from pamqp import commands

from pybroker.amqp.consumer import adapt
from pybroker.core.channel.unacked import Batch
from pybroker.wire.methods import encode_method, make_method

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel
    from pybroker.core.queue.queue import Queue
    from pybroker.run import Entry


class Get:
    """A source that its own answer waits for, and that asks the queue when it is the first in the reply queue."""

    failed = ""

    __slots__ = ("_asked", "_channel", "_no_ack", "_queue")

    def __init__(self, channel: "AmqpChannel", queue: "Queue", *, no_ack: bool) -> None:
        self._channel = channel
        self._queue = queue
        self._no_ack = no_ack
        self._asked = False

    @property
    def completed(self) -> int:
        """Return 1 if the queue has an answer at hand; else it calls back.

        In the reply queue it waits for the outbox, as deliveries do: on disk there may be far more than memory holds.
        """
        channel, queue = self._channel, self._queue
        if self._asked:
            return 0
        if channel.closing or queue.deleted or _is_paused(queue):
            return 1
        if channel.reply_queue is not None and channel.session.outbox_full:
            return 0
        if queue.wait_for_head(self._head_came):
            return 1
        self._asked = True
        return 0

    def _head_came(self) -> None:
        self._asked = False
        self._channel.session.broker.advance(self._channel)

    def answer(self) -> list[bytes]:
        """Take one message and return its frames, or those that say that there is none."""
        channel = self._channel
        if channel.closing:
            return []
        queue, entry = self._queue, None
        if _is_paused(queue):
            queue.touch()
            queue.count_get(None, no_ack=self._no_ack)
        elif not queue.deleted:
            entry = queue.get(no_ack=self._no_ack)
        if entry is None:
            channel.count_get(None, no_ack=self._no_ack)
            return [encode_method(channel.number, make_method(commands.Basic.GetEmpty))]
        return self._hand_over(entry)

    def _hand_over(self, entry: "Entry") -> list[bytes]:
        channel, queue, run = self._channel, self._queue, entry.run
        session = channel.session
        channel.count_get(entry, no_ack=self._no_ack)
        tag = channel.next_tag
        channel.next_tag = tag + 1
        if not self._no_ack:
            now_ms = session.broker.clock.now_ms
            channel.unacked.append(Batch(tag, queue, None, run, entry.indexes, entry.deliveries, now_ms))
        method = make_method(
            commands.Basic.GetOk,
            delivery_tag=tag,
            redelivered=entry.deliveries != 0,
            exchange=run.names.exchange,
            routing_key=run.names.routing_key,
            message_count=queue.messages_ready,
        )
        if queue.vhost.tracing:
            traces, no_ack = session.broker.traces, self._no_ack
            traces.delivered(queue, run, entry.indexes, entry.deliveries, channel, None, no_ack=no_ack)
        content = adapt(run, entry.indexes, entry.deliveries, channel)[0]
        return [encode_method(channel.number, method), content]


def _is_paused(queue: "Queue") -> bool:
    """Tell whether an operator paused its consumers: clients find it empty, operators do not."""
    return queue.paused is not None and queue.paused.consume
