"""Consuming and getting, and settling what came [basic.*].

Callbacks run on the connection's executor, one at a time and in order for each channel; they may call anything on the
channel. Their messages stay with the broker until they are acknowledged.
"""

import logging
import uuid
from collections.abc import Mapping
from typing import Any, Final, cast

from pamqp import base, commands

from pybroker.client.channel.consumer import Consumer, OnCancel, OnMessage
from pybroker.client.channel.content import encode_ack
from pybroker.client.channel.core import ChannelCore
from pybroker.client.errors import ConnectionLost
from pybroker.client.message import Message
from pybroker.wire.methods import encode_method, make_method

_NONE: Final[Mapping[str, Any]] = {}

_log = logging.getLogger("pybroker.client")


class Consuming(ChannelCore):
    """See `Channel`."""

    __slots__ = ()

    def basic_qos(self, prefetch_count: int, *, global_: bool = False, prefetch_size: int = 0) -> None:
        """Limit what the broker sends ahead of acknowledgements; 0 is no limit [basic.qos].

        As RabbitMQ reads it: for each consumer that follows, or with `global_` for the channel. Always set one; 20 to
        50 is a good start.
        """
        request = make_method(
            commands.Basic.Qos, prefetch_size=prefetch_size, prefetch_count=prefetch_count, global_=global_
        )
        self.call(commands.Basic.QosOk, request)
        self._qos[global_] = prefetch_count, prefetch_size

    def basic_consume(
        self,
        queue: str,
        on_message: OnMessage,
        *,
        consumer_tag: str = "",
        no_ack: bool = False,
        exclusive: bool = False,
        no_local: bool = False,
        arguments: Mapping[str, Any] = _NONE,
        on_cancel: OnCancel | None = None,
        no_wait: bool = False,
    ) -> str:
        """Let `on_message(message)` be called for each message of the queue; return the consumer's tag.

        `on_cancel(consumer_tag)` is called when the broker ends the consumer, e.g. because the queue was deleted.
        Exceptions of `on_message` are logged and given to the connection's handler; the message stays unacknowledged.
        With `no_wait` the call returns when it is sent, and a refusal closes the channel, which calls `on_close`. The
        broker decides on `no_local`: pybroker keeps this connection's messages out of an exclusive queue, RabbitMQ
        ignores it.

        Raises NotFound (404), AccessRefused (403) for an exclusive consumer's queue; ValueError for a tag that is in
        use on this channel.
        """
        tag = consumer_tag or f"ctag-{uuid.uuid4().hex}"
        if tag in self._consumers:
            raise ValueError(f"consumer tag {tag!r} is in use on this channel")
        queue = queue or self._last_queue
        consumer = Consumer(tag, queue, on_message, on_cancel, no_ack, exclusive, no_local, arguments)
        # Known before the broker is asked: the first delivery may come right behind the reply.
        self._consumers[tag] = consumer
        try:
            self._call_or_send(commands.Basic.ConsumeOk, _consume(consumer, no_wait=no_wait))
        except BaseException:
            self._consumers.pop(tag, None)
            raise
        return tag

    def basic_cancel(self, consumer_tag: str, *, no_wait: bool = False) -> None:
        """End a consumer. Messages that had come are still given to its callback.

        With `no_wait` more of them may be on their way; they come until the next synchronous call returns.
        """
        consumer = self._consumers.get(consumer_tag)
        request = make_method(commands.Basic.Cancel, consumer_tag=consumer_tag, nowait=no_wait)
        if no_wait and consumer is not None:
            self._leaving[consumer_tag] = consumer
            self._consumers.pop(consumer_tag, None)
        self._call_or_send(commands.Basic.CancelOk, request)
        if consumer is not None and not self.connection._consumes(consumer.queue):
            self.connection._topology.remove_unconsumed(consumer.queue)

    def basic_get(self, queue: str = "", *, no_ack: bool = False) -> Message | None:
        """Return a message of the queue, None at once if it is empty. Consuming is faster. Raises NotFound (404)."""
        request = make_method(commands.Basic.Get, queue=queue or self._last_queue, no_ack=no_ack)
        kinds = (commands.Basic.GetOk, commands.Basic.GetEmpty)
        self._check()
        reply = self._rpc.call(lambda: self._transmit(request), kinds, self._timeout_s)
        return None if isinstance(reply, base.Frame) else cast("Message", reply)

    def basic_ack(self, delivery_tag: int, multiple: bool = False) -> None:
        """Acknowledge a message, with `multiple` all up to it, with tag 0 all there are. There is no reply."""
        self._settle(None, delivery_tag, multiple=multiple)

    def basic_nack(self, delivery_tag: int, multiple: bool = False, requeue: bool = True) -> None:
        """Refuse a message, or several; back into the queue, or away [rmq basic.nack]."""
        nack = make_method(commands.Basic.Nack, multiple=multiple, requeue=requeue)
        self._settle(nack, delivery_tag)

    def basic_reject(self, delivery_tag: int, requeue: bool = True) -> None:
        """Refuse a message: back into the queue, or away."""
        self._settle(make_method(commands.Basic.Reject, requeue=requeue), delivery_tag)

    def basic_recover(self, requeue: bool = True) -> None:
        """Let the broker deliver again what this channel has not acknowledged [basic.recover]."""
        self.call(commands.Basic.RecoverOk, make_method(commands.Basic.Recover, requeue=requeue))

    def _settle(self, method: Any, delivery_tag: int, multiple: bool = False) -> None:
        """Send an acknowledgement; one from before a recovery says nothing any more, the broker delivers again."""
        with self._lock:
            if isinstance(self._refusal, ConnectionLost):
                _log.debug("delivery %d is not settled: the connection is being recovered", delivery_tag)
                return
            self._check()
            tag = delivery_tag - self._tag_offset if delivery_tag else 0
            if delivery_tag and tag <= 0:
                _log.debug("delivery %d is not settled: it is from before a recovery", delivery_tag)
                return
            outbox = self._transport.outbox
            if method is None:
                outbox.put(encode_ack(self.number, tag, multiple))
            else:
                method.delivery_tag = tag
                outbox.put(encode_method(self.number, method))
        outbox.push()

    def _consume_again(self, consumer: Consumer) -> None:
        """Start a consumer on the channel as it is now. Raises AmqpError, ClientError. Recovery's."""
        self._call_anyway(commands.Basic.ConsumeOk, _consume(consumer))


def _consume(consumer: Consumer, *, no_wait: bool = False) -> base.Frame:
    return make_method(
        commands.Basic.Consume,
        queue=consumer.queue,
        consumer_tag=consumer.tag,
        no_local=consumer.no_local,
        no_ack=consumer.no_ack,
        exclusive=consumer.exclusive,
        nowait=no_wait,
        arguments=consumer.arguments,
    )
