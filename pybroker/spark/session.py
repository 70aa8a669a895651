"""A connection that does one thing: read messages of a queue in bulk. Has no reader thread, and so no handover.

It shakes hands as the client does and has one channel with one consumer. Its caller may pause for long (Spark does,
when the stages after it are slow), so a thread of their own sends heartbeats.
"""

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from pamqp import base, commands

from pybroker.client import Address, Options
from pybroker.client.channel.content import encode_ack
from pybroker.client.errors import AuthenticationFailed, ClientError, ConnectionLost, error_of
from pybroker.client.transport.connect_errors import last_word
from pybroker.client.transport.handshake import shake_hands
from pybroker.client.transport.transport import open_stream
from pybroker.spark.parse.deliveries import Deliveries
from pybroker.spark.parse.frame_batch_parser import CHANNEL, CONSUMER_TAG
from pybroker.spark.parse.raw import BATCH_OCTETS, BATCH_ROWS
from pybroker.wire.frame import HEARTBEAT_FRAME
from pybroker.wire.methods import decode_method, encode_method, make_method

# basic.qos has 16 bits for it.
PREFETCH_MAX: Final = 65_535
# Messages are read many at a time; but when no more have come for so long, as many as there are.
_QUIET_S: Final = 0.005
# How long a close waits for its answer.
_GOODBYE_S: Final = 2.0
_CLOSE_OK: Final = encode_method(0, make_method(commands.Connection.CloseOk))


class ConsumerCancelled(ClientError):
    """The broker ended the consumer: the queue was deleted, or its node went away."""


class Session:
    """An open connection with one channel. Always close it; unacknowledged messages go back."""

    def __init__(self, options: Options) -> None:
        """Connect to the first address that answers.

        Raises ConnectFailed with what each address said; AuthenticationFailed, AmqpError, ClientError of the last one.
        """
        self._options = options
        self._stream, agreed = _open(options)
        self._sending = threading.Lock()
        self._closed = threading.Event()
        self._replies: list[base.Frame] = []
        self._deliveries = Deliveries(agreed.frame_octets_max, options.body_octets_max, self._take_method)
        if agreed.heartbeat_s:
            threading.Thread(target=self._beat, args=(agreed.heartbeat_s / 2,), daemon=True).start()
        try:
            self._deliveries.feed(agreed.rest)
            self._call(commands.Channel.OpenOk, make_method(commands.Channel.Open))
        except BaseException:
            self.close()
            raise

    @property
    def last_tag(self) -> int:
        """The delivery tag of the message that came last."""
        return self._deliveries.last_tag

    def messages_ready(self, queue: str) -> int:
        """Return how many messages wait in the queue. Raises NotFound (404), AccessRefused (403), ConnectionLost."""
        request = make_method(commands.Queue.Declare, queue=queue, passive=True)
        return int(self._call(commands.Queue.DeclareOk, request).message_count)

    def consume(self, queue: str, count: int, max_wait_s: float, prefetch: int) -> Iterator[pa.RecordBatch]:
        """Yield raw batches of `count` messages, fewer if nothing comes for `max_wait_s`.

        A prefetch of `count` takes not one message more than that; 0 is no limit.

        Raises AmqpError, e.g. NotFound (404); ConsumerCancelled, ConnectionLost, OSError.
        """
        assert prefetch <= PREFETCH_MAX
        qos = make_method(commands.Basic.Qos, prefetch_count=prefetch)
        self._call(commands.Basic.QosOk, qos)
        self._call(
            commands.Basic.ConsumeOk, make_method(commands.Basic.Consume, queue=queue, consumer_tag=CONSUMER_TAG)
        )
        deliveries = self._deliveries
        left = count
        while left > 0:
            came = len(deliveries)
            if came >= min(left, BATCH_ROWS) or deliveries.octets >= BATCH_OCTETS:
                batch = deliveries.pop()[:left]
                left -= len(batch)
                yield batch
            elif deliveries.is_unread:
                if not self._receive(_QUIET_S):
                    deliveries.read()
            elif not self._receive(max_wait_s):
                break
        self._call(commands.Basic.CancelOk, make_method(commands.Basic.Cancel, consumer_tag=CONSUMER_TAG))
        # what was on its way when the consumer ended
        rest = deliveries.pop()[:left]
        if len(rest):
            yield rest

    def ack(self, delivery_tag: int) -> None:
        """Acknowledge all messages up to this one [basic.ack]. Raises ConnectionLost, OSError."""
        self._send(encode_ack(CHANNEL, delivery_tag, multiple=True))

    def close(self) -> None:
        """Close the connection in order, if the broker answers soon; else it just ends. Twice is no error."""
        if self._closed.is_set():
            return
        self._closed.set()
        deadline = time.monotonic() + _GOODBYE_S
        with contextlib.suppress(OSError, ClientError):  # the broker has gone, and finds out by itself
            self._send(encode_method(0, make_method(commands.Connection.Close, reply_code=200, reply_text="done")))
            last = b""
            while _CLOSE_OK not in last:
                data = self._stream.receive(deadline - time.monotonic())
                if not data:
                    break
                last = last[-len(_CLOSE_OK) :] + data
        self._stream.shut_down()
        self._stream.close()

    def _call(self, kind: type[base.Frame], request: base.Frame) -> Any:
        self._send(encode_method(CHANNEL, request))
        deadline = time.monotonic() + self._options.rpc_timeout_s
        while True:
            self._deliveries.read()
            for reply in self._replies:
                if type(reply) is kind:
                    self._replies.remove(reply)
                    return reply
            if not self._receive(deadline - time.monotonic()):
                raise ConnectionLost(f"the broker did not reply to {request.name} in {self._options.rpc_timeout_s} s")

    def _receive(self, timeout_s: float) -> bool:
        """Take what comes; tell whether anything came. Raises AmqpError, ClientError, OSError."""
        try:
            data = self._stream.receive(max(0.0, timeout_s))
        except TimeoutError:
            return False
        if not data:
            self._deliveries.read()  # it may have said why
            raise ConnectionLost("the broker closed the connection")
        self._deliveries.feed(data)
        return True

    def _take_method(self, payload: bytes) -> None:
        method: Any = decode_method(payload)
        kind = type(method)
        if kind in (commands.Connection.Close, commands.Channel.Close):
            hard = kind is commands.Connection.Close
            raise error_of(method.reply_code, method.reply_text, (method.class_id, method.method_id), hard=hard)
        if kind is commands.Basic.Cancel:
            raise ConsumerCancelled("the broker cancelled the consumer: the queue was deleted, or its node stopped")
        self._replies.append(method)

    def _send(self, octets: bytes) -> None:
        """Send all octets. Raises OSError, ConnectionLost."""
        deadline = time.monotonic() + self._options.rpc_timeout_s
        left = memoryview(octets)
        with self._sending:
            while left or not self._stream.flush():
                sent = self._stream.send(left) if left else 0
                if not sent:
                    if time.monotonic() > deadline:
                        raise ConnectionLost("the broker does not read")
                    self._stream.wait_writable(0.5)
                left = left[sent:]

    def _beat(self, every_s: float) -> None:
        """Send heartbeats while the connection is open."""
        while not self._closed.wait(every_s):
            try:
                self._send(HEARTBEAT_FRAME)
            except (OSError, ClientError):
                return  # whoever reads finds out too


def _open(options: Options) -> tuple[Any, Any]:
    failures: list[tuple[Address, Exception]] = []
    for address in options.addresses:
        try:
            stream = open_stream(address, options, None)
            try:
                return stream, shake_hands(stream, options)
            except BaseException:
                stream.close()
                raise
        except AuthenticationFailed:
            raise
        except (OSError, ClientError) as error:
            failures.append((address, error))
    raise last_word(failures)
