"""The super stream exchange ([rmq x-super-stream]): a hash of the routing key picks a partition.

The same one as clients of the stream protocol pick for this key, so that a publisher of AMQP reaches the stream that
they do. Its bindings lead to the partitions, in the order that `partitions` says.
"""

from typing import TYPE_CHECKING, Any, ClassVar, Final

import mmh3

from pybroker.core.exchange.hash_base import PickingExchange
from pybroker.core.routing.partitions import place_of
from pybroker.errors import PreconditionFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pybroker.core.routing.binding import Binding
    from pybroker.wire.table import Table

# Of RabbitMQ's clients.
SEED: Final = 104_729


class SuperStreamExchange(PickingExchange):
    """Only the message's own routing key is hashed; CC and BCC change nothing."""

    TYPE: ClassVar[str] = "x-super-stream"

    __slots__ = ()

    def validate_binding(self, routing_key: str, arguments: "Table") -> None:  # noqa: ARG002 - as the base
        """Refuse a key that is no number of a partition. Raises PreconditionFailed (406)."""
        if not (routing_key.isascii() and routing_key.isdigit()):
            raise PreconditionFailed(f"The binding key must be an integer: {routing_key}")

    def pick(self, routing_keys: "Sequence[str]", count: int) -> int:
        """Return the hash modulo `count`."""
        hashed: int = mmh3.hash(routing_keys[0].encode(), SEED, signed=False)
        return hashed % count

    def order(self, binding: "Binding") -> tuple[Any, ...]:
        """Return where a partition stands."""
        # Differs from RabbitMQ: of partitions 0 and 2 it looks for one with the number 1, and the message is lost.
        return (*place_of(binding), *super().order(binding))
