"""Removals: jobs that no message waits for. The writer has one at a time, so that others have their turn between.

To remove a stream's folder takes several syncs, to truncate one two. Thousands of them would keep messages of the
others from moving for seconds, confirms of what goes straight into files as well, and the node from stopping: `stop`
forgets what was not begun. The next start goes on with what was deleted.
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
        try:
            self._next()
        except Exception:
            self._waiting.pop()
            raise

    def _next(self) -> None:
        if self._waiting and not self._busy:
            job, done = self._waiting[0]
            self._worker.submit(partial(self._run, job), partial(self._ended, done))
            self._busy = True
            self._waiting.popleft()

    def _run(self, job: "Job") -> Any:
        """Do a job, in the writer's thread, unless the node stops."""
        return None if self._stopped else job()

    def _ended(self, done: "Done", result: Any) -> None:
        self._busy = False
        try:
            self._next()
        finally:
            if not self._stopped:
                done(result)

    def stop(self) -> None:
        """Forget all that was not begun."""
        self._stopped = True
        self._waiting.clear()
