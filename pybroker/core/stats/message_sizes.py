"""How many messages of which size publishers have sent: a histogram with RabbitMQ's ranges, counted batch by batch."""

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from pybroker.content_view import body_size, body_sizes

if TYPE_CHECKING:
    from pybroker.core.routing.publish import Contents

# The largest body of each range in octets (rabbit_msg_size_metrics.erl); the last range has no bound.
BOUNDS: Final = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 50_000_000, 100_000_000)
# How many of a batch are looked at, if their bodies differ in length.
LOOKS_MAX: Final = 2


class MessageSizes:
    """Counts the messages that publishers have sent since the start.

    Most batches are of the `size` of the one before: they are added to `of_size` without a call. It has the messages
    of that size that are not in their range yet, nor in `_octets`.
    """

    __slots__ = ("_counts", "_octets", "_range", "of_size", "size")
    bounds: Final = BOUNDS

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self.size = self.of_size = self._range = self._octets = 0

    @property
    def counts(self) -> list[int]:
        """Return the messages of each range."""
        self._gather()
        return self._counts.copy()

    @property
    def messages(self) -> int:
        """Return how many these are together."""
        return sum(self._counts) + self.of_size

    @property
    def octets(self) -> int:
        """Return how many octets their bodies are together."""
        return self._octets + self.size * self.of_size

    def count(self, contents: "Contents", n: int) -> None:
        """Count the first `n` messages of a batch, whose bodies are of another size than `size` or differ.

        Of more than LOOKS_MAX that differ as many are looked at, evenly spread, and each stands for its neighbours:
        a publisher of mixed sizes must not pay for each message.
        """
        size = contents.body_size
        if size >= 0:
            self._gather()
            self.size, self.of_size = size, n
            self._range = bisect_left(BOUNDS, size)
            return
        all_came = n == len(contents.contents)
        self._octets += contents.body_octets if all_came else sum(body_sizes(contents.contents[:n]))
        looks = min(n, LOOKS_MAX)
        for look in range(looks):
            start, stop = look * n // looks, (look + 1) * n // looks
            size = body_size(contents.contents[start])
            self._counts[bisect_left(BOUNDS, size)] += stop - start

    def count_alike(self, n: int, octets: int) -> None:
        """Count messages whose bodies have so many octets together, as if all were of one size."""
        self._octets += octets
        self._counts[bisect_left(BOUNDS, octets // max(1, n))] += n

    def _gather(self) -> None:
        """Add the messages of one size to their range."""
        self._counts[self._range] += self.of_size
        self._octets += self.size * self.of_size
        self.of_size = 0
