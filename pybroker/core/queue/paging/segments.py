"""The part of a level behind its head window: evicted messages, and entries that keep their contents.

Holds the classes only: `eviction` decides which messages leave memory and when they return; `ready` keeps the order.
"""

from collections import deque
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pybroker.core.queue.paging.delivery_counts import Deliveries
    from pybroker.run import Entry
    from pybroker.seq_ranges import SeqRanges
    from pybroker.store.page_log import Page

# The head window: messages and octets that stay in memory at the head of each level.
WINDOW_MESSAGES: Final = 2_048
WINDOW_OCTETS: Final = 1_048_576


def fills_window(entries: "Iterable[Entry]", halves: int = 2) -> int:
    """Return how many of `entries` it takes to fill so many halves of a window; 0 if they do not."""
    messages = octets = 0
    for count, entry in enumerate(entries, 1):
        messages += len(entry.indexes)
        octets += entry.body_octets
        if 2 * messages >= halves * WINDOW_MESSAGES or 2 * octets >= halves * WINDOW_OCTETS:
            return count
    return 0


class EvictedSegment:
    """Messages of one queue whose contents are on disk: in a `page`, or in the log. `deliveries` as in Entry.

    Once `asked` for they stay as they are until they come as `found`, which may lack some, or all, of them; then they
    are in no page any more. While the page is written they are asked for, and found, as well.
    """

    __slots__ = ("asked", "deliveries", "found", "page", "seq_ranges")

    def __init__(self, seq_ranges: "SeqRanges", deliveries: "Deliveries" = 0, page: "Page | None" = None) -> None:
        self.seq_ranges = seq_ranges
        self.deliveries = deliveries
        self.page = page
        self.asked = False
        self.found: list[Entry] | None = None

    def spans(self) -> "Iterator[tuple[int, int]]":
        """Yield its seqs as ranges, first and last, as a log settles them. Sizes do not part them."""
        first = stop = 0
        for start, count, _ in self.seq_ranges.ranges():
            if start != stop:
                if stop:
                    yield first, stop - 1
                first = start
            stop = start + count
        if stop:
            yield first, stop - 1

    def __repr__(self) -> str:
        return f"EvictedSegment({self.seq_ranges}, deliveries {self.deliveries})"


class Segments:
    """`parts` have been looked at: all that could be evicted is. `fresh` may go when the log has it. All ascend by seq.

    Paging looks at the parts from the tail to the head, and moves them to `paged`, whose seqs are between the others';
    without `parts` there is nothing in it. While something is `fetching`, which began at `asked_ms`, some of the first
    parts are on their way back. When the level's head reaches `low_seq` it is time for the next ones: half a window
    before these are needed, or twice as many windows as `ahead` says where messages leave fast.
    """

    __slots__ = ("ahead", "asked_ms", "fetching", "fresh", "low_seq", "paged", "parts")

    def __init__(self, fresh: "deque[Entry] | None" = None) -> None:
        self.parts: deque[Entry | EvictedSegment] = deque()
        self.paged: deque[Entry | EvictedSegment] = deque()
        self.fresh: deque[Entry] = deque() if fresh is None else fresh
        self.asked_ms: int | None = None
        self.ahead = 0
        self.fetching = 0
        self.low_seq = 0

    def entries(self) -> "Iterator[Entry]":
        """Yield the entries whose contents are in memory."""
        for part in self.all_parts():
            if not isinstance(part, EvictedSegment):
                yield part
            elif part.found:
                yield from part.found
        yield from self.fresh

    def all_parts(self) -> "Iterator[Entry | EvictedSegment]":
        """Yield all but what is fresh."""
        return chain(self.parts, self.paged)

    @property
    def first_seq(self) -> int:
        """Return the seq of the first message, whether it is in memory or not; there is one."""
        part = (self.parts or self.paged or self.fresh)[0]
        return part.seq_ranges.first_seq if isinstance(part, EvictedSegment) else part.first_seq

    @property
    def youngest(self) -> "deque[Entry | EvictedSegment]":
        """Return the parts that what is fresh comes behind."""
        return self.paged or self.parts

    def start_over(self) -> None:
        """Let what was looked at be looked at again, if nothing else is left."""
        if not self.parts:
            self.parts, self.paged = self.paged, self.parts

    def pop_front(self, count: int) -> "list[Entry]":
        """Remove what leads and is in memory: all that was read back, or about `count` entries."""
        taken: list[Entry] = []
        self.start_over()
        while self.parts and len(taken) < count:
            part = self.parts[0]
            if not isinstance(part, EvictedSegment):
                taken.append(part)
            elif part.found is not None:
                taken += part.found
                part.found = None  # who is writing them to a page learns that they have gone
            else:
                break
            self.parts.popleft()
            self.start_over()
        return taken

    def mark_low(self, ready: "Sequence[Entry]") -> None:
        """Note from which seq on little is left in `ready`."""
        count = fills_window(reversed(ready), 4 * self.ahead or 1) or len(ready)
        self.low_seq = ready[-count].first_seq if ready else 0
