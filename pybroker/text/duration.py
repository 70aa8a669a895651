"""Durations as people type them: `5m`, `1h30m`. The units are those of RabbitMQ's configuration."""

import re
from typing import Final

# In milliseconds; `f` is a fortnight.
UNITS_MS: Final = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
    "f": 1_209_600_000,
}

_PART: Final = re.compile(r"([0-9]{1,15})(ms|[smhdwf])")


def milliseconds(text: str) -> int | None:
    """Return the sum of one or more numbers with a unit each; None for anything else."""
    if not text or _PART.sub("", text):
        return None
    return sum(int(number) * UNITS_MS[unit] for number, unit in _PART.findall(text))


def shortest(duration_ms: int) -> str:
    """Return a duration in the largest unit, up to a day, that it is a multiple of: `90s`, `1h`, `0ms`."""
    unit = next((unit for unit in "dhms" if duration_ms and not duration_ms % UNITS_MS[unit]), "ms")
    return f"{duration_ms // UNITS_MS[unit]}{unit}"
