"""Worker: where the store's blocking work is done, off the hub, in order.

The daemon has a thread each for the journal, for files and for definitions (`daemon/threads.py`). This module has the
interface; `tests/inline_worker.py` has a worker that runs on demand, for tests that stop between any two steps.
"""

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
