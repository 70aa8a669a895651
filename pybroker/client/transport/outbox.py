"""Output of one connection that waits to be sent: whole frames from any thread, one system call for many of them.

A single message is sent at once. When messages follow each other closely they are gathered until there are
GATHER_OCTETS of them or until the writer's next turn, a millisecond later: a system call for each would cost more than
all the rest of a publish. Nobody but the writer ever waits for the socket; publishers wait for room in here.
"""

import threading
import time
from typing import Final

from pybroker.client.errors import ConnectionLost
from pybroker.client.transport.stream import Stream

GATHER_OCTETS: Final = 1 << 15
GATHER_S: Final = 0.001
# Publishers wait above it. Acks, replies and heartbeats do not: they are small and bounded by what they answer.
OCTETS_MAX: Final = 1 << 20


class Outbox:
    """Octets on their way; `sent_s` is when the last ones left, `octets` how many have not. `kick` wakes the writer."""

    __slots__ = ("_closed", "_lock", "_parts", "_rest", "_room", "_sending", "_stream", "kick", "octets", "sent_s")

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._sending = threading.Lock()  # whoever holds it may use the stream
        self._parts: list[bytes] = []
        self._rest = memoryview(b"")
        self._closed = False
        self.octets = 0
        self.sent_s = 0.0
        self.kick = threading.Event()

    def put(self, octets: bytes) -> None:
        """Append whole frames; they go with the next flush. Raises ConnectionLost."""
        with self._lock:
            if self._closed:
                raise ConnectionLost("the connection was lost before this was sent")
            self._parts.append(octets)
            self.octets += len(octets)

    def push(self) -> None:
        """See to it that what was put leaves soon: now if it is much or nothing left lately, else by the writer."""
        if self.octets >= GATHER_OCTETS or time.monotonic() - self.sent_s > GATHER_S:
            self.flush()
        elif not self.kick.is_set():
            self.kick.set()

    def flush(self) -> None:
        """Send what the system takes now; the writer goes on with the rest. Never waits, never raises."""
        if not self._sending.acquire(blocking=False):
            self.kick.set()  # somebody else is sending, and may just have looked for the last time
            return
        try:
            done = self._send()
        except OSError:
            done = True  # the reader hears of it too, and its word counts
        finally:
            self._sending.release()
        if not done:
            self.kick.set()

    def drain(self, give_up_s: float) -> bool:
        """Send all there is, waiting for the socket; tell whether that was done. Raises OSError. The writer's way."""
        while True:
            with self._sending:
                if self._send():
                    return True
            left = give_up_s - time.monotonic()
            if left <= 0 or self._closed:
                return False
            self._stream.wait_writable(min(left, 0.1))

    def wait_for_room(self, timeout_s: float) -> bool:
        """Wait until there is room for a publish; tell whether there is. Raises ConnectionLost."""
        with self._room:
            fits = self._room.wait_for(lambda: self.octets < OCTETS_MAX or self._closed, timeout_s)
            if self._closed:
                raise ConnectionLost("the connection was lost before the message was sent")
            return fits

    def close(self) -> None:
        """Wake callers that wait for room; unsent frames stay unsent."""
        with self._room:
            self._closed = True
            self._room.notify_all()
        self.kick.set()

    def _send(self) -> bool:
        """Send until nothing is left or the system takes no more; tell which. Only with `_sending` held."""
        while True:
            if not self._rest:
                with self._lock:
                    parts, self._parts = self._parts, []
                if not parts:
                    return self._stream.flush()
                self._rest = memoryview(parts[0] if len(parts) == 1 else b"".join(parts))
            sent = self._stream.send(self._rest)
            if not sent:
                return False
            self._rest = self._rest[sent:]
            self.sent_s = time.monotonic()
            with self._lock:
                was = self.octets
                self.octets = was - sent
                if was >= OCTETS_MAX // 2 > self.octets:
                    self._room.notify_all()
