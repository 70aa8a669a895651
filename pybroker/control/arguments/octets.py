"""Sizes and fractions as operators type them, with rabbitmqctl's units and error texts (core/memory.ex)."""

import re
from typing import Final

from pybroker.control.spec import EX_DATAERR, BadArguments

# Powers of two, but for those with a B alone: RabbitMQ's reading.
UNITS: Final = {
    "": 1,
    "k": 1 << 10,
    "kiB": 1 << 10,
    "M": 1 << 20,
    "MiB": 1 << 20,
    "G": 1 << 30,
    "GiB": 1 << 30,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
}
# More than any machine has; what is added to it later cannot overflow anything.
OCTETS_MAX: Final = 1 << 62

# Words for the two, in refusals.
SIZE: Final = "a size such as 2GiB or 2000000000"
FRACTION: Final = "a fraction such as 0.6"

_NUMBER: Final = re.compile(r"([+-]?\d+)(\.\d+)?(.*)", re.DOTALL | re.ASCII)
_FRACTION: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def parse_octets(text: str, expected: str = SIZE) -> int:
    """Return octets from `1GB`. Raises BadArguments, which says what is `expected` of a text that is no number."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise _no_number(text, expected)
    number, decimals, unit = match.groups()
    if decimals:
        raise bad_argument("The threshold should be an integer.")
    if unit not in UNITS:
        raise bad_argument("Invalid units.")
    octets = int(number) * UNITS[unit] if len(number) < 20 else OCTETS_MAX + 1
    # Differs from RabbitMQ: it takes a negative disk limit, and crashes at a negative memory limit.
    if not 0 <= octets <= OCTETS_MAX:
        raise bad_argument(f"The threshold should lie between 0 and {OCTETS_MAX} bytes")
    return octets


def parse_fraction(text: str, expected: str = FRACTION) -> float:
    """Return a fraction of the total memory, 0.0 or more. Raises BadArguments as `parse_octets`."""
    if not _FRACTION.fullmatch(text):
        raise _no_number(text, expected)
    fraction = float(text)
    # Differs from RabbitMQ: it refuses a memory watermark above 1.0, which turns the alarm off.
    if not 0 <= fraction <= OCTETS_MAX:
        raise bad_argument("The threshold should be a fraction of 0.0 or more")
    return fraction


def bad_argument(detail: str) -> BadArguments:
    """Return rabbitmqctl's complaint."""
    return BadArguments(f"Bad argument: {detail}", EX_DATAERR)


def _no_number(text: str, expected: str) -> BadArguments:
    """Return rabbitmqctl's complaint, which says nothing, and what is expected."""
    return BadArguments(f"Bad argument.\nExpected {expected}, not '{text}'", EX_DATAERR)
