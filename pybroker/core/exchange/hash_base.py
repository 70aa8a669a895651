"""Picking: the base of exchange types that send each message over one of their bindings, whatever its keys."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar

from pybroker.core.routing.exchange import Destinations, Exchange

if TYPE_CHECKING:
    from pybroker.core.routing.binding import Binding, Target
    from pybroker.core.routing.inbound_message import InboundMessage


class PickingExchange(Exchange):
    """`pick` says which of the bindings, in their order: by routing key, then by what they lead to, as in RabbitMQ.

    A type may have another `order`. A destination that is bound twice has two chances.
    """

    EXPLAINS: ClassVar[bool] = True

    __slots__ = ("_lines",)

    def pick(self, routing_keys: "Sequence[str]", count: int) -> int:
        """Return which of `count` bindings, from 0, a message with these keys takes."""
        raise NotImplementedError

    def find(
        self,
        routing_keys: "Sequence[str]",
        headers: Mapping[str, Any] | None,  # noqa: ARG002 - one signature for all types
        inbound: "InboundMessage | None",  # noqa: ARG002 - likewise
        out: Destinations,
    ) -> None:
        """Add the destination of the binding that is picked, once for a message with several keys."""
        lines = self._lines
        if lines:
            out[lines[self.pick(routing_keys, len(lines))][1]] = 1

    def picked(self, routing_keys: "Sequence[str]", count: int) -> int:
        """Return what `pick` has just returned for these keys."""
        return self.pick(routing_keys, count)

    def order(self, binding: "Binding") -> tuple[Any, ...]:
        """Return what bindings are sorted by: the order decides which one a hash picks."""
        _, kind, name, routing_key, arguments = binding.key
        return routing_key.encode(), kind, name.encode(), arguments

    def candidates(
        self,
        routing_keys: "Sequence[str]",
        headers: Mapping[str, Any] | None,  # noqa: ARG002 - one signature for all types
        inbound: "InboundMessage | None",  # noqa: ARG002 - likewise
    ) -> "Iterator[Binding]":
        """Iterate over the one that was picked."""
        lines = self._lines
        place = lines[self.picked(routing_keys, len(lines))][0] if lines else ()
        return (binding for binding in self._bindings.values() if self.order(binding) == place)

    def _open_index(self) -> None:
        self._lines: list[tuple[tuple[Any, ...], Target]] = []

    def _attach(self, binding: "Binding") -> None:
        self._lines.append((self.order(binding), binding.destination))
        self._lines.sort(key=itemgetter(0))

    def _detach(self, binding: "Binding") -> None:
        place = self.order(binding)
        self._lines = [line for line in self._lines if line[0] != place]
