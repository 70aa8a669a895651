"""The memory high watermark and the free disk limit: their settings, and how many octets these come to.

They hold until the daemon stops. The daemon measures how much memory there is and how much of it is used; this
module keeps the figures and does no I/O. `alarm` has the consequences of a limit.
"""

import logging
import sys
from dataclasses import dataclass
from typing import Final, NamedTuple

from pybroker.log_event import event

MEMORY_FRACTION_DEFAULT: Final = 0.4
PAGING_RATIO_DEFAULT: Final = 0.5
DISK_OCTETS_DEFAULT: Final = 50_000_000
MEMORY_INTERVAL_MS_DEFAULT: Final = 1_000
# Ways to count used memory: all of the process, or all but what its allocator can give out again.
ALLOCATED: Final = "allocated"
RSS: Final = "rss"
# Total memory that is assumed if the system does not tell.
ASSUMED_OCTETS: Final = 1 << 30
# The documents' MB.
MIB: Final = 1 << 20

log = logging.getLogger("pybroker")


class TotalMemory(NamedTuple):
    """Memory that the process may use, the origin of that bound, and the installed memory (0: unknown)."""

    octets: int
    source: str
    installed: int


ASSUMED: Final = TotalMemory(ASSUMED_OCTETS, "assumed", 0)
# The source of a total that total_memory_available_override_value says.
CONFIGURED: Final = "configured"


@dataclass(slots=True)
class Measured:
    """The last measurement, in octets; a disk_free of None is unknown."""

    rss: int = 0
    accounted: int = 0
    reusable: int = 0
    used: int = 0
    disk_free: int | None = None


class ResourceLimits:
    """Each limit is either relative to the total memory or absolute; the other form is None then."""

    __slots__ = (
        "disk_octets",
        "disk_relative",
        "measured",
        "memory_interval_ms",
        "memory_octets",
        "memory_relative",
        "paging_ratio",
        "strategy",
        "total",
        "total_override_octets",
    )

    def __init__(self) -> None:
        self.total = ASSUMED
        self.total_override_octets: int | None = None
        self.measured = Measured()
        self.memory_interval_ms = MEMORY_INTERVAL_MS_DEFAULT
        # Differs from RabbitMQ: rss, which here would keep an alarm up long after the queues are empty.
        self.strategy = ALLOCATED
        self.paging_ratio = PAGING_RATIO_DEFAULT
        self.memory_relative: float | None = MEMORY_FRACTION_DEFAULT
        self.memory_octets: int | None = None
        self.disk_relative: float | None = None
        self.disk_octets: int | None = DISK_OCTETS_DEFAULT

    @property
    def memory_limit_octets(self) -> int:
        """Return the memory limit in octets; an absolute one is no more than there is."""
        if self.memory_octets is not None:
            return min(self.memory_octets, self.total.octets)
        assert self.memory_relative is not None
        return int(self.memory_relative * self.total.octets)

    @property
    def never_short(self) -> bool:
        """Tell whether the memory limit is above what there is, so that its alarm cannot go off."""
        return self.memory_relative is not None and self.memory_relative > 1

    @property
    def paging_octets(self) -> int:
        """Return above how many octets used contents are paged out; with a ratio above 1 that is never."""
        if self.paging_ratio > 1:
            return sys.maxsize
        return int(self.paging_ratio * self.memory_limit_octets)

    @property
    def disk_limit_octets(self) -> int:
        """Return how many octets are to stay free on the data folder's partition."""
        if self.disk_octets is not None:
            return self.disk_octets
        assert self.disk_relative is not None
        return int(self.disk_relative * self.total.octets)

    def bound_by(self, found: TotalMemory) -> TotalMemory:
        """Return how much memory counts as there when so much was found."""
        if self.total_override_octets is None:
            return found
        return TotalMemory(self.total_override_octets, CONFIGURED, found.installed)

    def set_total(self, found: TotalMemory) -> None:
        """Take how much memory was found, unless it is configured; tell what is odd about it, once."""
        total = self.bound_by(found)
        if total == self.total:
            return
        self.total = total
        if total.installed > total.octets and total.source != CONFIGURED:
            why = "the control group's limit" if total.source.startswith("cgroup") else "limited address space"
            usable, installed = total.octets // MIB, total.installed // MIB
            extra = event("memory.total_bounded")
            log.warning("Only %dMB of %dMB memory usable due to %s.", usable, installed, why, extra=extra)

    def set_memory_relative(self, fraction: float) -> None:
        """Set the watermark to a fraction of the total memory: 0 blocks all publishing, above 1 none."""
        self.memory_relative, self.memory_octets = fraction, None
        self.log_memory()

    def set_memory_octets(self, octets: int) -> None:
        """Set the watermark to a number of octets."""
        self.memory_relative, self.memory_octets = None, octets
        self.log_memory()

    def set_disk_relative(self, fraction: float) -> None:
        """Set the free disk limit to a multiple of the total memory."""
        self.disk_relative, self.disk_octets = fraction, None
        self.log_disk()

    def set_disk_octets(self, octets: int) -> None:
        """Set the free disk limit to a number of octets."""
        self.disk_relative, self.disk_octets = None, octets
        self.log_disk()

    def log_memory(self) -> None:
        """Write the documents' line about the memory limit; MB are cut off, not rounded."""
        # Differs from RabbitMQ: it takes 1.0 for what the configuration has above that.
        if self.memory_relative is not None and self.memory_relative > 1:
            reached, extra = self._when_reached(), event("memory.limit.unreachable")
            log.warning("Memory high watermark of %s is above 1: %s", self.memory_relative, reached, extra=extra)
        limit = self.memory_limit_octets
        total, source, _ = self.total
        extra = event("memory.limit.set", limit=limit)
        log.info("Memory limit set to %dMB. (%d octets of %d, %s)", limit // MIB, limit, total, source, extra=extra)

    def _when_reached(self) -> str:
        if self.total.source in {ASSUMED.source, CONFIGURED}:
            return f"it can be reached only with more memory than the {self.total.octets // MIB}MB {self.total.source}"
        return "it can never be reached"

    def log_disk(self) -> None:
        """Write the documents' line about the disk limit."""
        limit = self.disk_limit_octets
        extra = event("disk.limit.set", limit=limit)
        log.info("Disk free limit set to %dMB (%d octets)", limit // MIB, limit, extra=extra)
