"""Offsets at which consumers of a stream begin: the argument x-stream-offset, as RabbitMQ's streams have it."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

OFFSET_ARGUMENT: Final = "x-stream-offset"
FIRST: Final = "first"
LAST: Final = "last"
NEXT: Final = "next"
NAMED: Final = (FIRST, LAST, NEXT)
# Seconds of each unit of an interval. RabbitMQ's months have 30 days, its years 365.
UNITS_S: Final = {"Y": 31_536_000, "M": 2_592_000, "D": 86_400, "h": 3_600, "m": 60, "s": 1}
_INTERVAL: Final = re.compile(r"([0-9]{1,10})([YMDhms])")


class OffsetSpec(NamedTuple):
    """The place to begin: `name` is first, last or next, or one of the others is set.

    `offset` below 0 is that many messages before the end. `timestamp_ms` is wall time, `age_ms` a time before now.
    """

    name: str = ""
    offset: int | None = None
    timestamp_ms: int | None = None
    age_ms: int | None = None


def interval_ms(text: str) -> int | None:
    """Return an interval such as `7D` or `1h` in milliseconds; None if it is none."""
    found = _INTERVAL.fullmatch(text)
    return None if found is None else 1_000 * int(found[1]) * UNITS_S[found[2]]


def offset_of(arguments: Mapping[str, Any]) -> OffsetSpec | None:
    """Return where a consumer with these arguments begins, `next` if they do not say; None: the value is no offset."""
    value = arguments.get(OFFSET_ARGUMENT, NEXT)
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return OffsetSpec(offset=value)
    if isinstance(value, datetime):
        return OffsetSpec(timestamp_ms=int(value.timestamp() * 1_000))
    if not isinstance(value, str):
        return None
    if value in NAMED:
        return OffsetSpec(value)
    age_ms = interval_ms(value)
    return None if age_ms is None else OffsetSpec(age_ms=age_ms)
