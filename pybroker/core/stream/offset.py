"""Offsets at which consumers of a stream begin: the argument x-stream-offset, as RabbitMQ's streams have it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from pybroker.core.policy.age import age_ms_of
from pybroker.core.policy.arguments import OFFSETS

OFFSET_ARGUMENT: Final = "x-stream-offset"


class OffsetSpec(NamedTuple):
    """The place to begin: `name` is first, last or next, or one of the others is set.

    `offset` below 0 is that many messages before the end. `timestamp_ms` is wall time, `age_ms` a time before now.
    """

    name: str = ""
    offset: int | None = None
    timestamp_ms: int | None = None
    age_ms: int | None = None


def parse_offset(arguments: Mapping[str, Any]) -> OffsetSpec | None:
    """Return where a consumer with these arguments begins, `next` if they do not say; None: the value is no offset."""
    value = arguments.get(OFFSET_ARGUMENT, "next")
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        # Differs from RabbitMQ: it takes a negative one for the first offset.
        return OffsetSpec(offset=value)
    if isinstance(value, datetime):
        return OffsetSpec(timestamp_ms=int(value.timestamp() * 1_000))
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if not isinstance(value, str):
        return None
    if value in OFFSETS:
        return OffsetSpec(value)
    age_ms = age_ms_of(value)
    return None if age_ms is None else OffsetSpec(age_ms=age_ms)
