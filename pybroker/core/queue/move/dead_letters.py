"""DeadLetters: the dead letters of a queue, for a redrive.

Most queues of dead letters have nothing else, so messages are taken from the head as long as it is a dead letter. From
the first other head on, the queue is searched, which costs three times as much per message.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.queue.move.chosen import Chosen
from pybroker.core.queue.move.heads import Heads
from pybroker.core.queue.move.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.queue.move.deaths import Death, Deaths
    from pybroker.core.queue.move.source import Part, Pause, Planned
    from pybroker.core.queue.queue import Queue
    from pybroker.run import Run

# Looked at in one go: a step may end before the end of a run.
LOOK_MESSAGES: Final = 256


class DeadLetters(Chosen):
    """Yields messages in parts that have the same death."""

    __slots__ = ("_deaths", "_heads")

    def __init__(self, queue: "Queue", deaths: "Deaths") -> None:
        super().__init__(queue, lambda message: deaths.of(message.run, message.index))
        self._deaths = deaths
        self._heads: Heads | None = Heads(queue)

    def gather(self, pause: "Pause") -> None:
        """Search the next window, unless messages are taken from the head."""
        if self._heads is None:
            super().gather(pause)

    def surveyed(self) -> Source:
        """Return this source, which searches from the start and takes no heads."""
        self._heads = None
        return self

    def parts(self) -> "Iterator[Part]":
        """Yield heads up to the first that is not a dead letter, or what a search has found."""
        heads = self._heads
        if heads is None:
            yield from super().parts()
            return
        self.waits = False
        first = True
        for run, indexes in heads.parts():
            for death, part in self._alike(run, indexes):
                if death is None:
                    if first:
                        self._heads = None
                        self.more = True
                    return
                first = False
                yield run, part
        self.waits, self.more = heads.waits, heads.more

    def _alike(self, run: "Run", indexes: range) -> "Iterator[tuple[Death | None, range]]":
        """Yield consecutive messages of a run that have the same death, LOOK_MESSAGES at most."""
        of_content = self._deaths.of_content
        for at in range(0, len(indexes), LOOK_MESSAGES):
            start = 0
            mine = indexes[at : at + LOOK_MESSAGES]
            contents = run.contents_at(mine)
            last = of_content(contents[0])
            for place, content in enumerate(contents):
                death = of_content(content)
                if death is not last:
                    yield last, mine[start:place]
                    start, last = place, death
            yield last, mine[start:]

    def remove(self, planned: "list[Planned]") -> "list[Planned]":
        """Remove messages from the head, or wherever they are, and return those that were still in the queue."""
        if self._heads is None:
            return super().remove(planned)
        before = self._heads.done
        removed = self._heads.remove(planned)
        self.done += self._heads.done - before
        return removed

    def end_step(self) -> None:
        """Have the queue act on its new head."""
        if self._heads is None:
            super().end_step()
        else:
            self._heads.end_step()
