"""Channel 0: what the broker says about the connection itself [connection.*]."""

import threading
from collections.abc import Callable
from typing import Any

from pamqp import commands

from pybroker.client.errors import UnexpectedFrame, error_of
from pybroker.client.link import Link
from pybroker.client.reader import Receiver
from pybroker.wire.frame import BODY, HEADER, unexpected_frame
from pybroker.wire.methods import decode_method, encode_method, make_method


class Control(Receiver):
    """The receiver of one link's channel 0. `blocked` is called with the reason, with None when that is over."""

    __slots__ = ("_blocked", "_link", "close_ok")

    def __init__(self, link: Link, blocked: Callable[[str | None], None]) -> None:
        self._link = link
        self._blocked = blocked
        self.close_ok = threading.Event()

    def receive_method(self, payload: bytes) -> None:
        """Take a method. Raises UnexpectedFrame (505)."""
        method: Any = decode_method(payload)
        kind = type(method)
        if kind is commands.Connection.Close:
            self._link.send(encode_method(0, make_method(commands.Connection.CloseOk)))
            cause = method.class_id, method.method_id
            self._link.end(error_of(method.reply_code, method.reply_text, cause, hard=True))
        elif kind is commands.Connection.CloseOk:
            self.close_ok.set()
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
