"""How many messages of which size publishers have sent: a histogram with RabbitMQ's ranges, counted batch by batch."""

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from pybroker.content_view import body_size

if TYPE_CHECKING:
    from pybroker.core.routing.publish import Contents

# The largest body of each range in octets (rabbit_msg_size_metrics.erl); the last range has no bound.
BOUNDS: Final = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 50_000_000, 100_000_000)
# How many of a batch are looked at, if their bodies differ in length.
LOOKS_MAX: Final = 2


class MessageSizes:
    """`counts` has the messages of each range since the start."""

    __slots__ = ("_range", "_size", "counts")
    bounds: Final = BOUNDS

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self._size = self._range = 0  # most batches are of the size of the one before

    def count(self, contents: "Contents", n: int) -> None:
        """Count the first `n` messages of a batch: one step where all bodies are equally long.

        Of more than LOOKS_MAX that differ as many are looked at, evenly spread, and each stands for its neighbours:
        a publisher of mixed sizes must not pay for each message.
        """
        size = contents.body_size
        if size == self._size:
            self.counts[self._range] += n
            return
        if size >= 0:
            self._size = size
            self._range = bisect_left(BOUNDS, size)
            self.counts[self._range] += n
            return
        looks = min(n, LOOKS_MAX)
        for look in range(looks):
            start, stop = look * n // looks, (look + 1) * n // looks
            size = body_size(contents.contents[start])
            self.counts[bisect_left(BOUNDS, size)] += stop - start
