"""Chosen: the messages of a queue that match, wherever they are in it. The others are left alone."""

from bisect import bisect_left
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from pybroker.core.queue.browse.browse import browse
from pybroker.core.queue.move.source import Source
from pybroker.core.queue.move.take_out import take_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.core.queue.browse.browsed import Browsed
    from pybroker.core.queue.move.source import Part, Pause, Planned
    from pybroker.core.queue.move.take_out import Span
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level
    from pybroker.run import Run

# Times as many as a peek looks at in one go, half of what a step moves: with small windows a move is half as fast.
LARGER: Final = 4


class Chosen(Source):
    """Browses the queue a window at a time, which bounds memory, and yields the messages of each window that match.

    `wanted` returns None for a message that does not match. It returns the same object for all messages of a part.
    """

    __slots__ = ("_browsed", "_last", "_next_seq", "_picked", "_wanted")

    def __init__(self, queue: "Queue", wanted: "Callable[[Browsed], object | None]") -> None:
        super().__init__(queue)
        self._next_seq = queue.log.next_seq
        self._last: object | None = None
        self._wanted = wanted
        self._browsed: Iterator[Browsed | None] | None = None
        self._picked: list[Part] = []
        self.more = True

    def gather(self, pause: "Pause") -> None:
        """Browse the next window if the last one is used up."""
        if self._browsed is None:
            self._browsed = browse(self.queue, pause=pause, larger=LARGER)
        if self._picked:
            return
        for message in self._browsed:
            if message is None:
                return
            self.done += 1
            if message.seq >= self._next_seq:
                continue
            kind = self._wanted(message)
            if kind is not None:
                self._pick(message.run, message.index, kind)
        self.more = False

    def _pick(self, run: "Run", index: int, kind: object) -> None:
        if self._picked and kind is self._last:
            last, indexes = self._picked[-1]
            if last is run and indexes.stop == index:
                self._picked[-1] = run, range(indexes.start, index + 1)
                return
        self._last = kind
        self._picked.append((run, range(index, index + 1)))

    def parts(self) -> "Iterator[Part]":
        """Yield the matching messages of the window."""
        yield from self._picked

    def pass_over(self) -> None:
        """Skip the matching messages of the window."""
        self._picked.clear()

    def remove(self, planned: "list[Planned]") -> "list[Planned]":
        """Remove messages from the queue and return those that were still in it.

        Messages that are being read back from disk cannot be removed yet: they come again with the next step.
        """
        backlog = self.queue.backlog
        by_level: dict[Level, list[Planned]] = {}
        for each in planned:
            by_level.setdefault(backlog.level_of(each.run.attributes.priority), []).append(each)
        removed: list[Planned] = []
        late: list[Part] = []
        for level, mine in by_level.items():
            taken = take_out(self.queue, level, [_span(each.run, each.indexes) for each in mine])
            for each in mine:
                at = each.indexes.start
                for found in _overlapping(each.run, each.indexes, taken.spans):
                    if taken.busy and at < found.start:
                        late.append((each.run, range(at, found.start)))
                    removed.append(each._replace(indexes=found))
                    at = found.stop
                if taken.busy and at < each.indexes.stop:
                    late.append((each.run, range(at, each.indexes.stop)))
        self._picked = late + _behind(self._picked, sum(len(each.indexes) for each in planned))
        self.waits = bool(late)
        self.more = self.more or self.waits
        return removed


def _span(run: "Run", indexes: range) -> "Span":
    return run.first_seq + indexes.start, run.first_seq + indexes.stop - 1


def _overlapping(run: "Run", indexes: range, spans: "list[Span]") -> "Iterator[range]":
    """Yield the parts of a range of messages that lie within `spans`, which ascend."""
    first, last = _span(run, indexes)
    for at in range(bisect_left(spans, first, key=itemgetter(1)), len(spans)):
        start, stop = spans[at]
        if start > last:
            return
        yield range(max(start, first) - run.first_seq, min(stop, last) - run.first_seq + 1)


def _behind(parts: "list[Part]", count: int) -> "list[Part]":
    """Return parts without their first `count` messages."""
    for at, (run, indexes) in enumerate(parts):
        if count < len(indexes):
            return [(run, indexes[count:]), *parts[at + 1 :]]
        count -= len(indexes)
    return []
