"""Closing: a batch of the journal from when nothing more comes into it until its octets are made."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.store.journal.batch_builder import BatchBuilder
    from pybroker.store.journal.writer import Batch

    # Gets a batch's position, the batch and a callback. It may have some of it on disk elsewhere before the batch is
    # written, and take that out: then it gives True, and calls back later; else False.
    OnClosing = Callable[[int, BatchBuilder, Callable[[], None]], bool]


class Closing:
    """`content_octets` is what came into it, whatever is taken out; the others are as the batch has them.

    `then` is to be called when it is over, or will never be.
    """

    __slots__ = ("builder", "content_octets", "definitions_commit_position", "next_seq", "then")

    def __init__(self, builder: "BatchBuilder", definitions_commit_position: int) -> None:
        self.builder = builder
        self.content_octets = builder.octets
        self.definitions_commit_position = definitions_commit_position
        self.next_seq = 0
        self.then: Callable[[], None] | None = None

    def notify(self) -> None:
        """Call what waits for its end, once."""
        then, self.then = self.then, None
        if then is not None:
            then()

    def promise(self, batch: "Batch", commit_position: int) -> None:
        """Have its octets say what is true once they are on disk."""
        batch.promise(commit_position, self.next_seq, self.content_octets, self.definitions_commit_position)


def nothing_first(_position: int, _builder: "BatchBuilder", _done: "Callable[[], None]") -> bool:
    """Have nothing on disk elsewhere."""
    return False
