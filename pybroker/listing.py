"""Lists that are gone through slowly, while others have the loop."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def as_they_were(things: Iterable[T]) -> Iterator[T]:
    """Yield the things there are at the first step, whatever becomes of them, and keep none that was yielded.

    A list would keep alive whatever is deleted during a long listing, and to free all of it at once takes long as well.
    """
    left = list(things)
    left.reverse()
    while left:
        yield left.pop()
