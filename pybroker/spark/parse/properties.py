"""Properties of many messages at once: octets of content headers -> a list for each property (AMQP §4.2.6.2).

Octets that make no sense give nothing rather than an error: a message that cannot be read would otherwise stand in the
way of all that come after it, for good.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

from pybroker.errors import AmqpError
from pybroker.wire.properties import (
    HEADERS,
    PROPERTIES as NAMES,
    TIMESTAMP as TIMESTAMP_FLAG,
    decode_properties,
    replace_headers,
)

__all__ = ["FIELDS", "MICROSECONDS", "TIMESTAMP_FLAG", "read_properties", "read_timestamps"]

# Properties with a field in a row; headers are a column of their own, cluster_id is not used by anybody.
FIELDS: Final = tuple(name for name in NAMES if name not in ("headers", "cluster_id"))
MICROSECONDS: Final = 1_000_000
# Spark's last timestamp, 9999-12-31T23:59:59: what is beyond it gives none.
_SECONDS_MAX: Final = 253_402_300_799
_BYTE_MAX: Final = 127
_TEXT_OCTETS_MAX: Final = 255
_NO_FLAGS: Final = b"\0\0"


def read_timestamps(all_octets: Iterable[bytes]) -> list[int | None]:
    """Return the timestamps, in microseconds."""
    return [_values(_without_headers(octets))[_TIMESTAMP] for octets in all_octets]


def read_properties(all_octets: list[bytes]) -> dict[str, list[Any]]:
    """Return name -> values, for all of FIELDS; timestamps in microseconds."""
    rows = [_values(_without_headers(octets)) for octets in all_octets]
    columns = zip(*rows, strict=True) if rows else iter([()] * len(FIELDS))
    return {name: list(column) for name, column in zip(FIELDS, columns, strict=True)}


def _without_headers(octets: bytes) -> bytes:
    if octets[0] << 8 & HEADERS:
        try:
            return replace_headers(octets, None)
        except AmqpError:
            return _NO_FLAGS
    return octets


# Publishers send the same few over and over, except where each message has an id.
@lru_cache(maxsize=1_024)
def _values(octets: bytes) -> tuple[Any, ...]:
    try:
        properties = decode_properties(octets)
    except AmqpError:
        return (None,) * len(FIELDS)
    return tuple([_CLEAN.get(name, _as_is)(getattr(properties, name)) for name in FIELDS])


def _as_is(value: str | None) -> str | None:
    if value is None or value.isascii():
        return value
    # Surrogates stand for octets that are not UTF-8, which no column can hold.
    clean = value.encode(errors="surrogateescape").decode(errors="replace")
    # A property has 255 octets at most: what is read can be written again.
    return clean if len(clean.encode()) <= _TEXT_OCTETS_MAX else clean.replace("\ufffd", "?")


def _octet(value: int | None) -> int | None:
    return value


def _mode(value: int | None) -> int | None:
    return value if value is not None and value <= _BYTE_MAX else None


def _microseconds(seconds: int | None) -> int | None:
    return seconds * MICROSECONDS if seconds is not None and seconds <= _SECONDS_MAX else None


_CLEAN: Final[dict[str, Callable[[Any], Any]]] = {
    "delivery_mode": _mode,
    "priority": _octet,
    "timestamp": _microseconds,
}
_TIMESTAMP: Final = FIELDS.index("timestamp")
