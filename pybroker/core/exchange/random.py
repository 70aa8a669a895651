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

    __slots__ = ("_picked",)

    def pick(self, routing_keys: "Sequence[str]", count: int) -> int:  # noqa: ARG002 - as the base
        """Return any of them."""
        self._picked = picked = randrange(count)  # noqa: S311 - nobody gains anything by guessing it
        return picked

    def picked(self, routing_keys: "Sequence[str]", count: int) -> int:  # noqa: ARG002 - as the base
        """Return the last one."""
        return min(self._picked, count - 1)

    def _open_index(self) -> None:
        super()._open_index()
        self._picked = 0
