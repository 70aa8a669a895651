"""Figures of reports as people read them: octets in powers of two, and times with their bounds."""

from collections.abc import Iterable
from typing import Final

from pybroker.humanize import counted, lasting

MIB: Final = 1 << 20
SHOWN: Final = 5


def foremost(sentences: Iterable[str]) -> list[str]:
    """Return the first few, and how many more there are: `and 1 more`."""
    told = list(sentences)
    # To say that there is one more takes the place of it.
    if len(told) > SHOWN + 1:
        told[SHOWN:] = [f"and {len(told) - SHOWN:,} more: see the rows"]
    return told


def size(octets: float) -> str:
    """Return `512 octets`, `3.2 KiB`, `81.4 MiB` or `1,024.0 GiB`."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", MIB), ("KiB", 1 << 10)):
        if octets >= factor:
            return f"{octets / factor:,.1f} {unit}"
    return counted(round(octets), "octet")


def about(seconds: tuple[float, float | None, float | None]) -> str:
    """Return a time in seconds, with its bounds: `7 min 36 s (6 min 50 s to 8 min 30 s)`."""
    middle, soonest, latest = seconds
    if soonest is None or (latest is not None and round(soonest) == round(latest)):
        return lasting(1000 * middle)
    bounds = f"{lasting(1000 * soonest)} at the soonest"
    if latest is not None:
        bounds = f"{lasting(1000 * soonest)} to {lasting(1000 * latest)}"
    return f"{lasting(1000 * middle)} ({bounds})"
