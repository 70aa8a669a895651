"""Rates as operators type them, `500/s`."""

import re
from typing import Final

from pybroker.control.spec import EX_DATAERR, BadArguments

RATE_MAX: Final = 1_000_000_000

_RATE: Final = re.compile(r"([0-9]{1,12})(\.[0-9]{1,6})?(/s)?")


def parse_rate(text: str) -> float:
    """Return how many a second. Raises BadArguments."""
    match = _RATE.fullmatch(text)
    rate = float(match[1] + (match[2] or "")) if match else 0.0
    if not 0 < rate <= RATE_MAX:
        raise BadArguments("Bad argument: --rate: expected messages per second above 0, such as 500/s", EX_DATAERR)
    return rate
