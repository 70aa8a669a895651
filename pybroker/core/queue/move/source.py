"""Source: which messages of a queue are moved next, and how they are removed from it."""

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
    """The `targets` of messages, at least one, and the exchange and routing key that they have there.

    `exchange` is set if its bindings led there. Otherwise messages keep the `names` of their publish.
    """

    names: "Names"
    targets: "tuple[Destination, ...]"
    exchange: "Exchange | None" = None


class Stop(NamedTuple):
    """Why a move ended early, or cannot begin, for people. A later try may succeed if it is `temporary`."""

    text: str
    temporary: bool = False


class Planned(NamedTuple):
    """Messages of a run, and the way planned for them."""

    run: "Run"
    indexes: range
    way: Way


class Source:
    """The messages to move: only those that are in the queue when the move begins, so that every move ends.

    `total` is how many there are to look at, at most, `done` how many were looked at. `more` tells that there may be
    messages beyond those at hand, `waits` that other work must continue before it is asked again.
    """

    # Whether all messages of the queue are moved.
    TAKES_ALL: ClassVar[bool] = False

    __slots__ = ("done", "more", "queue", "total", "waits")

    def __init__(self, queue: "Queue") -> None:
        self.queue = queue
        self.total = queue.messages_ready
        self.done = 0
        self.waits = self.more = False

    def gather(self, pause: "Pause") -> None:
        """Find the next messages; other work continues meanwhile. Called before each step."""

    def parts(self) -> "Iterator[Part]":
        """Yield the next messages that are at hand. The queue does not change meanwhile."""
        raise NotImplementedError

    def surveyed(self) -> "Source":
        """Return a source of the same messages that can skip them, for a survey. Called before anything else."""
        return self

    def pass_over(self) -> None:
        """Skip the messages that `parts` yields."""
        raise NotImplementedError

    def remove(self, planned: list[Planned]) -> list[Planned]:
        """Remove the first messages that `parts` has yielded; return those that were still in the queue."""
        raise NotImplementedError

    def end_step(self) -> None:
        """Have the queue act on its new head."""
        if not self.queue.deleted:
            self.queue.head_came()
