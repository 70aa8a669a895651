"""The direct exchange: routing keys equal, octet for octet (AMQP §3.1.3.1)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pybroker.core.routing.exchange import Destinations, Exchange, count_down, count_up

if TYPE_CHECKING:
    from pybroker.core.routing.binding import Binding
    from pybroker.core.routing.inbound_message import InboundMessage


class DirectExchange(Exchange):
    """Destinations by routing key; binding arguments are part of a binding's identity and match nothing."""

    TYPE: ClassVar[str] = "direct"
    EXPLAINS: ClassVar[bool] = True

    __slots__ = ("_by_key",)

    def match(
        self,
        routing_key: str,
        headers: Mapping[str, Any] | None,  # noqa: ARG002 - one signature for all types
        out: Destinations,
    ) -> None:
        """Add the destinations bound with exactly this key."""
        found = self._by_key.get(routing_key)
        if found is not None:
            out.update(found)

    def candidates(
        self,
        routing_keys: "Sequence[str]",
        headers: Mapping[str, Any] | None,  # noqa: ARG002 - one signature for all types
        inbound: "InboundMessage | None",  # noqa: ARG002 - likewise
    ) -> "Iterator[Binding]":
        """Iterate over the bindings that match."""
        return (binding for binding in self._bindings.values() if binding.routing_key in routing_keys)

    def _open_index(self) -> None:
        self._by_key: dict[str, Destinations] = {}

    def _attach(self, binding: "Binding") -> None:
        count_up(self._by_key.setdefault(binding.routing_key, {}), binding.destination)

    def _detach(self, binding: "Binding") -> None:
        destinations = self._by_key[binding.routing_key]
        count_down(destinations, binding.destination)
        if not destinations:
            del self._by_key[binding.routing_key]
