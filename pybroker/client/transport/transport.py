"""One incarnation of a connection: a socket, the agreed parameters, a reader, a writer. Recovery makes another.

It ends once, for one reason: the first one that the reader, the writer or a close finds.
"""

import logging
import ssl
import threading
from collections.abc import Callable, Mapping
from typing import Final

from pamqp import commands

from pybroker.client.errors import AmqpError, AuthenticationFailed, ClientError, ConnectionClosed, ConnectionLost
from pybroker.client.options import Address, Options, Tls
from pybroker.client.transport.backpressure import Backpressure
from pybroker.client.transport.connect_errors import connect_failed
from pybroker.client.transport.handshake import Agreed, shake_hands
from pybroker.client.transport.outbox import Outbox
from pybroker.client.transport.reader import Reader, Receiver
from pybroker.client.transport.stream import Stream, dial
from pybroker.client.transport.tls import TlsStream, make_context
from pybroker.client.transport.writer import Writer
from pybroker.wire.methods import encode_method, make_method

_log = logging.getLogger("pybroker.client")

# How long a close waits for the threads; both end as soon as the socket is shut down.
_JOIN_S: Final = 5.0


class Transport:
    """An open connection to one address; nothing is read or written before `start`."""

    __slots__ = ("_ended", "_reason", "_stream", "address", "agreed", "is_ended", "outbox", "reader", "writer")

    def __init__(self, address: Address, options: Options, context: ssl.SSLContext | None) -> None:
        """Connect and shake hands. Raises what `shake_hands` raises, OSError."""
        self.address = address
        self._stream = open_stream(address, options, context)
        try:
            self.agreed: Agreed = shake_hands(self._stream, options)
        except BaseException:
            self._stream.close()
            raise
        self.outbox = Outbox(self._stream)
        self._ended: Callable[[Transport, Exception], None] | None = None
        self._reason: Exception | None = None
        self.is_ended = False

    def start(
        self,
        receivers: Mapping[int, Receiver],
        backpressure: Backpressure,
        ended: Callable[["Transport", Exception], None],
        name: str,
    ) -> None:
        """Begin to read and write; `ended` is called once, by the reader's thread, with the reason of the end."""
        self._ended = ended
        self.writer = Writer(self.outbox, self.agreed.heartbeat_s, backpressure, self.lose, name)
        self.reader = Reader(
            self._stream,
            self.writer,
            receivers,
            backpressure,
            self._end,
            frame_octets_max=self.agreed.frame_octets_max,
            rest=self.agreed.rest,
            name=name,
        )
        self.writer.thread.start()
        self.reader.thread.start()

    def send(self, octets: bytes) -> None:
        """Send whole frames at once, or as soon as the system takes them. Never waits."""
        self.outbox.put(octets)
        self.outbox.flush()

    def lose(self, text: str) -> None:
        """End it because of what somebody but the reader found."""
        self.end(ConnectionLost(text))

    def end(self, reason: Exception) -> None:
        """End it, for `reason` if nobody had another one before."""
        self._reason = self._reason or reason
        self._stream.shut_down()
        self.reader.stop()

    def wait_ended(self) -> None:
        """Wait for both threads, unless this is one of them."""
        for thread in (self.reader.thread, self.writer.thread):
            if thread is not threading.current_thread():
                thread.join(_JOIN_S)

    def _end(self, reason: Exception) -> None:
        """Wind up, at the reader's end."""
        assert self._ended is not None
        self.is_ended = True
        if isinstance(reason, AmqpError):
            self._complain(reason)
        self.writer.end()
        self._stream.shut_down()
        self.outbox.close()
        self._ended(self, self._reason or reason)
        if self.writer.thread is not threading.current_thread():
            self.writer.thread.join(_JOIN_S)
        self._stream.close()

    def _complain(self, fault: AmqpError) -> None:
        """Tell the broker which rule it broke; it may have gone."""
        close = make_method(commands.Connection.Close, reply_code=fault.reply_code, reply_text=fault.reply_text)
        self.send(encode_method(0, close))


def open_transport(options: Options, context: ssl.SSLContext | None, goes_on: Callable[[], bool]) -> Transport:
    """Return a transport to the first address that answers, as long as the application `goes_on`.

    Raises ConnectFailed, which lists all addresses; AmqpError, the error of the last one; AuthenticationFailed at once:
    the others would refuse it too; ConnectionClosed.
    """
    failures: list[tuple[Address, Exception]] = []
    for address in options.addresses:
        if not goes_on():
            raise ConnectionClosed("closed by the application")
        try:
            return Transport(address, options, context)
        except AuthenticationFailed:
            raise
        except (AmqpError, ClientError, OSError) as error:
            _log.info("%s:%d: %s", address.host, address.port, error)
            failures.append((address, error))
    if isinstance(failures[-1][1], AmqpError):
        raise failures[-1][1]
    raise connect_failed(failures)


def open_stream(address: Address, options: Options, context: ssl.SSLContext | None) -> Stream:
    """Return a stream to the address, encrypted if `context` or the options ask for it. Raises OSError."""
    sock = dial(address, options.connect_timeout_s)
    if context is None and options.tls is None:
        return Stream(sock)
    server_name = (options.tls and options.tls.server_name) or address.host
    try:
        made = context or make_context(options.tls or Tls())
        return TlsStream(sock, made, server_name, options.connect_timeout_s)
    except BaseException:
        sock.close()
        raise
