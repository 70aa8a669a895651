"""Figures as people read them: sizes in MB of 10^6 octets, as commands take them, times, and how long one was."""

from datetime import UTC, datetime
from typing import Final

MIB: Final = 1 << 20
MB: Final = 10**6
GB: Final = 10**9
# The last time that Python's calendar has, in milliseconds since the epoch.
UTC_MS_MAX: Final = 253_402_300_799_999


def size(octets: float) -> str:
    """Return `412.3 MB`, from 10 GB on `10.111 GB`: an alarm and its limit differ by a few MB."""
    return f"{octets / MB:,.1f} MB" if octets < 10 * GB else f"{octets / GB:,.3f} GB"


def seconds(ms: float) -> float:
    """Return seconds with as many digits as are known."""
    return round(ms / 1000, 3)


def lasting(ms: float) -> str:
    """Return `0.4 s`, `3 min 12 s`, `2 h 5 min` or `3 d 4 h`."""
    if ms < 10_000:
        return f"{max(0, ms) / 1000:.1f} s"
    whole = int(ms // 1000)
    for unit, length, below, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1)):
        if whole >= length:
            rest = whole % length // part
            return f"{whole // length} {unit}" + (f" {rest} {below}" if rest else "")
    return f"{whole} s"


def utc(ms: int) -> str:
    """Return milliseconds since the epoch as `2026-05-01T12:00:00.000+00:00`; a number beyond the calendar."""
    if not 0 <= ms <= UTC_MS_MAX:
        return str(ms)
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")


def counted(number: int, name: str, plural: str = "") -> str:
    """Return `1 queue` or `2,000 queues`."""
    return f"{number:,} {name if number == 1 else plural or name + 's'}"
