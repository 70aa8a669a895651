"""Guard: confines a bug in a trace to the trace."""

import logging
from typing import TYPE_CHECKING

from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from types import TracebackType

    from pybroker.core.message_trace.trace import MessageTrace

log = logging.getLogger("pybroker")


class Guard:
    """Ends a trace that raises an exception: in the middle of a publish or a delivery it could stop the log."""

    __slots__ = ("_trace",)

    def __init__(self, trace: "MessageTrace") -> None:
        self._trace = trace

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: "TracebackType | None"
    ) -> bool:
        if error is None or not isinstance(error, Exception):
            return False
        log.error("internal error in a trace", exc_info=error, extra=event(BUG))
        self._trace.abandon()
        return True
