"""The thread that sends what publishers gathered, and the heartbeats of both directions (AMQP §4.2.7).

It is the only one that waits for the socket to take octets. A peer that was silent for two heartbeats is lost; while
the reader pauses on purpose, silence does not count.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

from pybroker.client.transport.backpressure import Backpressure
from pybroker.client.transport.outbox import GATHER_S, Outbox
from pybroker.wire.frame import HEARTBEAT_FRAME

# How long it sleeps without heartbeats; it is woken for whatever happens.
_IDLE_S: Final = 60.0
# How long one attempt to send may take before heartbeats are looked at again.
_DRAIN_S: Final = 0.5


class Writer:
    """One connection's writer; `heard_s` is set by the reader at whatever comes in."""

    __slots__ = ("_backpressure", "_ended", "_heartbeat_s", "_lose", "_outbox", "heard_s", "thread")

    def __init__(
        self, outbox: Outbox, heartbeat_s: int, backpressure: Backpressure, lose: Callable[[str], None], name: str
    ) -> None:
        self._outbox = outbox
        self._heartbeat_s = heartbeat_s
        self._backpressure = backpressure
        self._lose = lose
        self._ended = False
        self.heard_s = time.monotonic()
        self.thread = threading.Thread(target=self._run, name=f"{name}-writer", daemon=True)

    def end(self) -> None:
        """Let the thread end soon."""
        self._ended = True
        self._outbox.kick.set()

    def _run(self) -> None:
        wait_s = self._heartbeat_s / 4 or _IDLE_S
        kick = self._outbox.kick
        while not self._ended:
            if kick.wait(wait_s):
                time.sleep(GATHER_S)  # more may come, and goes with the same system call
                kick.clear()
                try:
                    if not self._outbox.drain(time.monotonic() + _DRAIN_S):
                        kick.set()
                except OSError as error:
                    self._lose(f"writing to the broker failed: {error}")
                    return
            if self._heartbeat_s and not self._ended:
                self._beat(time.monotonic())

    def _beat(self, now_s: float) -> None:
        if self._backpressure.paused:
            self.heard_s = now_s
        if now_s - self.heard_s > 2 * self._heartbeat_s:
            self._ended = True
            self._lose(f"no data from the broker for {2 * self._heartbeat_s} s")
        elif now_s - self._outbox.sent_s > self._heartbeat_s / 2 and not self._outbox.octets:
            self._outbox.put(HEARTBEAT_FRAME)
            self._outbox.flush()
