"""SimulatedThread: a worker whose jobs stop in front of each call of a seam until the schedule lets them go on."""

from collections import deque
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent, greenlet

from pybroker.store.worker import Done, Job, Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.store.simulator.fault import Fault


class SimulatedThread(Worker):
    """As daemon/threads.py: jobs in order; what they return waits in `results` until the hub collects it."""

    def __init__(self, name: str, fault: "Fault") -> None:
        self.name = name
        self._fault = fault
        self._jobs: deque[tuple[Job, Done]] = deque()
        self._running: greenlet | None = None
        self.results: deque[tuple[Done, Any]] = deque()
        self.on_error: Callable[[Exception], None] = lambda _: None

    def submit(self, job: Job, done: Done) -> None:
        self._fault.call("submit", "submit", self.name)
        self._jobs.append((job, done))

    @property
    def busy(self) -> bool:
        """Tell whether there is something to do."""
        return self._running is not None or bool(self._jobs)

    def advance(self) -> None:
        """Work up to the next call of a seam, or to the end of the job."""
        if self._running is None:
            job, done = self._jobs.popleft()
            self._running = greenlet(lambda: self._run(job, done))
        self._running.switch()
        if self._running.dead:
            self._running = None

    def _run(self, job: Job, done: Done) -> None:
        result: Any
        self._fault.watch()
        try:
            result = job()
        except Exception as error:  # noqa: BLE001 - it is the hub's, whatever it is
            result = error
        self._fault.look_away()
        self.results.append((done, result))

    def collect(self, swallow: "Callable[[Exception], None]", before: "Callable[[], None]") -> None:
        """Hand the hub all results; what follows one must not keep the others."""
        while self.results:
            done, result = self.results.popleft()
            before()
            try:
                done(result)
            except Exception as error:  # noqa: BLE001 - the daemon's threads go on as well
                self.on_error(error)
                swallow(error)


def pause(fault: "Fault") -> None:
    """Let others go on, if this is a thread's job."""
    current = getcurrent()
    if current.parent is not None:
        fault.look_away()
        current.parent.switch()
        fault.watch()
