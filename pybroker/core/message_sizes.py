"""How many messages of which size publishers have sent: a histogram with RabbitMQ's ranges, counted batch by batch."""

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pybroker.core.publish import Contents

# The largest body of each range in octets (rabbit_msg_size_metrics.erl); the last range has no bound.
BOUNDS: Final = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 50_000_000, 100_000_000)


class MessageSizes:
    """`counts` has the messages of each range since the start."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)

    def count(self, contents: "Contents", n: int) -> None:
        """Count the first `n` messages of a batch: one step where all bodies are equally long."""
        size = contents.body_size
        if size >= 0:
            self.counts[bisect_left(BOUNDS, size)] += n
            return
        for content in contents.contents[:n]:
            self.counts[bisect_left(BOUNDS, int.from_bytes(content[11:19]))] += 1
