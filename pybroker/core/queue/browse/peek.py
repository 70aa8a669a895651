"""Peek: messages of a queue as documents, so many, so fast that others do not notice."""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.core.queue.browse.browse import browse
from pybroker.core.queue.browse.browsed import DELAYED, READY
from pybroker.core.queue.browse.delayed import browse_delayed
from pybroker.core.queue.browse.filter import Filter
from pybroker.core.queue.browse.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from pybroker.core.queue.browse.browse import Start
    from pybroker.core.queue.browse.browsed import Browsed
    from pybroker.core.queue.queue import Queue

# Messages looked at until the caller is asked whether it is there still, though nothing was found.
LOOKED_AT_MAX: Final = 256


class Wish(NamedTuple):
    """The messages wanted, as `browse` and `Filter` take them, how many at most, and how much of each body.

    Delayed ones are asked for alone, and come as they are due, from the first.
    """

    start: "Start" = "head"
    newest_first: bool = False
    messages_max: int = 10
    headers: "Collection[tuple[str, str]]" = ()
    text: str = ""
    states: "Collection[str]" = (READY,)
    body_octets_max: int = 1_024
    raw: bool = False


def peek(queue: "Queue", wish: Wish, pause: "Callable[[float], object]") -> "Iterator[list[dict[str, Any]]]":
    """Yield the messages as documents, some at a time, or none where others have to go on.

    `pause` is called with 0 for each message that is looked at, and decides itself when it is time for others.
    """
    messages = (
        browse_delayed(queue, pause)
        if wish.states == (DELAYED,)
        else browse(queue, pause=pause, start=wish.start, states=wish.states, backwards=wish.newest_first)
    )
    yield from wanted_of(messages, queue, wish, pause)


def wanted_of(
    messages: "Iterable[Browsed | None]", queue: "Queue", wish: Wish, pause: "Callable[[float], object]"
) -> "Iterator[list[dict[str, Any]]]":
    """Yield those of a queue's browsed messages that are wanted, as above."""
    wanted = Filter(wish.headers, wish.text)
    shown = Shown(queue, wish.body_octets_max, raw=wish.raw)
    left, looked_at = wish.messages_max, 0
    for message in messages:
        if message is not None:
            looked_at += 1
            if wanted.matches(message, pause):
                left -= 1
                yield from shown.add(message)
            pause(0)
        if not left:
            break
        if message is None or looked_at >= LOOKED_AT_MAX:
            yield shown.hand_over()
            looked_at = 0
    yield shown.hand_over()
