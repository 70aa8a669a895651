"""Tags of deliveries that timed out. Their messages went back to their queues; the consumer may still answer.

Until then they count against what the consumer may hold: a consumer that is stuck gets nothing new in their place. A
late acknowledgement settles nothing, since the message may be somebody else's by now, and is no error either: a closed
channel would take the other deliveries' acknowledgements with it.
"""

from bisect import bisect_left
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.channel.unacked import Batch

TAG_MAX: Final = (1 << 64) - 1
# More than lapse at a time anyway.
PACE_MAX: Final = 1 << 30


class Span(NamedTuple):
    """Tags `first .. last` of one consumer; None for basic.get."""

    first: int
    last: int
    consumer: "Consumer | None"


_LAST: Final = attrgetter("last")


class TimedOutTags:
    """Tags of one channel, `count` of them. Invariant: spans ascend and never overlap."""

    __slots__ = ("_pace", "_settled", "_spans", "count")

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self.count = 0
        self._pace = 0
        self._settled = -1

    def __contains__(self, tag: int) -> bool:
        at = bisect_left(self._spans, tag, key=_LAST)
        return at < len(self._spans) and self._spans[at].first <= tag

    def next_pace(self, settled: int) -> int:
        """Return how many messages lapse now: one, or twice as many as last if the channel has settled none since."""
        self._pace = min(2 * self._pace, PACE_MAX) if settled == self._settled else 1
        self._settled = settled
        return self._pace

    def add(self, batch: "Batch") -> None:
        """Remember a delivery that is going back."""
        spans = self._spans
        first, last, consumer = batch.first_tag, batch.last_tag, batch.consumer
        self.count += len(batch.indexes)
        at = bisect_left(spans, first, key=_LAST)
        before = spans[at - 1] if at else None
        if before is not None and before.last + 1 == first and before.consumer is consumer:
            spans[at - 1] = Span(before.first, last, consumer)
        else:
            spans.insert(at, Span(first, last, consumer))

    def answered(self, first: int, last: int) -> list[Span]:
        """Forget tags `first .. last`, as far as they are here; return these."""
        spans = self._spans
        stop = start = bisect_left(spans, first, key=_LAST)
        found: list[Span] = []
        left: list[Span] = []
        while stop < len(spans) and spans[stop].first <= last:
            span = spans[stop]
            stop += 1
            mine = Span(max(span.first, first), min(span.last, last), span.consumer)
            found.append(mine)
            self.count -= mine.last - mine.first + 1
            if span.first < mine.first:
                left.append(Span(span.first, mine.first - 1, span.consumer))
            if span.last > mine.last:
                left.append(Span(mine.last + 1, span.last, span.consumer))
        spans[start:stop] = left
        return found
