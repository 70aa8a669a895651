"""A worker for tests that stop between any two steps."""

from collections import deque
from typing import Any

from pybroker.store.worker import Done, Job, Worker


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
