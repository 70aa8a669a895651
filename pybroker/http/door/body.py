"""The body of a request, which has to come in a bounded time."""

import time
from typing import Any, Final

import gevent
from gevent import pywsgi

# From the end of the head to the end of the body.
BODY_S: Final = 300.0
# Of a body that nobody wants, read before the connection is closed: a client that is still sending would lose the
# answer.
DISCARD_S: Final = 2.0
DISCARD_OCTETS_MAX: Final = 1 << 20
CHUNK_OCTETS: Final = 16_384


class Body(pywsgi.Input):  # type: ignore[misc] # gevent tells no types
    """The stream `wsgi.input`. Reading raises TimeoutError, and other OSErrors for a body that is none.

    With `is_left` it was not read to its end: the connection cannot be used any more.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._end_s = time.monotonic() + BODY_S
        self.is_left = False

    def read(self, length: int | None = None) -> bytes:
        """Return octets; less than asked for only at the end."""
        return self._within(super().read, length)

    def readline(self, size: int | None = None) -> bytes:
        """Return a line."""
        return self._within(super().readline, size)

    def _within(self, read: Any, length: int | None) -> bytes:
        left_s = max(0.001, self._end_s - time.monotonic())
        try:
            with gevent.Timeout(left_s, TimeoutError("the body of the request took too long")):
                octets: bytes = read(length)
        except OSError:
            self.is_left = True
            raise
        return octets

    def _discard(self) -> None:
        """Read the rest, if that is little."""
        if self.is_left or not (self.chunked_input or self.position < (self.content_length or 0)):
            return
        self.send_100_continue_enabled = False
        self._end_s = min(self._end_s, time.monotonic() + DISCARD_S)
        for _ in range(DISCARD_OCTETS_MAX // CHUNK_OCTETS):
            if not self.read(CHUNK_OCTETS):
                return
        self.is_left = True
