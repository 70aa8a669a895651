"""How much memory is used: the resident set without what was freed in it and waits to be used again (B20).

Python and malloc keep what they free, so that the resident set stays high when a backlog is drained; an alarm that
compared it would not clear. What the allocator holds free nobody can tell. But the broker counts what it keeps, and
what that has fallen by since its peak is free, unless the resident set fell too. Knows figures only.
"""

from typing import NamedTuple


class Used(NamedTuple):
    """Octets: the resident set, what of it is `accounted` for, what is `reusable`, and what is `used`: the others."""

    rss: int
    accounted: int
    reusable: int
    used: int


class UsedMemory:
    """`look` makes one measurement of two figures; what it says depends on those before.

    At a peak of what is accounted for, all that is resident is used. What is accounted for may fall short of the truth
    (by what is around each message), so a fall of it frees at least as much. What the resident set has lost since was
    of that. Whatever the resident set gains is used.
    """

    __slots__ = ("_base", "_lowest_rss", "_peak_accounted", "_peak_rss")

    def __init__(self) -> None:
        self._base: int | None = None  # what the program itself takes: never free
        self._peak_rss = self._lowest_rss = 0
        self._peak_accounted = 0

    def look(self, rss: int, accounted: int) -> Used:
        """Return what is used now."""
        if self._base is None:
            self._base = max(0, rss - accounted)
        self._lowest_rss = min(self._lowest_rss, rss)
        reusable = self._peak_accounted - accounted - (self._peak_rss - self._lowest_rss)
        # What is accounted for is there, even if it was counted too high at the peak.
        reusable = min(reusable, rss - self._base - accounted)
        if reusable <= 0:
            reusable = 0
            self._peak_rss = self._lowest_rss = rss
            self._peak_accounted = accounted
        return Used(rss, accounted, reusable, rss - reusable)
