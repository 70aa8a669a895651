"""OffsetSpec: a place in a stream as consumers and operators name it."""

from typing import NamedTuple


class OffsetSpec(NamedTuple):
    """`name` is first, last or next, or one of the others is set.

    `offset` below 0 is that many messages before the end. `timestamp_ms` is wall time, `age_ms` a time before now.
    """

    name: str = ""
    offset: int | None = None
    timestamp_ms: int | None = None
    age_ms: int | None = None
