"""Route of a delivery: redelivered, exchange and routing key, as they stand in basic.deliver."""

from typing import NamedTuple

from pybroker.errors import ProtocolSyntaxError


class Route(NamedTuple):
    """The origin of a message."""

    exchange: str
    routing_key: str
    redelivered: bool


def read_route(octets: bytes) -> Route:
    """Return the route of these octets: a bit and two short strings. Raises ProtocolSyntaxError (502)."""
    key_at = 2 + octets[1]
    if len(octets) <= key_at or octets[key_at] != len(octets) - key_at - 1:
        raise ProtocolSyntaxError("a basic.deliver that is not well formed")
    # a name that is not UTF-8 must not stand in the way of all that come after it
    exchange, key = octets[2:key_at].decode(errors="replace"), octets[key_at + 1 :].decode(errors="replace")
    return Route(exchange, key, octets[0] & 1 == 1)
