"""Partitions of a super stream: the streams that are bound to its exchange, in their order."""

from typing import TYPE_CHECKING, Final

from pybroker.core.routing.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.routing.binding import Binding

# Of a binding: which partition, from 0.
ORDER_ARGUMENT: Final = "x-stream-partition-order"
# Of the exchange.
SUPER_STREAM_ARGUMENT: Final = "x-super-stream"


def partitions(exchange: "Exchange") -> "Iterator[Binding]":
    """Iterate over the bindings that lead to the partitions, in their order."""
    return iter(sorted((each for each in exchange.bindings() if _is_partition(each)), key=place_of))


def place_of(binding: "Binding") -> tuple[int, bytes]:
    """Return what partitions are sorted by: their number; without one the last come first by key."""
    order = binding.arguments.get(ORDER_ARGUMENT)
    if not isinstance(order, int) and binding.routing_key.isascii() and binding.routing_key.isdigit():
        order = int(binding.routing_key)
    return order if isinstance(order, int) else 1 << 62, binding.routing_key.encode()


def _is_partition(binding: "Binding") -> bool:
    destination = binding.destination
    return not isinstance(destination, Exchange) and destination.retains
