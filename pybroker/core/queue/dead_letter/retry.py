"""Dead letters that their queue must forward at least once, and cannot now ([rmq at-least-once dead lettering]).

If there is no exchange or no route, or a target has no room, a message stays with its source, which has not settled it:
it survives a crash. It is tried again after a second, then ever less often, and at once when anything has changed that
can alter routing. A few are tried for each queue; the others wait behind them.
"""

from collections import deque
from typing import TYPE_CHECKING, Final, TypeAlias

from pybroker.run import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.queue.destination import Destination
    from pybroker.core.queue.queue import Queue
    from pybroker.message import Message

    # In no level any more, and why.
    Departing: TypeAlias = tuple[Entry, str]

# RabbitMQ's worker has 32 at a time as well, and tries these again after three minutes.
TRIED_MESSAGES: Final = 32
RETRY_MS: Final = 1_000
RETRY_MS_MAX: Final = 30_000
# With more than this a queue reads back no more of its backlog only to let it expire.
CROWD_MESSAGES: Final = 10_240


class Retry:
    """Dead letters that stay with one queue, oldest first: `tried` could not be forwarded, `untried` wait behind."""

    __slots__ = ("_due_ms", "_generation", "_pause_ms", "messages", "octets", "tried", "untried")

    def __init__(self, queue: "Queue") -> None:
        self.tried: deque[Departing] = deque()
        self.untried: deque[Departing] = deque()
        self.messages = self.octets = 0  # that have departed and are not gone, these and those in line
        self._pause_ms = RETRY_MS
        self._due_ms = 0
        self._generation = queue.vhost.generation

    def __len__(self) -> int:
        return len(self.tried) + sum(len(entry.indexes) for entry, _ in self.untried)

    @property
    def full(self) -> bool:
        """Tell whether so many cannot go that all others wait behind them."""
        return len(self.tried) >= TRIED_MESSAGES

    @property
    def crowded(self) -> bool:
        """Tell whether they are so many that no more are to come."""
        return self.messages > CROWD_MESSAGES

    def count(self, entries: "Iterable[Entry]") -> None:
        """Count messages that have departed."""
        for entry in entries:
            self.messages += len(entry.indexes)
            self.octets += entry.body_octets

    def add(self, message: "Message", reason: str, now_ms: int) -> None:
        """Add a message that cannot go."""
        if not self.tried:
            self._due_ms = now_ms + self._pause_ms
        self.tried.append((Entry(message.run, range(message.index, message.index + 1), message.deliveries), reason))

    def stops(self, line: "deque[Departing]") -> bool:
        """Take over the queue's line if too many messages cannot be forwarded; return whether it was taken.

        The messages in the line wait behind these, and later ones behind them. The line may be a million, and this
        happens at each trial, so no message is touched.
        """
        if not self.full:
            return False
        if self.untried:
            self.untried.extendleft(reversed(line))  # messages that are tried again, a few
        else:
            self.untried = line
        return True

    def next_line(self) -> "deque[Departing]":
        """Return the messages that wait behind others, unless too many of these are left."""
        if self.full:
            return deque()
        line, self.untried = self.untried, deque()
        return line

    def gone(self, message: "Message") -> None:
        """Learn that a message has gone: others may follow soon."""
        self.messages -= 1
        self.octets -= message.run.body_octets_of(range(message.index, message.index + 1))
        self._pause_ms = RETRY_MS

    def is_due(self, queue: "Queue", now_ms: int) -> bool:
        """Tell whether it is time to try again."""
        if not self.tried:
            return False
        return now_ms >= self._due_ms or self._generation != queue.vhost.generation or queue.deleted

    def pop_tried(self, queue: "Queue") -> "deque[Departing]":
        """Remove and return what could not be forwarded, to be tried again; the others wait for the result."""
        if self._generation != queue.vhost.generation:
            self._generation = queue.vhost.generation
            self._pause_ms = RETRY_MS
        else:
            self._pause_ms = min(2 * self._pause_ms, RETRY_MS_MAX)
        line, self.tried = self.tried, deque()
        return line


def obstacle(queue: "Queue", message: "Message", targets: "tuple[Destination, ...]") -> str:
    """Return why a message has to stay with `queue`; empty if all its targets have room for it.

    All of them or none: a message that one target had already would be there twice after a crash.
    """
    # Differs from RabbitMQ: it sends to those that have room, and tries the others again.
    if not targets:
        name = queue.limits.dead_letter_exchange
        return f"exchange '{name}' is missing or routes to no queue"
    octets = message.run.body_octets_of(range(message.index, message.index + 1))
    for target in targets:
        if not target.has_room(octets):
            return f"{target!r} is full"
    return ""
