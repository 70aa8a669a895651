"""Synchronous methods: one in flight per channel, its reply is the next one that comes on it (S4, AMQP §2.2.2).

Replies carry no correlation; order and class are all there is to match by. So a call that timed out leaves the channel
unusable: its reply may still come, and would be taken for the next one's.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

from pybroker.client.errors import CallTimeout, fresh
from pybroker.client.transport.backpressure import Backpressure


class Rpc:
    """The calls of one channel. `more_s` says how much longer a call may take whose time is over, 0 for no longer;
    `abandoned` is called when one is given up, so that nothing else is called on that channel.
    """

    __slots__ = ("_abandoned", "_backpressure", "_error", "_lock", "_more_s", "_replied", "_reply", "_turn", "_wanted")

    def __init__(self, backpressure: Backpressure, more_s: Callable[[], float], abandoned: Callable[[], None]) -> None:
        self._backpressure = backpressure
        self._more_s = more_s
        self._abandoned = abandoned
        self._turn = threading.Lock()  # held by the call in flight
        self._lock = threading.Lock()
        self._wanted: tuple[type, ...] | None = None
        self._replied = threading.Event()
        self._reply: Any = None
        self._error: Exception | None = None

    def call(self, send: Callable[[], None], wanted: tuple[Any, ...], timeout_s: float) -> Any:
        """Send a request and return its reply, one of the classes `wanted`.

        Raises CallTimeout, any exception of `send`, and the one that `fail` was given meanwhile.
        """
        deadline = time.monotonic() + timeout_s
        if not self._turn.acquire(timeout=timeout_s):
            raise CallTimeout(f"another call occupied the channel for {timeout_s} s")
        try:
            with self._lock:
                self._reply = self._error = None
                self._replied.clear()
                self._wanted = wanted
            with self._backpressure:
                send()
                self._wait(deadline)
            with self._lock:
                self._wanted = None
                if self._error is not None:
                    raise fresh(self._error)
                if self._replied.is_set():
                    reply, self._reply = self._reply, None
                    return reply
            self._abandoned()
            raise CallTimeout(f"the broker did not reply: no {wanted[0].name} within {timeout_s} s")
        finally:
            self._wanted = None
            self._turn.release()

    def _wait(self, deadline: float) -> None:
        try:
            left = max(0.0, deadline - time.monotonic())
            while not self._replied.wait(left):
                left = self._more_s()
                if left <= 0:
                    break
        except BaseException:
            self._abandoned()  # e.g. KeyboardInterrupt: the reply may still come
            raise

    def answer(self, kind: type, reply: Any) -> bool:
        """Give the call in flight its reply; False if none waits for one of this class. The reader's."""
        with self._lock:
            if self._wanted is None or kind not in self._wanted:
                return False
            self._wanted = None
            self._reply = reply
            self._replied.set()
            return True

    def fail(self, error: Exception) -> None:
        """Let the call in flight raise `error`; nothing happens if there is none. The reader's."""
        with self._lock:
            if self._wanted is not None:
                self._wanted = None
                self._error = error
                self._replied.set()
