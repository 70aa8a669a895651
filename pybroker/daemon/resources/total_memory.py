"""How much memory this process may use: the least of what is installed and of what bounds it.

RabbitMQ looks at the installed memory alone, so that in a container its alarm goes off after the kernel has killed it.
"""

import logging
import os
import platform
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

from pybroker.core.resources.resource_limits import ASSUMED, MIB, ResourceLimits, TotalMemory
from pybroker.log_event import event

CGROUP_ROOT: Final = Path("/sys/fs/cgroup")
PROC: Final = Path("/proc")
# Address space of a process: 2 GiB with 32-bit words, on Linux 2^48 octets with 64 (vm_memory_monitor:get_vm_limit).
ADDRESS_SPACE_OCTETS: Final = 1 << 48 if sys.maxsize > 1 << 32 else 1 << 31

log = logging.getLogger("pybroker")


def announce(watermarks: ResourceLimits) -> None:
    """Measure for the first time, and log what the limits come to."""
    total = measure()
    if total == ASSUMED and watermarks.total_override_octets is None:
        log.warning(
            "Unknown total memory size for your OS %s. Assuming memory size is %dMB.",
            operating_system(),
            total.octets // MIB,
            extra=event("memory.total_unknown"),
        )
    watermarks.set_total(total)
    watermarks.log_memory()
    watermarks.log_disk()


def measure() -> TotalMemory:
    """Return the least of installed memory, the control groups' limits, RLIMIT_AS and the address space."""
    installed = installed_octets()
    bounds = [] if installed is None else [(installed, "RAM")]
    bounds += control_group_limits()
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        bounds.append((soft, "RLIMIT_AS"))
    if not bounds:
        return ASSUMED
    bounds.append((ADDRESS_SPACE_OCTETS, "address space"))
    # The first of equal ones: what is installed.
    octets, source = min(bounds, key=lambda bound: bound[0])
    return TotalMemory(octets, source, installed or 0)


def operating_system() -> str:
    """Return the operating system as Erlang names it: `{unix,linux}`."""
    return f"{{{'win32' if os.name == 'nt' else 'unix'},{platform.system().lower()}}}"


def installed_octets() -> int | None:
    """Return the installed memory; None where the system does not tell."""
    octets: int
    try:
        octets = psutil.virtual_memory().total
    except (OSError, KeyError, ValueError):
        try:
            octets = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  # no /proc in this root
        except (OSError, ValueError):
            return None
    return octets


def control_group_limits() -> Iterator[tuple[int, str]]:
    """Yield the limits of the control groups that this process is in, and of those around them; v2 and v1."""
    for line in _read(PROC / "self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield from _limits(CGROUP_ROOT, path, "memory.max", "cgroup v2")
        elif "memory" in controllers.split(","):
            yield from _limits(CGROUP_ROOT / "memory", path, "memory.limit_in_bytes", "cgroup v1")


def _limits(root: Path, path: str, name: str, source: str) -> Iterator[tuple[int, str]]:
    # Within a container the path may be that of the host, while what is mounted is the container's own group.
    group = root / path.lstrip("/")
    for folder in (group, *group.parents):
        limit = _read(folder / name).strip()
        # v2 says `max`; v1 a number near 2^63, which is more than any address space.
        if limit.isdecimal() and int(limit) < ADDRESS_SPACE_OCTETS:
            yield int(limit), source
        if folder == root:
            return


def _read(path: Path) -> str:
    """Return a file of the kernel's, empty if it is not there."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
