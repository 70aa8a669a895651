"""Lapsed: tags of deliveries that timed out. Their messages went back to their queues; who had them may still answer.

Until then they count against what the consumer may hold: a consumer that is stuck gets nothing new in their place. A
late acknowledgement settles nothing, since the message may be somebody else's by now, and is no error either: a closed
channel would take the other deliveries' acknowledgements with it.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pybroker.core.consumer import Consumer
    from pybroker.core.unacked import Batch

TAG_MAX: Final = (1 << 64) - 1


class Span(NamedTuple):
    """Tags `first .. last` of one consumer; None for basic.get."""

    first: int
    last: int
    consumer: "Consumer | None"


class Lapsed:
    """Tags of one channel; `count` of them."""

    __slots__ = ("_pace", "_settled", "_spans", "count")

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self.count = 0
        self._pace = 0
        self._settled = -1

    def __contains__(self, tag: int) -> bool:
        return any(span.first <= tag <= span.last for span in self._spans)

    def next_pace(self, settled: int) -> int:
        """Return how many messages lapse now: one, or twice as many as last if the channel has settled none since."""
        self._pace = 2 * self._pace if settled == self._settled else 1
        self._settled = settled
        return self._pace

    def add(self, batch: "Batch") -> None:
        """Remember a delivery that is going back."""
        spans = self._spans
        self.count += len(batch.indexes)
        first = batch.first_tag
        if spans and spans[-1].last + 1 == first and spans[-1].consumer is batch.consumer:
            first = spans.pop().first
        spans.append(Span(first, batch.last_tag, batch.consumer))

    def answered(self, first: int, last: int) -> list[Span]:
        """Forget tags `first .. last`, as far as they are here; return these."""
        found: list[Span] = []
        left: list[Span] = []
        for span in self._spans:
            if span.last < first or span.first > last:
                left.append(span)
                continue
            mine = Span(max(span.first, first), min(span.last, last), span.consumer)
            found.append(mine)
            self.count -= mine.last - mine.first + 1
            if span.first < mine.first:
                left.append(Span(span.first, mine.first - 1, span.consumer))
            if span.last > mine.last:
                left.append(Span(mine.last + 1, span.last, span.consumer))
        self._spans = left
        return found
