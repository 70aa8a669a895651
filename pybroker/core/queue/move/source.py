"""Sources of a move: which messages of a queue go next, and how they leave it."""

from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.core.queue.destination import Destination
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.exchange import Exchange
    from pybroker.run import Names, Run

    Pause: TypeAlias = Callable[[float], object]
    # Messages of a run.
    Part: TypeAlias = tuple[Run, range]


class Way(NamedTuple):
    """The names under which messages are put into their targets, which are not empty.

    With an `exchange` these were found by its bindings; without, messages keep the names under which they were
    published.
    """

    names: "Names"
    targets: "tuple[Destination, ...]"
    exchange: "Exchange | None" = None


class Planned(NamedTuple):
    """Messages of a run that are to take a way."""

    run: "Run"
    indexes: range
    way: Way


class Source:
    """`total` is how many messages there are to look at, at most, and `done` how many were looked at.

    Only those that were there when the move began: it ends, whatever comes back to the queue. There may be `more` that
    are not at hand. While it `waits`, others have to go on before it is asked again.
    """

    # Whether each message goes, whatever it is.
    TAKES_ALL: ClassVar[bool] = False

    __slots__ = ("done", "more", "queue", "total", "waits")

    def __init__(self, queue: "Queue") -> None:
        self.queue = queue
        self.total = queue.messages_ready
        self.done = 0
        self.waits = self.more = False

    def gather(self, pause: "Pause") -> None:
        """Look for messages that go next; others go on meanwhile. Called before each step."""

    def parts(self) -> "Iterator[Part]":
        """Yield messages that go next, as far as they are at hand. The queue does not change meanwhile."""
        raise NotImplementedError

    def surveyed(self) -> "Source":
        """Return the source of the same messages for one who counts them and leaves them. Called first of all."""
        return self

    def pass_over(self) -> None:
        """Leave the messages that `parts` yields where they are, and go on behind them."""
        raise NotImplementedError

    def remove(self, planned: list[Planned]) -> list[Planned]:
        """Remove messages that `parts` has yielded, from the first on; return those that the queue had still."""
        raise NotImplementedError

    def end_step(self) -> None:
        """Have the queue do what other heads than before mean."""
        if not self.queue.deleted:
            self.queue.head_came()
