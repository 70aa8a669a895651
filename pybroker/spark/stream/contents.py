"""Contents of messages as they are read: bodies, and what stood in front of them, which neighbours mostly share."""

from itertools import chain, repeat
from operator import sub
from typing import TYPE_CHECKING, NamedTuple

from pybroker.wire.amqp10.front import Front
from pybroker.wire.amqp10.to_content import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.wire.amqp10.front import Origin


class Group(NamedTuple):
    """So many neighbours, `alike` in front of their bodies."""

    front: Front
    alike: int


def contents_of(messages: list[bytes]) -> tuple[list[bytes], list[Group]]:
    """Return the bodies of messages, and their fronts in groups."""
    bodies, fronts = parts_of(messages)
    begins = [begin for begin, _ in fronts]
    groups = map(Group, [front for _, front in fronts], map(sub, [*begins[1:], len(bodies)], begins))
    return bodies, list(groups)


def each_front(groups: list[Group]) -> "Iterator[Front]":
    """Yield the front of each message."""
    return chain.from_iterable(repeat(front, alike) for front, alike in groups)


def key_of(origin: "Origin", stream: str) -> str:
    """Return the routing key of a message. Stream clients name none: theirs go to the queue of that name."""
    return stream if origin.routing_key is None else origin.routing_key
