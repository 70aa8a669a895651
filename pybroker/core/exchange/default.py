"""The default exchange, named "": every queue is bound to it with its own name (AMQP §3.1.3.1).

These bindings are implicit, never stored, and no other can be made: `exchange_declare.py` refuses it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pybroker.core.auth.permissions import OWN_QUEUES
from pybroker.core.routing.binding import Binding
from pybroker.core.routing.exchange import Destinations, Exchange
from pybroker.listing import as_they_were
from pybroker.wire.table import Table

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.inbound_message import InboundMessage


class DefaultExchange(Exchange):
    """Shown as type direct, as in RabbitMQ."""

    TYPE: ClassVar[str] = "direct"
    EXPLAINS: ClassVar[bool] = True

    __slots__ = ()

    def match(
        self,
        routing_key: str,
        headers: Mapping[str, Any] | None,  # noqa: ARG002 - one signature for all types
        out: Destinations,
    ) -> None:
        """Add the queue of this name, unless the broker alone publishes to it."""
        queue: Queue | None = self.vhost.queues.get(routing_key)
        if queue is not None and not routing_key.startswith(OWN_QUEUES):
            out[queue] = 1

    def candidates(
        self,
        routing_keys: "Sequence[str]",
        headers: Mapping[str, Any] | None,  # noqa: ARG002 - one signature for all types
        inbound: "InboundMessage | None",  # noqa: ARG002 - likewise
    ) -> Iterator[Binding]:
        """Iterate over the implicit bindings that match."""
        queues = self.vhost.queues
        found = (key for key in routing_keys if key in queues and not key.startswith(OWN_QUEUES))
        return (Binding(self, queues[key], key, Table()) for key in found)

    def bindings(self) -> Iterator[Binding]:
        """Iterate over the implicit bindings: one for each queue that the vhost has now, whatever becomes of it."""
        for queue in as_they_were(self.vhost.queues.values()):
            yield Binding(self, queue, queue.name, Table())

    @property
    def binding_count(self) -> int:
        """Return the number of queues."""
        return len(self.vhost.queues)
