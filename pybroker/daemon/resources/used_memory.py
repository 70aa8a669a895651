"""Used memory: the resident set without memory that was freed in it and can be used again.

Python and malloc keep freed memory, so the resident set stays high when a backlog is drained, and an alarm that
compared it would not clear. How much the allocator holds free cannot be measured. But the broker accounts for what it
keeps: any fall since the peak of that figure is free, unless the resident set fell too. Knows figures only.
"""

from typing import NamedTuple


class Used(NamedTuple):
    """Octets: the resident set, the part `accounted` for, the `reusable` part, and the rest, `used`."""

    rss: int
    accounted: int
    reusable: int
    used: int


class UsedMemory:
    """`look` makes one measurement of two figures; its result depends on earlier ones.

    At a peak of accounted memory, the whole resident set is used. The account may be too low (by the overhead of each
    message), so its fall frees at least as much. Any loss of the resident set since then was freed memory; any gain is
    used.
    """

    __slots__ = ("_base", "_lowest_rss", "_peak_accounted", "_peak_rss")

    def __init__(self) -> None:
        self._base: int | None = None  # what the program itself takes: never free
        self._peak_rss = self._lowest_rss = 0
        self._peak_accounted = 0

    def update(self, rss: int, accounted: int) -> Used:
        """Return what is used now."""
        if self._base is None:
            self._base = max(0, rss - accounted)
        self._lowest_rss = min(self._lowest_rss, rss)
        reusable = self._peak_accounted - accounted - (self._peak_rss - self._lowest_rss)
        # Accounted memory is in use, even if it was counted too high at the peak.
        reusable = min(reusable, rss - self._base - accounted)
        if reusable <= 0:
            reusable = 0
            self._peak_rss = self._lowest_rss = rss
            self._peak_accounted = accounted
        return Used(rss, accounted, reusable, rss - reusable)
