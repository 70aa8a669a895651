"""Worker: where the store's blocking work is done, off the hub, in order.

The daemon has a thread each for the journal, for files and for definitions (`daemon/threads.py`). This module has the
interface, and a worker that runs on demand: for offline tools, and for tests that stop between any two steps.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

Job: TypeAlias = Callable[[], Any]
# Gets what the job returned, or the exception that ended it.
Done: TypeAlias = Callable[[Any], None]


def reason(error: BaseException) -> str:
    """Return why a job ended with this error: never empty, as the text of a MemoryError is."""
    return str(error) or type(error).__name__


class Worker:
    """Jobs run one after the other, elsewhere; `done` runs on the hub, in the same order."""

    def submit(self, job: Job, done: Done) -> None:
        """Have `job` run soon. It must not touch what the hub owns."""
        raise NotImplementedError


class InlineWorker(Worker):
    """Runs nothing by itself: `step` and `run` do."""

    def __init__(self) -> None:
        self._jobs: deque[tuple[Job, Done]] = deque()

    def __len__(self) -> int:
        return len(self._jobs)

    def submit(self, job: Job, done: Done) -> None:
        """Keep it for `step`."""
        self._jobs.append((job, done))

    def step(self) -> None:
        """Run the oldest job, and what comes after it."""
        job, done = self._jobs.popleft()
        result: Any
        try:
            result = job()
        except Exception as error:  # noqa: BLE001 - it is the hub's, whatever it is
            result = error
        done(result)

    def run(self) -> None:
        """Run jobs until there are none, also those that others bring about."""
        while self._jobs:
            self.step()
