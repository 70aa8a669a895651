"""The consistent hash exchange ([rmq x-consistent-hash]): keys of bindings are weights, a hash picks one of these.

The routing key is hashed, or the header or property that the exchange was declared with. A weight is a number of
buckets, in the order of the bindings; one more binding moves only the messages that it gets itself. Every message falls
into the same bucket as in RabbitMQ.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pybroker.core.reply_text import field_type, printed
from pybroker.core.routing.exchange import Destinations, Exchange
from pybroker.errors import PreconditionFailed
from pybroker.wire import properties
from pybroker.wire.erlang_hash import Term, jump, phash2
from pybroker.wire.table import Table, encode_table

if TYPE_CHECKING:
    from pybroker.core.routing.binding import Binding, Target
    from pybroker.core.routing.inbound_message import InboundMessage

HEADER: Final = "hash-header"
PROPERTY: Final = "hash-property"
PROPERTIES: Final = ("correlation_id", "message_id", "timestamp")

_WEIGHT: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
# Of keys that come again and again: a hash costs what ten plain messages do.
KEYS_KEPT: Final = 8_192


class ConsistentHashExchange(Exchange):
    """`_ring` has each destination's weight; of those in `_order`, `_ends` are the numbers behind their buckets.

    The order is that of the bindings, whose places are kept: a restart moves no message to another destination.
    """

    TYPE: ClassVar[str] = "x-consistent-hash"
    EXPLAINS: ClassVar[bool] = True

    __slots__ = ("_ends", "_header", "_last_place", "_order", "_property", "_ring")

    @classmethod
    def validate(cls, arguments: "Table") -> None:
        """Refuse both arguments together, and other properties than these three. Raises PreconditionFailed (406)."""
        if HEADER in arguments and PROPERTY in arguments:
            raise PreconditionFailed("hash-header and hash-property are mutually exclusive")
        for key in (HEADER, PROPERTY):
            # Differs from RabbitMQ: it closes the connection with an internal error.
            if key in arguments and not isinstance(arguments[key], str):
                text = f"Invalid {key} field type {field_type(arguments, key)} (value {printed(arguments[key])}); "
                raise PreconditionFailed(text + "expected longstr")
        if PROPERTY in arguments and arguments[PROPERTY] not in PROPERTIES:
            raise PreconditionFailed(f"Unsupported property: {arguments[PROPERTY]}")

    def validate_binding(self, routing_key: str, arguments: "Table") -> None:  # noqa: ARG002 - as the base
        """Refuse a key that is no weight. Raises PreconditionFailed (406)."""
        if not _WEIGHT.fullmatch(routing_key):
            raise PreconditionFailed(f"The binding key must be an integer: {printed(routing_key)}")
        if int(routing_key) < 1:
            raise PreconditionFailed("The binding key must be greater than 0")

    def find(
        self,
        routing_keys: "Sequence[str]",
        headers: Mapping[str, Any] | None,
        inbound: "InboundMessage | None",
        out: Destinations,
    ) -> None:
        """Add one destination, that of the message's bucket; of several keys the first one counts."""
        if not self._order:
            return
        if self._header is not None:
            hashed = _hash_of_header(headers, self._header)
        elif self._property is not None:
            hashed = _hash_of_property(inbound, self._property)
        else:
            hashed = hash_of_key(routing_keys[0])
        bucket = jump(hashed, self._ends[-1])
        out[self._order[bisect_right(self._ends, bucket)]] = 1

    def candidates(
        self, routing_keys: "Sequence[str]", headers: Mapping[str, Any] | None, inbound: "InboundMessage | None"
    ) -> "Iterator[Binding]":
        """Iterate over the first binding of the bucket's destination, which has given it its weight."""
        return islice(super().candidates(routing_keys, headers, inbound), 1)

    def _open_index(self) -> None:
        self._header: str | None = self.arguments.get(HEADER)
        self._property: str | None = self.arguments.get(PROPERTY)
        self.dynamic = self._header is not None or self._property is not None
        self._last_place = 0
        self._ring: dict[Target, int] = {}
        self._ends: list[int] = []
        self._order: list[Target] = []

    def _attach(self, binding: "Binding") -> None:
        # Differs from RabbitMQ: after a restart the order is the same again.
        binding.place = self._last_place = max(binding.place, self._last_place + 1)
        self._give_weight(binding)
        self._close_ring()

    def _detach(self, binding: "Binding") -> None:  # noqa: ARG002 - what is left says it all
        self._ring = {}
        # Differs from RabbitMQ: another binding of that destination takes its place.
        for other in self._bindings.values():
            self._give_weight(other)
        self._close_ring()

    def _give_weight(self, binding: "Binding") -> None:
        # As in RabbitMQ the first binding of a destination counts alone.
        self._ring.setdefault(binding.destination, int(binding.routing_key))

    def _close_ring(self) -> None:
        self._order = list(self._ring)
        self._ends = list(accumulate(self._ring.values()))


@lru_cache(KEYS_KEPT)
def hash_of_key(routing_key: str) -> int:
    """Return the hash of a routing key."""
    return phash2(routing_key.encode())


def _hash_of_header(headers: Mapping[str, Any] | None, name: str) -> int:
    """Return the hash of a header, of its type and value; one that is not there is a value as well."""
    if headers is None or name not in headers:
        return phash2(None)
    table = headers if isinstance(headers, Table) else Table(headers)
    value = table[name]
    term: Term
    match value:
        case str():
            term = value.encode()
        case bool() | int():
            term = value
        case None:
            term = None
        case _:
            # Differs from RabbitMQ: fractions, times, tables and lists have a hash of their own.
            term = encode_table(Table({name: value}, {name: table.type_of(name)}))
    return phash2((field_type(table, name), term))


def _hash_of_property(inbound: "InboundMessage | None", name: str) -> int:
    """Return the hash of a property's text; one that is not there is a value as well."""
    value = None if inbound is None else getattr(properties.decode_properties(inbound.property_octets), name)
    return phash2(None if value is None else str(value).encode())
