"""What of the process lies in memory, as the kernel and malloc count it (B20). Knows nothing of queues."""

import resource
from pathlib import Path
from typing import NamedTuple

from pybroker.daemon.allocator import Allocator

_STATUS = Path("/proc/self/status")
_STATM = Path("/proc/self/statm")


class Resident(NamedTuple):
    """Octets: `total` is the resident set, `code` its pages of files (libraries), `unused` what malloc holds free."""

    total: int
    code: int
    unused: int


def used_octets() -> int:
    """Return the resident set; 0 where there is no /proc.

    What malloc holds free is in it until that is trimmed: afterwards nobody can tell how much of it is resident.
    """
    try:
        return int(_STATM.read_bytes().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def measure(allocator: Allocator) -> Resident:
    """Read what is resident now; all zero where there is no /proc."""
    try:
        lines = _STATUS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return Resident(0, 0, 0)
    sizes = {
        key: int(rest.split()[0]) * 1024 for key, _, rest in (line.partition(":") for line in lines) if "kB" in rest
    }
    code = sizes.get("RssFile", 0) + sizes.get("RssShmem", 0)
    total = sizes.get("VmRSS", 0)
    # Spare memory that was handed back to the kernel is still counted by malloc, but not resident.
    return Resident(total, code, min(allocator.free_octets(), total - code))
