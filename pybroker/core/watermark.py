"""The memory high watermark and the free disk limit: what they are set to, and how many octets that comes to.

They hold until the daemon stops (B15). How much memory there is, is measured by the daemon; this file has the place for
that figure and does no I/O. No alarm watches the limits yet: they are shown, and block nobody.
"""

import logging
from typing import ClassVar, Final, NamedTuple

MEMORY_FRACTION_DEFAULT: Final = 0.4  # B2
PAGING_RATIO: Final = 0.5  # C2
DISK_OCTETS_DEFAULT: Final = 50_000_000  # D1
# What is assumed where the system does not tell (B16).
ASSUMED_OCTETS: Final = 1 << 30
# The documents' MB.
MIB: Final = 1 << 20

log = logging.getLogger("pybroker")


class TotalMemory(NamedTuple):
    """How much memory the process may use, what set that bound, and how much is installed (0: not known)."""

    octets: int
    source: str
    installed: int


ASSUMED: Final = TotalMemory(ASSUMED_OCTETS, "assumed", 0)


class Watermarks:
    """Each limit is either relative to the total memory or absolute; the other form is None then.

    `note` is what operators are told as long as nothing watches the limits.
    """

    note: ClassVar[str] = "not watched yet: this version raises no memory and disk alarms, and blocks no publisher"

    __slots__ = ("disk_octets", "disk_relative", "memory_octets", "memory_relative", "total")

    def __init__(self) -> None:
        self.total = ASSUMED
        self.memory_relative: float | None = MEMORY_FRACTION_DEFAULT
        self.memory_octets: int | None = None
        self.disk_relative: float | None = None
        self.disk_octets: int | None = DISK_OCTETS_DEFAULT

    @property
    def memory_limit_octets(self) -> int:
        """Return the memory limit in octets; an absolute one is no more than there is (B11)."""
        if self.memory_octets is not None:
            return min(self.memory_octets, self.total.octets)
        assert self.memory_relative is not None
        return int(self.memory_relative * self.total.octets)

    @property
    def paging_octets(self) -> int:
        """Return above how many octets contents are paged out, before the limit is reached (C1)."""
        return int(PAGING_RATIO * self.memory_limit_octets)

    @property
    def disk_limit_octets(self) -> int:
        """Return how many octets are to stay free on the data folder's partition (D1, D3)."""
        if self.disk_octets is not None:
            return self.disk_octets
        assert self.disk_relative is not None
        return int(self.disk_relative * self.total.octets)

    def measured(self, total: TotalMemory) -> None:
        """Take a measurement; tell what is odd about it, once (B1, B7, B9)."""
        if total == self.total:
            return
        self.total = total
        if total.installed > total.octets:
            why = "the control group's limit" if total.source.startswith("cgroup") else "limited address space"
            usable, installed = total.octets // MIB, total.installed // MIB
            log.warning("Only %dMB of %dMB memory usable due to %s.", usable, installed, why)

    def set_memory_relative(self, fraction: float) -> None:
        """Set the watermark to a fraction of the total memory; above 1 it is never reached."""
        if fraction > 1:
            log.warning("Memory high watermark of %s is above 1: it is never reached", fraction)
        self.memory_relative, self.memory_octets = fraction, None
        self.log_memory()

    def set_memory_octets(self, octets: int) -> None:
        """Set the watermark to a number of octets."""
        self.memory_relative, self.memory_octets = None, octets
        self.log_memory()

    def set_disk_relative(self, fraction: float) -> None:
        """Set the free disk limit to a multiple of the total memory (D3)."""
        self.disk_relative, self.disk_octets = fraction, None
        self.log_disk()

    def set_disk_octets(self, octets: int) -> None:
        """Set the free disk limit to a number of octets."""
        self.disk_relative, self.disk_octets = None, octets
        self.log_disk()

    def log_memory(self) -> None:
        """Write the documents' line about the memory limit; MB are cut off, not rounded (B8, B13)."""
        limit = self.memory_limit_octets
        total, source, _ = self.total
        log.info("Memory limit set to %dMB. (%d octets of %d, %s)", limit // MIB, limit, total, source)

    def log_disk(self) -> None:
        """Write the documents' line about the disk limit (D5)."""
        limit = self.disk_limit_octets
        log.info("Disk free limit set to %dMB (%d octets)", limit // MIB, limit)
