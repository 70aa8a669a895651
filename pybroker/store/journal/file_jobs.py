"""Jobs of one log for the files thread. Their completion changes the log, so a failure in it ends the log.

A job that found no free file descriptor has changed nothing, and is done again at the next tick.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from pybroker.store.disk import DiskError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.store.worker import Done, Job, Worker


class FileJobs:
    """`failed` is called with what went wrong when something has to follow a job and cannot."""

    __slots__ = ("_failed", "_retry", "_worker")

    def __init__(self, worker: "Worker", failed: "Callable[[BaseException], None]") -> None:
        self._worker = worker
        self._failed = failed
        self._retry: list[tuple[Job, Done]] = []

    def submit(self, job: "Job", done: "Done") -> None:
        """Have a job done, in order; one that is done again comes later than those behind it."""
        self._worker.submit(job, partial(self._ended, job, done))

    def _ended(self, job: "Job", done: "Done", result: Any) -> None:
        try:
            if isinstance(result, DiskError) and result.lacks_descriptors:
                self._retry.append((job, done))
            else:
                done(result)
        except Exception as error:  # noqa: BLE001 - whatever it is, what was to follow did not
            self._failed(error)

    def tick(self) -> None:
        """Do again what found no descriptor."""
        while self._retry:
            self.submit(*self._retry[-1])
            self._retry.pop()
