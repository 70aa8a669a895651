"""Removals, which may take a while: a command waits until one is over, its own or that of a name it wants."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from pybroker.control.spec import WAIT_S, Changed, Node

if TYPE_CHECKING:
    from pybroker.core.topology.removal import Removal

_T = TypeVar("_T")


def when_gone(node: Node, attempt: Callable[[], _T]) -> _T:
    """Return what an attempt returns, made again when what stands in its way is gone; it raises what it likes."""
    while True:
        found, removal = node.broker.removals.attempt(attempt)
        if removal is None:
            return cast("_T", found)
        is_over(node, removal)


def is_over(node: Node, removal: "Removal") -> Changed:
    """Return what a removal has changed, as soon as it is over."""
    while not removal.is_over:
        node.pause(WAIT_S)
    return Changed(removal.commit_position)
