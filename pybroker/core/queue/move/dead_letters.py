"""Dead letters of a queue, for a redrive: taken as heads for as long as each head is one, else looked for.

Most queues of dead letters have nothing else, and heads cost a third of what messages do that are looked for.
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
    """All messages of a part have the same death. From the first head without one on, the others are looked for."""

    __slots__ = ("_deaths", "_heads")

    def __init__(self, queue: "Queue", deaths: "Deaths") -> None:
        super().__init__(queue, lambda message: deaths.of(message.run, message.index))
        self._deaths = deaths
        self._heads: Heads | None = Heads(queue)

    def gather(self, pause: "Pause") -> None:
        """Look for the next ones, unless heads are taken."""
        if self._heads is None:
            super().gather(pause)

    def surveyed(self) -> Source:
        """Take no heads: all is looked at, and stays."""
        self._heads = None
        return self

    def parts(self) -> "Iterator[Part]":
        """Yield heads up to the first that is no dead letter; or those that were found."""
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
        """Yield messages of a run that follow one another and have the same death, some at a time."""
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
        """Remove heads, or take messages out of the queue; return those that it had still."""
        if self._heads is None:
            return super().remove(planned)
        before = self._heads.done
        removed = self._heads.remove(planned)
        self.done += self._heads.done - before
        return removed

    def end_step(self) -> None:
        """Have the queue do what other heads than before mean."""
        if self._heads is None:
            super().end_step()
        else:
            self._heads.end_step()
