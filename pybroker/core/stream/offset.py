"""Offsets at which consumers of a stream begin: the argument x-stream-offset, as RabbitMQ's streams have it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from pybroker.core.policy.age import age_ms_of
from pybroker.core.policy.argument_values import OFFSETS
from pybroker.offset_spec import OffsetSpec

OFFSET_ARGUMENT: Final = "x-stream-offset"


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
