"""Due: when a message is to be delivered, as its headers say, and what they say when it is.

`x-delay` is the plugin's: milliseconds from its arrival on; `x-deliver-at` is ours: a time, in milliseconds since the
epoch or as an AMQP timestamp. The time counts where both are given. A negative `x-delay` says that a message has waited
already: it is delivered at once, by every exchange it comes to.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Any, Final, NamedTuple

from pybroker.errors import AmqpError
from pybroker.wire.properties import find_headers, replace_headers
from pybroker.wire.table import Table, decode_table, decode_value, encode_value, join_table, split_table
from pybroker.wire.validate import GROWN

DELAY: Final = "x-delay"
DELIVER_AT: Final = "x-deliver-at"

# Properties remembered: a flood of delayed messages has the same ones.
KEPT: Final = 1_024
# The octets of a number for its type; a table that begins with an int so written is the usual one.
_SIZES: Final = {b"b": 1, b"B": 1, b"s": 2, b"u": 2, b"I": 4, b"i": 4, b"l": 8, b"L": 8}
_UNSIGNED: Final = b"Bui"
_SIGNED: Final = {kind: size for kind, size in _SIZES.items() if kind not in _UNSIGNED}
_FIRST: Final = b"\x07x-delay"
# The first property flags: headers, and neither content-type nor content-encoding, which come before them.
_UPTO_HEADERS, _HEADERS_FIRST = 0xE0, 0x20
# Nobody means a number that is longer.
DIGITS_MAX: Final = 24
# A hundred million years, which is never; whatever is added to it fits 64 bits.
# Differs from RabbitMQ: its plugin delivers at once what has more than 49 days, the most that Erlang's timers take.
FAR_MS: Final = 1 << 62
_INT32: Final = range(-(1 << 31), 1 << 31)


class Due(NamedTuple):
    """`ms` from arrival on, or since the epoch if it is a `time`."""

    time: bool
    ms: int


def due_of(headers: Mapping[str, Any] | None) -> Due | None:
    """Return when a message with these headers is due; None: at once. A time may have passed."""
    if not headers:
        return None
    delay = _number(headers.get(DELAY))
    if delay is not None and delay < 0:
        return None
    ms = _time(headers)
    if ms is not None:
        return Due(time=True, ms=ms)
    return Due(time=False, ms=delay) if delay else None


def _time(headers: Mapping[str, Any]) -> int | None:
    """Return the time, in milliseconds since the epoch."""
    at = headers.get(DELIVER_AT)
    if isinstance(at, datetime):
        return int(at.timestamp()) * 1000
    ms = _number(at)
    # A timestamp behind the year 9999 is a number of seconds.
    seconds = ms is not None and isinstance(headers, Table) and headers.types.get(DELIVER_AT) == "T"
    return _limited(ms * 1000) if ms is not None and seconds else ms


def _limited(number: int) -> int:
    return max(-FAR_MS, min(number, FAR_MS))


def _number(value: Any) -> int | None:
    """Return what the plugin takes for a number: integers, fractions cut off, and texts that are integers."""
    match value:
        case bool():
            return None
        case int():
            return _limited(value)
        case float() | Decimal() if isfinite(value):
            return _limited(int(value))
        case str() if len(value) <= DIGITS_MAX:
            try:
                return _limited(int(value))
            except ValueError:
                return None
    return None


@lru_cache(KEPT)
def due_in(octets: bytes) -> Due | None:
    """Return the same for a message with these properties; the guard has been here when it was published."""
    leads = octets[0] & _UPTO_HEADERS == _HEADERS_FIRST and octets[6:14] == _FIRST
    table = octets[2:] if leads else find_headers(octets)
    if table is None:
        return None
    if table[4:12] == _FIRST and b"x-deliver-at" not in table:
        kind = table[12:13]
        size = _SIZES.get(kind)
        if size is not None:
            delay = int.from_bytes(table[13 : 13 + size], signed=kind not in _UNSIGNED)
            return Due(time=False, ms=_limited(delay)) if delay > 0 else None
        table = find_headers(octets)
        assert table is not None
    try:
        return due_of(decode_table(table, 0, GROWN)[0])
    except AmqpError:
        return None


def negated(octets: bytes) -> bytes | None:
    """Return the properties of a message that has waited if only a number changes; None if not: see `waited`.

    Only a number changes if the table begins with an `x-delay` of a signed type and has neither CC nor BCC.
    """
    at = octets.find(_FIRST) + len(_FIRST)
    if at < len(_FIRST) or b"CC" in octets:
        return None
    table = find_headers(octets)
    size = _SIGNED.get(octets[at : at + 1], 0)
    if not size or table is None or table[4:12] != _FIRST or octets.find(table) + 4 + len(_FIRST) != at:
        return None
    delay = int.from_bytes(octets[at + 1 : at + 1 + size], signed=True)
    if delay <= 0:
        return None
    return octets[: at + 1] + (-delay).to_bytes(size, signed=True) + octets[at + 1 + size :]


def due_times(octets: bytes, timestamp_ms: int) -> tuple[int, int]:
    """Return in how many milliseconds a message is due, and at which wall time in milliseconds; it is that now."""
    due = due_in(octets)
    if due is None:
        return 0, timestamp_ms
    return (due.ms - timestamp_ms, due.ms) if due.time else (due.ms, timestamp_ms + due.ms)


def waited(octets: bytes, ms: int | None) -> tuple[bytes, list[str]]:
    """Return the properties of a message that has waited, and the routing keys it has besides its own.

    Its `x-delay` is negative then, as the plugin has it: the delay that was asked for, else the `ms` it took. BCC goes.
    Without `ms`, where there is no room for that, it has no `x-delay`: one that stayed as it was would be waited for
    again.
    """
    pairs = split_table(find_headers(octets) or bytes(4))
    delay = -max(1, ms or 0)
    kept = []
    keys: list[str] = []
    for key, value in pairs:
        if key == b"x-delay":
            asked = _number(decode_value(value, GROWN))
            if asked is not None and asked > 0:
                delay = -asked
            continue
        if key in (b"CC", b"BCC"):
            more = decode_value(value, GROWN)
            keys += [each for each in more if isinstance(each, str)] if isinstance(more, list) else []
            if key == b"BCC":
                continue
        kept.append((key, value))
    if ms is not None:
        kept.append((DELAY.encode(), encode_value(delay, "I" if delay in _INT32 else "l")))
    return replace_headers(octets, join_table(kept)), keys
