"""The expiration property of a message: a shortstr that RabbitMQ reads as milliseconds [rmq ttl].

It knows the text and its limits, not what expires or when.
"""

from typing import Final

from pybroker.errors import PreconditionFailed
from pybroker.wire.erlang import printed_string

# Ten years in milliseconds: rabbit_misc:check_expiry.
EXPIRATION_MS_MAX: Final = 315_360_000_000


def parse_expiration(octets: bytes) -> int:
    """Return milliseconds. Raises PreconditionFailed (406), source: rabbit_basic:parse_expiration."""
    if octets.isdigit() and len(octets) < 12:
        return int(octets)
    start = 1 if octets[:1] in (b"+", b"-") else 0
    end = start
    while octets[end : end + 1].isdigit():
        end += 1
    if end == start:
        fault = "no_integer"
    elif end < len(octets):
        fault = f"{{leftover_string,{printed_string(octets[end:])}}}"
    else:
        ttl_ms = int(octets)
        if 0 <= ttl_ms <= EXPIRATION_MS_MAX:
            return ttl_ms
        fault = f"{{value_negative,{ttl_ms}}}" if ttl_ms < 0 else f"{{value_too_large,{ttl_ms}}}"
    raise PreconditionFailed(f"invalid expiration '{octets.decode(errors='replace')}': {fault}")
