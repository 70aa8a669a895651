"""Patience of a read of streams: a broker that has gone is waited for, up to reconnectTimeoutMs."""

import logging
import time
from typing import Final

from pybroker.client.errors import CallTimeout, ConnectionClosed
from pybroker.spark.stream.errors import StreamError
from pybroker.wire.stream.codes import Code

RETRY_S: Final = 1.0

_log = logging.getLogger("pybroker.spark")


class Patience:
    """Bears failures one after another, as long as they have not lasted for too long."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._give_up = 0.0  # when the broker is no longer waited for; 0 if it is there

    def bear(self, error: Exception) -> None:
        """Pause after a failure. Raises the error itself if it will not pass, or if it has been there for too long."""
        now = time.monotonic()
        self._give_up = self._give_up or now + self._timeout_s
        if not may_pass(error) or now >= self._give_up:
            raise error
        _log.warning("%s; the broker is waited for", error)
        time.sleep(RETRY_S)

    def restore(self) -> None:
        """Learn that the broker is there: the next failure is the first one again."""
        self._give_up = 0.0


def may_pass(error: Exception) -> bool:
    """Tell whether it may be otherwise in a moment: the broker restarts, or the network fails."""
    if isinstance(error, StreamError):
        return error.code == Code.STREAM_NOT_AVAILABLE
    # A broker that is there and does not answer was waited for already.
    return isinstance(error, ConnectionClosed | OSError) and not isinstance(error, CallTimeout)
