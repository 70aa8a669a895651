"""A log and definitions whose disk is as slow as a test wants: nothing is completed but by the test."""

from typing import Any

from pybroker.run import Run
from pybroker.store.log import Log
from pybroker.store.memory import MemoryDefinitions


class GatheringLog(Log):
    """Gathers as the journal does: what comes before `seal` has one commit position. `batches` say what is in each."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: dict[int, list[tuple[Any, ...]]] = {1: []}
        self.wanted: list[int] = []

    @property
    def commit_position(self) -> int:
        last = max(self.batches)
        return last if self.batches[last] else 0

    def _gather(self, *record: Any) -> int:
        commit_position = max(self.batches)
        self.batches[commit_position].append(record)
        return commit_position

    def append(self, run: Run, indexes: range, queue_ids: tuple[int, ...]) -> int:
        return self._gather("publish", run.first_seq + indexes.start, len(indexes), queue_ids)

    def settle(self, queue_id: int, run: Run, indexes: range) -> None:
        self._gather("settle", queue_id, *(run.first_seq + i for i in indexes))

    def want(self, commit_position: int) -> None:
        self.wanted.append(commit_position)

    def seal(self) -> int:
        """Close the batch that gathers; return its commit position."""
        commit_position = max(self.batches)
        self.batches[commit_position + 1] = []
        return commit_position


class SlowDefinitions(MemoryDefinitions):
    """Each change has a commit position of its own."""

    def put(self, kind: str, key: Any, value: Any) -> int:
        self.commit_position += 1
        return self.commit_position

    def remove(self, kind: str, key: Any) -> int:
        self.commit_position += 1
        return self.commit_position

    def clear(self) -> int:
        self.commit_position += 1
        return self.commit_position
