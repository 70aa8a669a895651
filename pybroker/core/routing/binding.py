"""Binding: an arrow from an exchange to a queue or to another exchange, and what makes two of them the same one.

It does not know how an exchange matches it.
"""

from typing import TYPE_CHECKING, TypeAlias

from pybroker.wire.table import Table, encode_table, join_table, split_table

if TYPE_CHECKING:
    from pybroker.core.queue.destination import Destination
    from pybroker.core.routing.exchange import Exchange

# Kinds of a binding's destination.
Target: TypeAlias = "Exchange | Destination"
# Source, destination kind and name, routing key, octets of the arguments.
BindingKey: TypeAlias = tuple[str, str, str, str, bytes]


class Binding:
    """Immutable by convention. `key` is its identity: a second bind with an equal key is no second binding.

    `place` is given by a source that needs to know in which order its bindings were made, also after a restart.
    """

    __slots__ = ("arguments", "destination", "key", "place", "routing_key", "source")

    def __init__(self, source: "Exchange", destination: Target, routing_key: str, arguments: Table) -> None:
        self.source = source
        self.destination = destination
        self.routing_key = routing_key
        self.arguments = arguments
        self.place = 0
        self.key: BindingKey = (
            source.name,
            destination.kind,
            destination.name,
            routing_key,
            argument_octets(arguments),
        )

    @property
    def durable(self) -> bool:
        """Tell whether it survives a restart: both ends do."""
        return self.source.durable and self.destination.durable

    def __repr__(self) -> str:
        kind, name = self.destination.kind, self.destination.name
        return f"Binding({self.source.name!r} -> {kind} {name!r}, {self.routing_key!r}, {self.arguments!r})"


def argument_octets(arguments: Table) -> bytes:
    """Return one form for equal arguments: types count (1 as 'I' is not 1 as 'l'), the order of keys does not."""
    if not arguments:
        return b""
    return join_table(sorted(split_table(encode_table(arguments))))
