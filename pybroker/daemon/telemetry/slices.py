"""Slices: very many things are looked at some at a time, and others go on in between."""

from collections.abc import Callable, Iterator
from typing import Final, TypeVar

# Slices before a pause in which the thread that writes what was found catches up.
SLICES: Final = 20
PAUSE_S: Final = 0.005

T = TypeVar("T")


def slices(things: list[T], size: int, pause: Callable[[float], object]) -> Iterator[list[T]]:
    """Yield so many things at a time, and take them out of the list; there is a `pause` behind each whole slice.

    Fifty thousand queues that were deleted meanwhile would be freed at once in the end: a twentieth of a second.
    """
    things.reverse()
    count = 0
    while things:
        some = things[: -size - 1 : -1]
        del things[-size:]
        yield some
        count += 1
        if len(some) == size:
            pause(0 if count % SLICES else PAUSE_S)
