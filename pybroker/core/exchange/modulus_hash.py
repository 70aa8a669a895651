"""The modulus hash exchange ([rmq x-modulus-hash], of the sharding plugin): a hash of the routing keys picks a binding.

The same one as in RabbitMQ, as long as there are as many.
"""

from typing import TYPE_CHECKING, ClassVar

from pybroker.core.exchange.hash_base import PickingExchange
from pybroker.wire.erlang_hash import phash2

if TYPE_CHECKING:
    from collections.abc import Sequence


class ModulusHashExchange(PickingExchange):
    """All keys together are hashed, those of CC and BCC as well."""

    TYPE: ClassVar[str] = "x-modulus-hash"

    __slots__ = ()

    def pick(self, routing_keys: "Sequence[str]", count: int) -> int:
        """Return the hash modulo `count`."""
        return phash2([key.encode() for key in routing_keys]) % count
