"""Durations as options of commands."""

from pybroker.control.spec import EX_DATAERR, BadArguments
from pybroker.text.duration import milliseconds, shortest


def parse_duration_ms(text: str, least: int, most: int, option: str = "") -> int:
    """Return the milliseconds of a duration between two bounds, both included. Raises BadArguments."""
    duration = milliseconds(text)
    if duration is None or not least <= duration <= most:
        name = f"Bad argument: {option}: " if option else ""
        limits = f"from {shortest(least)} to {shortest(most)}"
        raise BadArguments(f"{name}expected a duration {limits}, such as 90s or 1h30m", EX_DATAERR)
    return duration
