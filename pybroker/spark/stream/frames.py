"""Frames on a socket: one thread sends and receives, and may pause for long; a thread of its own sends heartbeats."""

import contextlib
import threading
import time
from typing import Final

from pybroker.client.errors import ClientError, ConnectionLost
from pybroker.client.transport.stream import Stream
from pybroker.wire.stream.frame import Frame, FrameTooLargeError, MalformedFrameError, announced_octets, split_frame

# How long one attempt to send waits before it looks whether the peer has something to say.
_LOOK_S: Final = 0.05
# The first octets of a TLS alert (RFC 8446 §5.1) and of AMQP's header: the port is another one's.
_TLS_ALERT: Final = b"\x15\x03"
_AMQP: Final = b"AMQP"


class Frames:
    """The frames of one connection; none may have more than `octets_max` octets."""

    __slots__ = ("_at", "_closed", "_data", "_octets_max", "_parts", "_sending", "_stream", "_timeout_s", "_waiting")

    def __init__(self, stream: Stream, octets_max: int, timeout_s: float) -> None:
        self._stream = stream
        self._octets_max = octets_max
        self._timeout_s = timeout_s
        self._sending = threading.Lock()
        self._closed = threading.Event()
        self._data = b""
        self._at = 0
        # Octets behind `_data`, put together once a whole frame is there.
        self._parts: list[bytes] = []
        self._waiting = 0

    def beat(self, octets: bytes, every_s: float) -> None:
        """Send these octets over and over until `close`."""
        threading.Thread(target=self._beat, args=(octets, every_s), daemon=True).start()

    def send(self, octets: bytes, *, receives: bool = True) -> None:
        """Send whole frames; what comes meanwhile is kept, unless it is another thread that receives.

        Raises ConnectionLost, OSError.
        """
        deadline = time.monotonic() + self._timeout_s
        left = memoryview(octets)
        with self._sending:
            while left or not self._stream.flush():
                sent = self._stream.send(left) if left else 0
                if not sent:
                    if time.monotonic() > deadline:
                        raise ConnectionLost(f"the broker has read nothing for {self._timeout_s:g} s")
                    # A broker that waits until we read does not read either.
                    if not (receives and self._receive(0.0)):
                        self._stream.wait_writable(_LOOK_S)
                left = left[sent:]

    def next(self, timeout_s: float) -> tuple[bytes, Frame] | None:
        """Return the next frame and the octets that it lies in; None if none comes in time.

        Raises ConnectionLost, OSError.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            found = self._split()
            if found is not None:
                self._at = found.stop
                return self._data, found
            if not self._receive(max(0.0, deadline - time.monotonic())):
                return None

    def close(self) -> None:
        """Give the socket back."""
        if not self._closed.is_set():
            self._closed.set()
            self._stream.shut_down()
            self._stream.close()

    def _split(self) -> Frame | None:
        """Return the next frame if it has come whole. Raises ConnectionLost."""
        if self._parts and len(self._data) - self._at + self._waiting >= self._wanted():
            self._data = b"".join((self._data[self._at :], *self._parts))
            self._at = self._waiting = 0
            self._parts = []
        try:
            return split_frame(self._data, self._at, self._octets_max)
        except (FrameTooLargeError, MalformedFrameError) as error:
            raise ConnectionLost(self._why(f"the broker sent something else than frames: {error}")) from error

    def _why(self, text: str) -> str:
        """Return why there is no frame, if the octets that came tell more than a text."""
        beginning = self._data[self._at :] + b"".join(self._parts)
        if beginning.startswith(_TLS_ALERT):
            return "this port requires TLS"
        if beginning.startswith(_AMQP):
            return "this is a port for AMQP, not for the stream protocol"
        return text

    def _wanted(self) -> int:
        """Return how many octets the next frame has, as far as that is known."""
        left = len(self._data) - self._at
        return 0 if left < 4 else announced_octets(self._data, self._at)

    def _receive(self, timeout_s: float) -> bool:
        """Take what comes; tell whether something came. Raises ConnectionLost, OSError."""
        try:
            octets = self._stream.receive(timeout_s)
        except TimeoutError:
            return False
        if not octets:
            raise ConnectionLost(self._why("the broker closed the connection"))
        self._parts.append(octets)
        self._waiting += len(octets)
        return True

    def _beat(self, octets: bytes, every_s: float) -> None:
        while not self._closed.wait(every_s):
            with contextlib.suppress(OSError, ClientError):  # who reads finds out too
                self.send(octets, receives=False)
