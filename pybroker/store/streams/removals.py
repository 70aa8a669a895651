"""Removals: jobs that nobody waits for, of which the writer has one at a time, so that others have their turn between.

To remove a stream's folder takes several syncs. Thousands of deleted streams would keep messages of the others from
moving for seconds, and the node from stopping: `stop` forgets what was not begun, and the next start goes on with it.
"""

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from pybroker.store.worker import Worker

if TYPE_CHECKING:
    from pybroker.store.worker import Done, Job


class Removals(Worker):
    """Passes jobs on to another worker, each when the one before it is done."""

    __slots__ = ("_busy", "_stopped", "_waiting", "_worker")

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._waiting: deque[tuple[Job, Done]] = deque()
        self._busy = self._stopped = False

    def submit(self, job: "Job", done: "Done") -> None:
        """Have a job done behind those that wait."""
        self._waiting.append((job, done))
        self._next()

    def _next(self) -> None:
        if self._waiting and not self._busy:
            job, done = self._waiting.popleft()
            self._busy = True
            self._worker.submit(partial(self._run, job), partial(self._ended, done))

    def _run(self, job: "Job") -> Any:
        """Do a job, in the writer's thread, unless the node stops."""
        return None if self._stopped else job()

    def _ended(self, done: "Done", result: Any) -> None:
        self._busy = False
        self._next()
        done(result)

    def stop(self) -> None:
        """Forget all that was not begun."""
        self._stopped = True
        self._waiting.clear()
