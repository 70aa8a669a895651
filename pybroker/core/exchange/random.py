"""The random exchange ([rmq x-random]): each message takes one of the bindings, each as often as any other."""

from random import randrange
from typing import TYPE_CHECKING, ClassVar

from pybroker.core.exchange.hash_base import PickingExchange

if TYPE_CHECKING:
    from collections.abc import Sequence


class RandomExchange(PickingExchange):
    """Another one for each message, so no route is kept."""

    TYPE: ClassVar[str] = "x-random"
    NEEDS_HEADERS: ClassVar[bool] = True

    __slots__ = ()

    def pick(self, routing_keys: "Sequence[str]", count: int) -> int:  # noqa: ARG002 - as the base
        """Return any of them."""
        return randrange(count)  # noqa: S311 - nobody gains anything by guessing it
