"""Notification of a connection's events: handlers, and the treatment of callbacks that fail.

Handlers are callbacks like others: called on the executor, one at a time and in order, never by the reader.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pybroker.client.channel.channel import Channel

if TYPE_CHECKING:
    from pybroker.client.connection.dispatch import Lane
    from pybroker.client.options import Options

_log = logging.getLogger("pybroker.client")

OnError = Callable[["Channel | None", BaseException, Any], object]


class Listeners:
    """The handlers of a connection."""

    options: "Options"

    def __init__(self, lane: "Lane", on_error: OnError | None) -> None:
        self._lane = lane
        self._on_error = on_error
        self._handlers: dict[str, list[Callable[..., object]]] = {}

    def on_blocked(self, handler: Callable[[str], object]) -> None:
        """Let `handler(reason)` be called when the broker takes no messages: `low on memory`, `low on disk` ..."""
        self._handle("blocked", handler)

    def on_unblocked(self, handler: Callable[[], object]) -> None:
        """Let `handler()` be called when it takes them again, or when a blocked connection was lost and recovered."""
        self._handle("unblocked", handler)

    def on_lost(self, handler: Callable[[Exception], object]) -> None:
        """Let `handler(error)` be called when the transport is lost and recovery begins."""
        self._handle("lost", handler)

    def on_recovered(self, handler: Callable[[], object]) -> None:
        """Let `handler()` be called when a recovery is done."""
        self._handle("recovered", handler)

    def on_recovery_failure(self, handler: Callable[[str, Exception], object]) -> None:
        """Let `handler(what, error)` be called for each thing that could not be recovered; the others are."""
        self._handle("recovery_failure", handler)

    def on_queue_renamed(self, handler: Callable[[str, str], object]) -> None:
        """Let `handler(old, new)` be called when a server-named queue got another name in a recovery."""
        self._handle("queue_renamed", handler)

    def on_close(self, handler: Callable[[Exception], object]) -> None:
        """Let `handler(error)` be called when the connection ended for good and not by `close`."""
        self._handle("close", handler)

    def _handle(self, event: str, handler: Callable[..., object]) -> None:
        self._handlers.setdefault(event, []).append(handler)

    def _tell(self, event: str, *arguments: Any) -> None:
        for handler in self._handlers.get(event, ()):
            self._lane.put(_call, (handler, arguments))

    def _callback_failed(self, channel: Channel | None, error: BaseException, argument: Any) -> None:
        """Report an exception of a callback; reader and channel do not notice, unless the options say so."""
        _log.error("a callback failed for %r", argument, exc_info=error)
        try:
            if self._on_error is not None:
                self._on_error(channel, error, argument)
        finally:
            if channel is not None and self.options.close_channel_on_callback_error:
                channel.close(541, f"a callback failed: {error!r}"[:200])


def _call(call: tuple[Callable[..., object], tuple[Any, ...]]) -> None:
    """Call a handler, as a lane's callback."""
    handler, arguments = call
    handler(*arguments)
