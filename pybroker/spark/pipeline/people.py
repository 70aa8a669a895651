"""Figures as people read them: how long, how much, how many."""

from typing import Final

UNITS: Final = (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1))
MIB: Final = 1 << 20


def lasting(seconds: float) -> str:
    """Return `0.4 s`, `7 min 36 s`, `2 h 5 min` or `3 d 4 h`."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s"
    whole = round(seconds)
    for unit, length, below, part in UNITS:
        if whole >= length:
            rest = whole % length // part
            return f"{whole // length} {unit}" + (f" {rest} {below}" if rest else "")
    return f"{whole} s"


def counted(number: int, name: str) -> str:
    """Return `1 queue` or `2,000 queues`."""
    return f"{number:,} {name if number == 1 else name + 's'}"


def size(octets: float) -> str:
    """Return `512 octets`, `3.2 KiB`, `81.4 MiB` or `1,024.0 GiB`."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", MIB), ("KiB", 1 << 10)):
        if octets >= factor:
            return f"{octets / factor:,.1f} {unit}"
    return counted(round(octets), "octet")


def about(seconds: tuple[float, float | None, float | None]) -> str:
    """Return a time with its bounds: `7 min 36 s (6 min 50 s to 8 min 30 s)`."""
    middle, soonest, latest = seconds
    if soonest is None or (latest is not None and round(soonest) == round(latest)):
        return lasting(middle)
    bounds = f"{lasting(soonest)} to {lasting(latest)}" if latest is not None else f"{lasting(soonest)} at the soonest"
    return f"{lasting(middle)} ({bounds})"
