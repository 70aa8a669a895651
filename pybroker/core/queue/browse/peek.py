"""Peek: messages of a queue as documents, so many, so fast that others do not notice."""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.core.queue.browse.browse import browse
from pybroker.core.queue.browse.browsed import DELAYED, READY
from pybroker.core.queue.browse.delayed import browse_delayed
from pybroker.core.queue.browse.document import PART_OCTETS, documents
from pybroker.core.queue.browse.filter import Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from pybroker.core.queue.browse.browse import Start
    from pybroker.core.queue.queue import Queue

# Documents that are handed over together: their caller makes a step of that.
BATCH_MESSAGES: Final = 8
BATCH_OCTETS: Final = 32_768
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
    wanted = Filter(wish.headers, wish.text)
    found: list[dict[str, Any]] = []
    left, looked_at, octets = wish.messages_max, 0, 0
    messages = (
        browse_delayed(queue, pause)
        if wish.states == (DELAYED,)
        else browse(queue, pause=pause, start=wish.start, states=wish.states, backwards=wish.newest_first)
    )
    for message in messages:
        if message is not None:
            looked_at += 1
            if wanted.matches(message, pause):
                left -= 1
                size = len(message.property_octets) + min(message.body_octets, wish.body_octets_max, PART_OCTETS)
                for one in documents(queue, message, wish.body_octets_max, raw=wish.raw):
                    found.append(one)
                    octets += size
                    if octets >= BATCH_OCTETS:
                        yield found
                        found, looked_at, octets = [], 0, 0
            pause(0)
        if not left:
            break
        if message is None or len(found) >= BATCH_MESSAGES or looked_at >= LOOKED_AT_MAX:
            yield found
            found, looked_at, octets = [], 0, 0
    yield found
