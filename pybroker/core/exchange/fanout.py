"""The fanout exchange: every binding matches (AMQP §3.1.3.2)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pybroker.core.routing.exchange import Destinations, Exchange, count_down, count_up

if TYPE_CHECKING:
    from pybroker.core.routing.binding import Binding
    from pybroker.core.routing.inbound_message import InboundMessage


class FanoutExchange(Exchange):
    """All destinations, whatever the key."""

    TYPE: ClassVar[str] = "fanout"
    EXPLAINS: ClassVar[bool] = True

    __slots__ = ("_destinations",)

    def match(
        self,
        routing_key: str,  # noqa: ARG002 - one signature for all types
        headers: Mapping[str, Any] | None,  # noqa: ARG002 - likewise
        out: Destinations,
    ) -> None:
        """Add all destinations."""
        out.update(self._destinations)

    def candidates(
        self,
        routing_keys: "Sequence[str]",  # noqa: ARG002 - one signature for all types
        headers: Mapping[str, Any] | None,  # noqa: ARG002 - likewise
        inbound: "InboundMessage | None",  # noqa: ARG002 - likewise
    ) -> "Iterator[Binding]":
        """Iterate over all bindings."""
        return self.bindings()

    def _open_index(self) -> None:
        self._destinations: Destinations = {}

    def _attach(self, binding: "Binding") -> None:
        count_up(self._destinations, binding.destination)

    def _detach(self, binding: "Binding") -> None:
        count_down(self._destinations, binding.destination)
