"""Callbacks: on an executor, one at a time and in order in each lane, lanes beside each other (S4).

A channel has one lane, the connection another one for its own events. A lane has no thread: while it has items, one
task of it is on the executor, which runs a share of them and queues up again behind the others. So parallelism is
min(lanes with work, threads). Does not know what an item is.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Final

from pybroker.client.transport.backpressure import Backpressure

# Items of one lane before the others have their turn (RabbitMQ's Java client takes as many).
SHARE: Final = 256

_log = logging.getLogger("pybroker.client")

Callback = Callable[[Any], object]


class Lane:
    """Callbacks that never overlap. `failed` gets what they raise, and the argument they raised it for."""

    __slots__ = (
        "_backpressure",
        "_executor",
        "_failed",
        "_full",
        "_idle",
        "_items",
        "_items_max",
        "_lock",
        "_octets",
        "_octets_max",
        "_refused",
        "_runner",
        "_scheduled",
    )

    def __init__(
        self,
        executor: Executor,
        backpressure: Backpressure,
        failed: Callable[[BaseException, Any], None],
        items_max: int,
        octets_max: int,
    ) -> None:
        self._executor = executor
        self._backpressure = backpressure
        self._failed = failed
        self._items_max = items_max
        self._octets_max = octets_max
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._items: deque[tuple[Callback, Any, int]] = deque()
        self._octets = 0
        self._full = False
        self._refused = False
        self._scheduled = False
        self._runner: int | None = None

    def __len__(self) -> int:
        return len(self._items)

    def put(self, callback: Callback, argument: Any, octets: int = 0) -> None:
        """Let `callback(argument)` be called after all that was put before. Never waits, never raises."""
        with self._lock:
            self._items.append((callback, argument, octets))
            self._octets += octets
            self._look_if_full()
            if self._scheduled:
                return
            self._scheduled = True
        self._submit()

    def clear(self) -> None:
        """Forget what waits; a callback that runs goes on."""
        with self._lock:
            self._items.clear()
            self._octets = 0
            self._look_if_full()

    def wait_idle(self, timeout_s: float) -> bool:
        """Wait until nothing runs or waits; at once inside a callback of this lane. Tell whether that is so."""
        with self._idle:
            if self._runner == threading.get_ident():
                return False
            return self._idle.wait_for(lambda: not self._scheduled, timeout_s)

    def _submit(self) -> None:
        try:
            self._executor.submit(self._run)
        except RuntimeError:
            # The application has shut its executor down. Deliveries stay unacknowledged, so the broker keeps them.
            if not self._refused:
                self._refused = True
                _log.warning("the executor accepts no more callbacks; those of a channel are dropped from now on")
            self.clear()
            self._rest()

    def _run(self) -> None:
        self._runner = threading.get_ident()
        for _ in range(SHARE):
            with self._lock:
                if not self._items:
                    break
                callback, argument, octets = self._items.popleft()
                self._octets -= octets
                if self._full:
                    self._look_if_full()
            try:
                callback(argument)
            except BaseException as error:  # noqa: BLE001 - whatever it is, the lane's next callback must be called
                self._hand_over(error, argument)
        self._runner = None
        with self._lock:
            more = bool(self._items)
        if more or not self._rest():
            self._submit()

    def _rest(self) -> bool:
        """End being scheduled; tell whether that could be done."""
        with self._idle:
            if self._items:
                return False
            self._scheduled = False
            self._idle.notify_all()
            return True

    def _hand_over(self, error: BaseException, argument: Any) -> None:
        try:
            self._failed(error, argument)
        except BaseException:  # noqa: BLE001 - likewise
            _log.exception("on_error itself failed")

    def _look_if_full(self) -> None:
        count = len(self._items)
        if not self._full and (count >= self._items_max or self._octets >= self._octets_max):
            self._full = True
            self._backpressure.fill()
        elif self._full and count <= self._items_max // 2 and self._octets <= self._octets_max // 2:
            self._full = False
            self._backpressure.ease()
