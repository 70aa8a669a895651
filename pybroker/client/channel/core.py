"""A channel's state and input. The methods for applications are in `declaring`, `publishing` and `consuming`.

The reader calls `receive_*`, which assembles contents, matches replies, hands over to the lane and never waits.
`_refusal` is why calls are refused: it is set before waiting calls are woken, and calls look at it after they began to
wait, so none misses it.
"""

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from pamqp import base, commands

from pybroker.client.channel.confirms import Confirmation, Confirms, Outcome
from pybroker.client.channel.content import ACK, DELIVER, NACK, ContentAssembler, Encoder, decode_deliver, decode_settle
from pybroker.client.channel.rpc import Rpc
from pybroker.client.errors import (
    AmqpError,
    CallTimeout,
    ChannelClosed,
    ClientError,
    UnexpectedFrame,
    error_of,
    fresh,
)
from pybroker.client.message import Message, ReturnedMessage
from pybroker.client.transport.outbox import OCTETS_MAX
from pybroker.client.transport.reader import Receiver
from pybroker.client.transport.transport import Transport
from pybroker.wire.methods import decode_method, encode_method, make_method

if TYPE_CHECKING:
    from pybroker.client.channel.channel import Channel
    from pybroker.client.channel.consumer import Consumer
    from pybroker.client.connection.connection import Connection
    from pybroker.client.connection.dispatch import Lane

_log = logging.getLogger("pybroker.client")

# A name without a type: pamqp says that arguments which came by the wire may be None.
_GET_OK: Any = commands.Basic.GetOk
OnReturn = Callable[[ReturnedMessage], object]
OnClose = Callable[[Exception], object]


class ChannelCore(Receiver):
    """One channel of a connection; after a recovery it is the same object on another transport."""

    __slots__ = (
        "_assembly",
        "_close_handlers",
        "_confirms",
        "_consumers",
        "_encoder",
        "_flowing",
        "_lane",
        "_last_properties",
        "_last_queue",
        "_leaving",
        "_lock",
        "_qos",
        "_recovering",
        "_refusal",
        "_return_handlers",
        "_rpc",
        "_tag_last",
        "_tag_offset",
        "_transactional",
        "_transport",
        "connection",
        "number",
    )

    def __init__(self, connection: "Connection", number: int, transport: Transport) -> None:
        self.connection = connection
        self.number = number
        self._lock = threading.Lock()  # transport, refusal and tag offset change together
        self._transport = transport
        self._refusal: ClientError | None = None
        self._recovering = False
        self._lane: Lane = connection._make_lane(self._failed)
        self._rpc = Rpc(connection._backpressure, connection._more_s, self._abandon)
        self._confirms: Confirms | None = None
        self._transactional = False
        self._qos: dict[bool, tuple[int, int]] = {}
        self._consumers: dict[str, Consumer] = {}
        self._leaving: dict[str, Consumer] = {}  # cancelled without an answer; deliveries may be on their way
        self._return_handlers: list[OnReturn] = []
        self._close_handlers: list[OnClose] = []
        self._flowing = threading.Event()
        self._flowing.set()
        self._last_queue = ""
        self._last_properties: tuple[Any, bytes] | None = None
        # The application sees tags that go on counting: one from before a recovery is recognised.
        self._tag_offset = 0
        self._tag_last = 0
        self._begin(transport)

    @property
    def is_open(self) -> bool:
        """Whether it can be used now."""
        return self._refusal is None

    def call(self, reply: type[base.Frame], request: base.Frame) -> Any:
        """Send a synchronous method and return its reply.

        Raises AmqpError if the broker closes channel or connection instead; ClientError.
        """
        self._check()  # a recovery's calls come first, and nobody waits for those
        leaving = tuple(self._leaving)
        answer = self._rpc.call(lambda: self._transmit(request), (reply,), self._timeout_s)
        for tag in leaving:  # what was cancelled before is over, for the broker answers in order
            self._leaving.pop(tag, None)
        return answer

    def _call_or_send(self, reply: type[base.Frame], request: Any) -> Any:
        """`call`; a request with `nowait` is sent only, which returns None. Raises CallTimeout if it could not be."""
        if not request.nowait:
            return self.call(reply, request)
        octets = encode_method(self.number, request)
        if self._transport.outbox.octets >= OCTETS_MAX:
            self._check()
            with self.connection._backpressure:
                if not self._transport.outbox.wait_for_room(self._timeout_s):
                    raise CallTimeout(
                        f"{request.name} was not sent: the broker did not read from the connection for "
                        f"{self._timeout_s} s"
                    )
        with self._lock:
            self._check()
            outbox = self._transport.outbox
            outbox.put(octets)
        outbox.push()
        return None

    def _begin(self, transport: Transport) -> None:
        self._assembly = ContentAssembler(self.connection.options.body_octets_max)
        self._encoder = Encoder(self.number, transport.agreed.frame_octets_max)

    @property
    def _timeout_s(self) -> float:
        return self.connection.options.rpc_timeout_s

    def _check(self) -> None:
        if self._refusal is not None:
            raise fresh(self._refusal)

    def _transmit(self, method: base.Frame) -> None:
        octets = encode_method(self.number, method)
        with self._lock:
            self._check()
            transport = self._transport
        transport.send(octets)

    def _flush(self) -> None:
        self._transport.outbox.flush()

    def _call_back(self, callback: Outcome, confirmation: Confirmation) -> None:
        self._lane.put(callback, confirmation)

    # -- what the reader calls

    def receive_method(self, payload: bytes) -> None:
        """Take a method. Raises AmqpError (hard), which closes the connection."""
        index = payload[:4]
        if index == DELIVER:
            self._assembly.begin(decode_deliver(payload))
            return
        self._assembly.expect_method()
        if index in (ACK, NACK):
            if self._confirms is not None:
                self._confirms.settle(*decode_settle(payload), index == ACK)
            return
        method: Any = decode_method(payload)
        kind = type(method)
        if kind in (commands.Basic.GetOk, commands.Basic.Return):
            self._assembly.begin(method)
        elif kind is commands.Channel.Close:
            self._closed_by_broker(method)
        elif kind is commands.Channel.CloseOk:
            self._rpc.answer(kind, method)
            self.connection._forget(self)
        elif kind is commands.Channel.Flow:
            (self._flowing.set if method.active else self._flowing.clear)()
            self._say(make_method(commands.Channel.FlowOk, active=method.active))
        elif kind is commands.Basic.Cancel:
            self._cancelled(method.consumer_tag)
        elif kind is commands.Basic.CancelOk:
            self._consumers.pop(method.consumer_tag, None)
            self._rpc.answer(kind, method)
        elif not self._rpc.answer(kind, method) and self._refusal is None:
            raise UnexpectedFrame(f"unexpected {method.name}: no call waits for it")

    def receive_header(self, payload: bytes) -> None:
        """Take a content header. Raises AmqpError (hard)."""
        whole = self._assembly.header(payload)
        if whole is not None:
            self._take(*whole)

    def receive_body(self, payload: bytes) -> None:
        """Take a part of a body. Raises AmqpError (hard)."""
        whole = self._assembly.body(payload)
        if whole is not None:
            self._take(*whole)

    def awaits(self) -> bool:
        """Tell whether publishes are open."""
        return bool(self._confirms)

    def _say(self, method: base.Frame) -> None:
        self._transport.send(encode_method(self.number, method))

    def _take(self, method: Any, props: bytes, body: bytes) -> None:
        """Take a whole content."""
        channel = cast("Channel", self)
        if type(method) is tuple:
            tag, number, redelivered, exchange, routing_key = method
            self._tag_last = number
            consumer = self._consumers.get(tag) or self._leaving.get(tag)
            if consumer is None or self._is_closed():
                return  # its queue keeps it: the channel is closing, or the consumer was cancelled by the broker
            number += self._tag_offset
            message = Message(channel, body, props, exchange, routing_key, number, redelivered, consumer_tag=tag)
            self._lane.put(consumer.on_message, message, len(body))
        elif type(method) is _GET_OK:
            self._tag_last = method.delivery_tag
            number = method.delivery_tag + self._tag_offset
            where = method.exchange, method.routing_key
            got = Message(channel, body, props, *where, number, method.redelivered, message_count=method.message_count)
            self._rpc.answer(commands.Basic.GetOk, got)
        else:
            where = method.exchange, method.routing_key
            returned = ReturnedMessage(method.reply_code, method.reply_text, *where, props, body)
            if self._confirms is not None:
                self._confirms.returned(returned)
            for handler in self._return_handlers:
                self._lane.put(handler, returned)

    def _closed_by_broker(self, close: Any) -> None:
        self._say(make_method(commands.Channel.CloseOk))
        if self._is_closed():
            return  # our own close crossed it, and is answered too
        error = error_of(close.reply_code, close.reply_text, (close.class_id, close.method_id), hard=False)
        self._shut(ChannelClosed(f"the broker closed channel {self.number}: {error.reply_text}", error), error)
        self.connection._forget(self)

    def _cancelled(self, tag: str) -> None:
        consumer = self._consumers.pop(tag, None)
        if consumer is None:
            return
        self.connection._topology.remove_unconsumed(consumer.queue)
        if consumer.on_cancel is not None:
            self._lane.put(consumer.on_cancel, tag)
        else:
            _log.warning("the broker cancelled consumer %s of queue %s", tag, consumer.queue)

    # -- ends

    def _shut(self, refusal: ClientError, error: Exception) -> None:
        """Refuse calls from now on, for good, and wake all that wait with `error`."""
        with self._lock:
            if isinstance(self._refusal, ChannelClosed):
                return
            self._refusal = refusal
        self._wake(error)
        self._consumers.clear()
        for handler in self._close_handlers:
            self._lane.put(handler, error)

    def _interrupt(self, refusal: ClientError, error: Exception) -> None:
        """Refuse calls until `_resume`, and wake all that wait: the transport is gone and comes back."""
        with self._lock:
            if not isinstance(self._refusal, ChannelClosed):
                self._refusal = refusal
        self._wake(error)

    def _wake(self, error: Exception) -> None:
        self._rpc.fail(error)
        if self._confirms is not None:
            self._confirms.fail(error)
        self._flowing.set()
        self._lane.clear()

    def _abandon(self) -> None:
        """Give the channel up after a call that was not answered: its reply may still come."""
        if self._refusal is not None or self._recovering:
            return  # it is closed already, or it was recovery's call: that begins anew
        text = f"channel {self.number} was closed because the broker did not reply to a call in time; open another one"
        refusal = ChannelClosed(text)
        self._shut(refusal, refusal)
        close = make_method(commands.Channel.Close, reply_code=200, reply_text="a call timed out")
        with contextlib.suppress(ClientError):  # without a connection there is nothing left to close
            self._say(close)

    def _failed(self, error: BaseException, argument: Any) -> None:
        """Take what a callback of this channel raised. Called on the executor."""
        self.connection._callback_failed(cast("Channel", self), error, argument)

    # -- recovery

    def _reopen(self, transport: Transport) -> None:
        """Open the channel on another transport, with its modes. Raises AmqpError, ClientError. Recovery's."""
        with self._lock:
            self._recovering = True
            self._transport = transport
            self._tag_offset += self._tag_last
            self._tag_last = 0
            self._leaving.clear()
            self._begin(transport)
        self._call_anyway(commands.Channel.OpenOk, make_method(commands.Channel.Open))
        for is_global, (count, octets) in self._qos.items():
            qos = make_method(commands.Basic.Qos, prefetch_size=octets, prefetch_count=count, global_=is_global)
            self._call_anyway(commands.Basic.QosOk, qos)
        if self._confirms is not None:
            self._confirms.restart()
            self._call_anyway(commands.Confirm.SelectOk, make_method(commands.Confirm.Select))
        if self._transactional:
            self._call_anyway(commands.Tx.SelectOk, make_method(commands.Tx.Select))

    def _call_anyway(self, reply: type[base.Frame], request: base.Frame) -> Any:
        """`call`, while everybody else's calls are refused."""
        return self._rpc.call(lambda: self._say(request), (reply,), self._timeout_s)

    def _resume(self) -> None:
        """Accept calls again, unless the channel was closed meanwhile.

        It comes before the consumers do: their first deliveries may be there, and be settled, before their replies.
        """
        with self._lock:
            if not isinstance(self._refusal, ChannelClosed):
                self._refusal = None

    def _recovered(self) -> None:
        """Take the end of a recovery."""
        self._resume()
        self._recovering = False

    def _rename_queue(self, old: str, new: str) -> None:
        """Let consumers of a server-named queue follow it to its new name."""
        for tag, consumer in tuple(self._consumers.items()):
            if consumer.queue == old:
                self._consumers[tag] = consumer._replace(queue=new)
        if self._last_queue == old:
            self._last_queue = new

    def _is_closed(self) -> bool:
        return isinstance(self._refusal, ChannelClosed)


def reason_of(error: Exception) -> str:
    """Return the sentence that describes an error."""
    return error.reply_text if isinstance(error, AmqpError) else str(error)
