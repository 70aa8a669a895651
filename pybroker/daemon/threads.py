"""Threads for what blocks or takes long: the work of the journal, of files and definitions, passwords, TLS handshakes.

Plain threads, each with one queue in and one wake-up of the loop back: gevent's own thread pool takes a hundred
microseconds more for each commit. None of them touches the broker's objects.
"""

import logging
import os
import time
from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread, get_native_id
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final, TypeVar

import gevent

from pybroker.log_event import BUG, event
from pybroker.store.worker import Done, Job, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pybroker.net.loop_cycle import LoopCycle

# How long a clean stop waits for what a thread still has to bring to the disk.
CLOSE_S_MAX: Final = 30.0
# How long after it found no memory for a result a thread tries again to hand it over.
AGAIN_S: Final = 0.05
# Of a thread that steps back (Linux: a thread has its own).
NICE: Final = 10
# A thread that computes lets the loop have the interpreter after so long, and for so long.
TURN_NS: Final = 50_000
REST_S: Final = 0.000_02

T = TypeVar("T")

log = logging.getLogger("pybroker")


def in_short_turns(items: "Iterable[T]") -> "Iterator[T]":
    """Yield them to a thread that computes something of each, and rest now and then.

    Else it keeps the interpreter for Python's 5 ms whenever the loop leaves it for a system call, and everybody's
    messages wait. To shorten these for all threads would cost the journal's more than it gives.
    """
    ends_ns = perf_counter_ns() + TURN_NS
    for item in items:
        yield item
        if perf_counter_ns() >= ends_ns:
            time.sleep(REST_S)
            ends_ns = perf_counter_ns() + TURN_NS


class ThreadWorker(Worker):
    """One thread. The results of its jobs are handled on the hub, at the loop's next round, and end a turn.

    `on_error` is called with an exception of that handling: nobody must wait for ever for what should have followed.
    """

    __slots__ = ("_async", "_jobs", "_results", "_thread", "_turn", "on_error")

    def __init__(self, name: str, turn: "LoopCycle") -> None:
        self._turn = turn
        self._jobs: SimpleQueue[tuple[Job, Done] | None] = SimpleQueue()
        self._results: deque[tuple[Done, Any]] = deque()
        self.on_error: Callable[[Exception], None] = _ignore
        self._async: Any = gevent.get_hub().loop.async_()
        self._async.start(self._collect)
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job, done: Done) -> None:
        """Have `job` run in the thread."""
        self._jobs.put((job, done))
        self._turn.busy_poll.working += 1

    def step_back(self) -> None:
        """Have the thread run when others leave it time: a flood of logins must not take a core from the loop."""

        def job() -> None:
            here = get_native_id()
            os.setpriority(os.PRIO_PROCESS, here, max(NICE, os.getpriority(os.PRIO_PROCESS, here)))

        self.submit(job, lambda _: None)

    def stop(self, *, at_once: bool = False) -> None:
        """End the thread when it has done its jobs, or `at_once` what it is at. No result is handled any more."""
        while at_once and not self._jobs.empty():
            with suppress(Empty):  # the thread has taken it
                self._jobs.get_nowait()
        self._jobs.put(None)
        self._thread.join()
        self._async.close()

    def _work(self) -> None:
        while (task := self._jobs.get()) is not None:
            job, done = task
            result: Any
            try:
                result = job()
            except Exception as error:  # noqa: BLE001 - whatever it is, the hub has to know
                result = error
            self._hand_over(done, result)
            # The next job may be a long time coming.
            del task, job, done, result

    def _hand_over(self, done: Done, result: Any) -> None:
        """Give a result to the hub. Without it somebody would wait for ever: while memory is short it is kept."""
        while True:
            try:
                self._results.append((done, result))
                break
            except MemoryError:
                time.sleep(AGAIN_S)
        while True:
            try:
                self._async.send()
                break
            except MemoryError:
                time.sleep(AGAIN_S)

    def _collect(self) -> None:
        turn = self._turn
        turn.clock.refresh()
        turn.reading = True
        results = self._results
        try:
            while results:
                done, result = results.popleft()
                turn.busy_poll.working -= 1
                try:
                    done(result)
                except Exception as error:
                    # A bug in what follows one job must not keep the results of the others.
                    self.on_error(error)
                    log.exception("the callback of a job of thread %s failed", self._thread.name, extra=event(BUG))
        finally:
            if results:
                self._async.send()
            turn.after_reading()


def _ignore(_: Exception) -> None:
    """Do nothing; a placeholder for a callback."""
