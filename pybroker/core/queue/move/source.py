"""Sources of a move: which messages of a queue go next, and how they leave it."""

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue
    from pybroker.run import Run

    # Messages of a run.
    Part: TypeAlias = tuple[Run, range]


class Source:
    """`total` is how many messages there are to look at, at most, and `done` how many were looked at.

    Only those that were there when the move began: it ends, whatever comes back to the queue. While it `waits`, the
    next ones are not at hand, and it is to be asked again.
    """

    __slots__ = ("done", "queue", "total", "waits")

    def __init__(self, queue: "Queue") -> None:
        self.queue = queue
        self.total = queue.messages_ready
        self.done = 0
        self.waits = False

    def first(self) -> "Part | None":
        """Return the messages that go next. None: there are no more, or it `waits`."""
        raise NotImplementedError

    def remove(self, count: int) -> "list[Part]":
        """Remove so many of the first messages from the queue; return those that it had still."""
        raise NotImplementedError

    def end_step(self) -> None:
        """Have the queue do what other heads than before mean."""
        if not self.queue.deleted:
            self.queue.head_came()
