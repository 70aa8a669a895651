"""Peek: messages of a queue as documents, so many, so fast that others do not notice."""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.core.queue.browse.browse import browse
from pybroker.core.queue.browse.browsed import DELAYED, READY
from pybroker.core.queue.browse.delayed import browse_delayed
from pybroker.core.queue.browse.document import document
from pybroker.core.queue.browse.filter import Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from pybroker.core.queue.browse.browse import Start
    from pybroker.core.queue.queue import Queue

# Done before others go on, in messages looked at: a tenth of a millisecond, so that their latency hardly shows it; and
# before the messages are handed over.
STEP_COST: Final = 32
SHARE_COST: Final = 128
# Cost of showing one, and of looking at so many octets.
SHOWN_COST: Final = 8
COST_OCTETS: Final = 4_096
# Of documents that are handed over together.
BATCH_OCTETS: Final = 131_072


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
    """Yield the messages as documents, some at a time, or none where others have to go on."""
    wanted = Filter(wish.headers, wish.text)
    found: list[dict[str, Any]] = []
    left, cost, octets, paused_at = wish.messages_max, 0, 0, 0
    messages = (
        browse_delayed(queue, pause)
        if wish.states == (DELAYED,)
        else browse(queue, pause=pause, start=wish.start, states=wish.states, backwards=wish.newest_first)
    )
    for message in messages:
        if message is None:
            cost = SHARE_COST
        else:
            cost += 1
            if wish.text:
                cost += message.run.octets // message.run.count // COST_OCTETS
            if wanted.matches(message):
                found.append(document(queue, message, wish.body_octets_max, raw=wish.raw))
                left -= 1
                size = len(message.property_octets) + min(message.body_octets, wish.body_octets_max)
                octets += size
                cost += SHOWN_COST + size // COST_OCTETS
        if not left:
            break
        if cost >= SHARE_COST or octets >= BATCH_OCTETS:
            yield found
            found, cost, octets, paused_at = [], 0, 0, 0
        elif cost - paused_at >= STEP_COST:
            pause(0)
            paused_at = cost
    yield found
