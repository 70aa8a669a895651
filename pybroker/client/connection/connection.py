"""A connection as an application sees it: it makes channels, tells what happens to it, and comes back when it is lost.

It owns the channels, the callbacks' executor and what was declared; the socket with its two threads is `transport`'s,
coming back is `recovery`'s. `_lock` guards the state and the table of channels, and is never held while waiting.
"""

import contextlib
import logging
import os
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from pamqp import commands

from pybroker.client.channel.channel import Channel
from pybroker.client.channel.core import ChannelCore, reason_of
from pybroker.client.connection.at_exit import close_at_exit
from pybroker.client.connection.channel_zero import ChannelZero
from pybroker.client.connection.dispatch import Lane
from pybroker.client.connection.listeners import Listeners, OnError
from pybroker.client.connection.recovery import Recovery
from pybroker.client.connection.topology import Topology
from pybroker.client.errors import (
    AmqpError,
    CallTimeout,
    ChannelClosed,
    ChannelsExhausted,
    ClientError,
    ConnectionBlocked,
    ConnectionClosed,
    ConnectionLost,
    fresh,
)
from pybroker.client.options import Options
from pybroker.client.transport.backpressure import Backpressure
from pybroker.client.transport.transport import Transport, open_transport
from pybroker.wire.methods import encode_method, make_method
from pybroker.wire.table import Table

if TYPE_CHECKING:
    from pybroker.client.transport.reader import Receiver

_log = logging.getLogger("pybroker.client")

# Codes of a close by the broker that is not the client's fault: forced, short of resources, or broken.
_RECOVERABLE: Final = frozenset({320, 506, 541})


class Connection(Listeners):
    """An AMQP connection. Made by `connect`; as a context manager it closes at the end.

    Handlers (`on_...`) are called on the executor, one at a time and in order, never by the reader. A connection that
    is left open is closed when the program ends; a signal that kills it loses the publishes of the last milliseconds.
    """

    def __init__(
        self,
        options: Options,
        *,
        executor: Executor | None = None,
        ssl_context: ssl.SSLContext | None = None,
        on_error: OnError | None = None,
    ) -> None:
        self.options = options
        self.blocked_reason: str | None = None
        self._context = ssl_context
        self._own_executor = executor is None
        workers = options.workers or max(1, len(os.sched_getaffinity(0)))
        name = options.connection_name or "pybroker"
        self._executor = executor or ThreadPoolExecutor(workers, thread_name_prefix=f"{name}-callback")
        self._backpressure = Backpressure()
        self._topology = Topology()
        self._lock = threading.Lock()
        self._opened = threading.Event()  # open now, or closed for good
        self._finished = threading.Event()  # closed for good
        self._unblocked = threading.Event()
        self._unblocked.set()
        self._told_blocked = False
        self._closing = threading.Event()
        self._closed: ConnectionClosed | None = None
        self._receivers: dict[int, Receiver] = {}
        super().__init__(self._make_lane(partial(self._callback_failed, None)), on_error)
        self._transport = self._connect()
        self._use(self._transport)
        self._opened.set()
        close_at_exit(self)

    # -- what an application calls

    @property
    def is_open(self) -> bool:
        """Whether it can be used now; False also while it is being recovered."""
        return self._opened.is_set() and self._closed is None

    @property
    def is_closed(self) -> bool:
        """Whether it is closed for good."""
        return self._closed is not None

    @property
    def server_properties(self) -> Table:
        """The broker's description of itself [connection.start]."""
        return self._transport.agreed.server_properties

    def channel(self, number: int | None = None) -> Channel:
        """Open a channel; the lowest free number unless one is wished for.

        Raises ChannelsExhausted, ConnectionClosed.
        """
        self._check()
        return self._open_channel(self._transport, number)

    def update_secret(self, secret: str, reason: str) -> None:
        """Give the broker another password or token before the old one expires [connection.update-secret].

        Recoveries log in with it from now on, also when this raises. `reason` is for the broker's log.

        >>> connection.update_secret(fetch_token(), "the old one expires at noon")  # doctest: +SKIP

        Raises AmqpError if the broker refuses it, which closes the connection; ConnectionLost, ConnectionClosed,
        CallTimeout.
        """
        self.options = replace(self.options, password=secret)
        self._check()
        self._channel_zero.update_secret(secret, reason, self.options.rpc_timeout_s)

    def wait_until_open(self, timeout_s: float | None = None) -> None:
        """Wait for a recovery to end. Raises ConnectionClosed if it is closed for good, CallTimeout."""
        if not self._opened.wait(timeout_s):
            raise CallTimeout(f"the connection is not open after {timeout_s} s")
        if self._closed is not None:
            raise fresh(self._closed)

    def wait_until_closed(self, timeout_s: float | None = None) -> None:
        """Wait while callbacks work, until somebody calls `close`: a callback, another thread, or Ctrl-C's exception.

        Raises ConnectionClosed if something else ended it for good, with that as `reason`; CallTimeout.
        """
        if not self._finished.wait(timeout_s):
            raise CallTimeout(f"the connection is not closed after {timeout_s} s")
        if self._closed is not None and self._closed.reason is not None:
            raise fresh(self._closed)

    def close(self, reply_code: int = 200, reply_text: str = "closed by the application") -> None:
        """Close the connection, for good; calls that wait raise ConnectionClosed. Closing it twice is no error.

        Callbacks that run are waited for, up to `close_timeout_s`, unless this is one of them.
        """
        refusal = ConnectionClosed(f"the connection is closed: {reply_text}")
        with self._lock:
            first = not self._closing.is_set()
            self._closing.set()
            transport = self._transport
        give_up_s = time.monotonic() + self.options.close_timeout_s
        if first and self._closed is None:
            self._interrupt(refusal, refusal)
            self._say_goodbye(transport, reply_code, reply_text)
            self._finish(refusal)
        transport.wait_ended()
        for lane in (*(channel._lane for channel in self._channels()), self._lane):
            lane.wait_idle(max(0.0, give_up_s - time.monotonic()))
        if self._own_executor:
            self._executor.shutdown(wait=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "open" if self.is_open else "closed" if self.is_closed else "recovering"
        return f"<Connection {self._transport.address.host}:{self._transport.address.port} {state}>"

    # -- channels

    def _channels(self) -> list[Channel]:
        with self._lock:
            return [receiver for receiver in self._receivers.values() if isinstance(receiver, Channel)]

    def _open_channel(self, transport: Transport, number: int | None = None) -> Channel:
        most = transport.agreed.channel_max
        with self._lock:
            if number is None:
                number = next((n for n in range(1, most + 1) if n not in self._receivers), 0)
            if not 0 < number <= most or number in self._receivers:
                raise ChannelsExhausted(_no_number(number, most))
            channel = Channel(self, number, transport)
            self._receivers[number] = channel
        try:
            channel.call(commands.Channel.OpenOk, make_method(commands.Channel.Open))
        except (AmqpError, ClientError):
            self._forget(channel)
            raise
        return channel

    def _forget(self, channel: ChannelCore) -> None:
        """Let the number of a closed channel be used again."""
        with self._lock:
            if self._receivers.get(channel.number) is channel:
                del self._receivers[channel.number]

    def _consumes(self, queue: str) -> bool:
        return any(consumer.queue == queue for c in self._channels() for consumer in tuple(c._consumers.values()))

    def _make_lane(self, failed: Callable[[BaseException, Any], None]) -> Lane:
        options = self.options
        return Lane(self._executor, self._backpressure, failed, options.callbacks_max, options.callback_octets_max)

    # -- blocked

    def _set_blocked(self, reason: str | None) -> None:
        """Take connection.blocked, or unblocked (None). The reader's."""
        self.blocked_reason = reason
        if reason is None:
            self._unblocked.set()
            self._tell_unblocked()
        else:
            self._unblocked.clear()
            self._told_blocked = True
            self._tell("blocked", reason)

    def _tell_unblocked(self) -> None:
        """Tell the end of what was told, once: a transport that is lost while it is blocked never says so itself."""
        if self._told_blocked:
            self._told_blocked = False
            self._tell("unblocked")

    def _wait_unblocked(self, timeout_s: float) -> None:
        """Wait while the broker takes no messages. Raises ConnectionBlocked."""
        if not self._unblocked.wait(max(0.0, timeout_s)):
            raise ConnectionBlocked(f"the broker has blocked the connection, {self.blocked_reason}")

    def _more_s(self) -> float:
        """Return how much longer a call may take whose time is over: a blocked connection is not read by the broker."""
        if self.blocked_reason is None:
            return 0.0
        in_time = self._unblocked.wait(self.options.blocked_timeout_s)
        return self.options.rpc_timeout_s if in_time and not self._closing.is_set() else 0.0

    # -- the transport

    def _connect(self) -> Transport:
        return open_transport(self.options, self._context, lambda: not self._closing.is_set())

    def _use(self, transport: Transport) -> list[Channel]:
        """Make `transport` the connection's and start it; return the channels that were open on the one before."""
        with self._lock:
            self._channel_zero = ChannelZero(transport, self._set_blocked, self._backpressure, self._more_s)
            channels = [receiver for receiver in self._receivers.values() if isinstance(receiver, Channel)]
            for channel in channels:
                if channel._is_closed():  # it waited for a close-ok that does not come any more
                    self._receivers.pop(channel.number)
            self._receivers[0] = self._channel_zero
            self._transport = transport
        transport.start(self._receivers, self._backpressure, self._ended, self.options.connection_name or "pybroker")
        return [channel for channel in channels if not channel._is_closed()]

    def _ended(self, transport: Transport, reason: Exception) -> None:
        """Take the end of a transport. The reader's."""
        with self._lock:
            if transport is not self._transport:
                return
            self._channel_zero.end(reason)
            recovers = self._recovers(reason)
            was_open = self._opened.is_set()
            if recovers:
                self._opened.clear()
        if self._closing.is_set():
            self._interrupt(ConnectionClosed(reason_of(reason), reason), reason)
            return
        if not recovers:
            self._give_up(reason)
            return
        _log.warning("the connection is lost and will be recovered: %s", reason_of(reason))
        text = f"the connection is being recovered (wait_until_open waits for it): {reason_of(reason)}"
        lost = ConnectionLost(text, reason)
        self._interrupt(lost, lost)
        if was_open:
            self._tell("lost", reason)
            Recovery(self, reason).thread.start()

    def _recovers(self, reason: Exception) -> bool:
        if not self.options.recovery or self._closing.is_set():
            return False
        return not isinstance(reason, AmqpError) or reason.reply_code in _RECOVERABLE

    def _interrupt(self, refusal: ClientError, error: Exception) -> None:
        """Refuse calls, and wake all that wait."""
        self.blocked_reason = None
        for channel in self._channels():
            channel._interrupt(refusal, error)
        self._unblocked.set()

    def _interrupt_again(self, reason: Exception | None) -> None:
        """Refuse calls that were accepted just when the transport was lost in a recovery."""
        lost = ConnectionLost("the connection was lost again during recovery", reason)
        self._interrupt(lost, lost)

    def _resume(self, transport: Transport) -> bool:
        """Accept calls again on a recovered transport; tell whether it is still there."""
        for channel in self._channels():
            channel._recovered()
        with self._lock:
            lost = transport.is_ended or self._closing.is_set()
            if not lost:
                self._opened.set()
        if lost:
            self._interrupt_again(None)
            return False
        _log.info("the connection is recovered: %s:%d", transport.address.host, transport.address.port)
        self._tell("recovered")
        if self.blocked_reason is None:
            self._tell_unblocked()
        return True

    def _give_up(self, reason: Exception) -> None:
        """End for good because of `reason`."""
        if self._closing.is_set():
            return
        refusal = ConnectionClosed(f"the connection is closed: {reason_of(reason)}", reason)
        self._interrupt(refusal, reason)
        self._finish(refusal)
        self._tell("close", reason)

    def _finish(self, refusal: ConnectionClosed) -> None:
        self._closed = refusal
        closed = ChannelClosed(str(refusal), refusal.reason)
        for channel in self._channels():
            channel._shut(closed, refusal.reason or refusal)
        self._opened.set()
        self._finished.set()

    def _say_goodbye(self, transport: Transport, reply_code: int, reply_text: str) -> None:
        if transport.is_ended:
            return
        close = make_method(commands.Connection.Close, reply_code=reply_code, reply_text=reply_text)
        with contextlib.suppress(ClientError), self._backpressure:  # it may end by itself meanwhile
            transport.send(encode_method(0, close))
            self._channel_zero.close_ok.wait(self.options.close_timeout_s)
        transport.end(ConnectionClosed(reply_text))

    def _check(self) -> None:
        if self._closed is not None:
            raise fresh(self._closed)
        if not self._opened.is_set():
            raise ConnectionLost("the connection is being recovered: wait_until_open waits for it")

    # -- what recovery tells

    def _rename_queue(self, old: str, new: str) -> None:
        self._topology.rename_queue(old, new)
        for channel in self._channels():
            channel._rename_queue(old, new)
        self._tell("queue_renamed", old, new)

    def _recovery_failed(self, what: str, error: Exception) -> None:
        _log.error("%s could not be recovered: %s", what, reason_of(error))
        self._tell("recovery_failure", what, error)

    def _drop_channel(self, channel: Channel, text: str) -> None:
        error = ChannelClosed(text)
        channel._shut(error, error)
        self._forget(channel)


def _no_number(wished: int, most: int) -> str:
    """Return why a channel gets no number; `wished` is 0 for any."""
    if not wished:
        return f"all {most} channels are open: close some, or raise channel_max, here and at the broker"
    if 0 < wished <= most:
        return f"channel number {wished} is in use"
    return f"channel number {wished} is not in the range 1 to {most} negotiated with the broker"
