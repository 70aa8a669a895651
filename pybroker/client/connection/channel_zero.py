"""Channel 0: methods of the broker about the connection itself [connection.*]."""

import threading
from collections.abc import Callable
from typing import Any

from pamqp import commands

from pybroker.client.channel.rpc import Rpc
from pybroker.client.errors import UnexpectedFrame, error_of
from pybroker.client.transport.backpressure import Backpressure
from pybroker.client.transport.reader import Receiver
from pybroker.client.transport.transport import Transport
from pybroker.wire.frame import BODY, HEADER, unexpected_frame
from pybroker.wire.methods import decode_method, encode_method, make_method


class ChannelZero(Receiver):
    """The receiver of one transport's channel 0. `blocked` is called with the reason, with None when that is over;
    `more_s` says how much longer a call may take, as for `Rpc`.
    """

    __slots__ = ("_blocked", "_rpc", "_transport", "close_ok")

    def __init__(
        self,
        transport: Transport,
        blocked: Callable[[str | None], None],
        backpressure: Backpressure,
        more_s: Callable[[], float],
    ) -> None:
        self._transport = transport
        self._blocked = blocked
        # A reply that comes too late is left aside below, so a call that is given up needs nothing.
        self._rpc = Rpc(backpressure, more_s, lambda: None)
        self.close_ok = threading.Event()

    def update_secret(self, secret: str, reason: str, timeout_s: float) -> None:
        """Give the broker another secret. Raises CallTimeout, ConnectionLost, AmqpError (hard)."""
        update = make_method(commands.Connection.UpdateSecret, new_secret=secret, reason=reason)
        octets = encode_method(0, update)
        self._rpc.call(lambda: self._transport.send(octets), (commands.Connection.UpdateSecretOk,), timeout_s)

    def end(self, error: Exception) -> None:
        """Wake waiting calls: the transport has ended."""
        self.close_ok.set()
        self._rpc.fail(error)

    def receive_method(self, payload: bytes) -> None:
        """Take a method. Raises UnexpectedFrame (505)."""
        method: Any = decode_method(payload)
        kind = type(method)
        if kind is commands.Connection.Close:
            self._transport.send(encode_method(0, make_method(commands.Connection.CloseOk)))
            cause = method.class_id, method.method_id
            self._transport.end(error_of(method.reply_code, method.reply_text, cause, hard=True))
        elif kind is commands.Connection.CloseOk:
            self.close_ok.set()
        elif kind is commands.Connection.UpdateSecretOk:
            self._rpc.answer(kind, method)
        elif kind is commands.Connection.Blocked:
            self._blocked(method.reason or "the broker gave no reason")
        elif kind is commands.Connection.Unblocked:
            self._blocked(None)
        else:
            raise UnexpectedFrame(f"{method.name} came on channel 0")

    def receive_header(self, payload: bytes) -> None:
        """Raise UnexpectedFrame (505): there are no contents on channel 0."""
        raise unexpected_frame(HEADER, payload)

    def receive_body(self, payload: bytes) -> None:
        """Raise UnexpectedFrame (505): there are no contents on channel 0."""
        raise unexpected_frame(BODY, payload)
