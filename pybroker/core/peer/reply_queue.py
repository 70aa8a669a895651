"""Replies of one channel, in order, while one of them waits for the disk.

The core has already done the work; only the answer waits, and all that the channel sends after it.
The queue exists only while something waits, so a channel without one costs a test for None.
Knows neither methods nor frames.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

# A peer that asks for more than this without hearing an answer is not read until half of it has left.
REPLIES_MAX: Final = 64
OCTETS_MAX: Final = 1_048_576

# Octets to be sent, or a function that returns them in its turn.
Say: TypeAlias = bytes | Callable[[], list[bytes]]


class Source(Protocol):
    """A thing that replies wait for: the log, the definitions, or the head of a queue."""

    @property
    def completed(self) -> int:
        """Return the commit position up to which all is done."""

    @property
    def failed(self) -> str:
        """Return why nothing more will ever be done; empty: all is well."""


class Reply:
    """A reply that is sent when `source` has completed `commit_position`; without one as soon as it is its turn."""

    __slots__ = ("commit_position", "say", "source")

    def __init__(self, say: Say, source: Source | None, commit_position: int) -> None:
        self.say = say
        self.source = source
        self.commit_position = commit_position

    def wait(self, source: Source, commit_position: int) -> None:
        """Learn what it waits for."""
        self.source = source
        self.commit_position = commit_position


class _Never:
    """The source of a reply whose place is taken before anybody knows what it waits for."""

    completed = -1
    failed = ""


NEVER: Final[Source] = _Never()


class ReplyQueue:
    """Invariant: `octets` counts those that are held back, `calls` the replies that are made in their turn."""

    __slots__ = ("_replies", "calls", "octets")
    replies_max: Final = REPLIES_MAX
    octets_max: Final = OCTETS_MAX

    def __init__(self) -> None:
        self._replies: deque[Reply] = deque()
        self.calls = 0
        self.octets = 0

    def __len__(self) -> int:
        return len(self._replies)

    @property
    def is_long(self) -> bool:
        """Tell whether no more should be asked for."""
        return len(self._replies) >= REPLIES_MAX or self.octets > OCTETS_MAX

    @property
    def is_short(self) -> bool:
        """Tell whether a queue that was long is not any more."""
        return len(self._replies) <= REPLIES_MAX // 2 and self.octets <= OCTETS_MAX // 2

    def add(self, say: Say, source: Source | None = None, commit_position: int = 0) -> Reply:
        """Append a reply."""
        reply = Reply(say, source, commit_position)
        self._replies.append(reply)
        if isinstance(say, bytes):
            self.octets += len(say)
        else:
            self.calls += 1
        return reply

    def pop(self) -> Say | None:
        """Remove the oldest reply and return what is to be said; None if it has to wait, or there is none."""
        if not self._replies:
            return None
        reply = self._replies[0]
        if reply.source is not None and reply.source.completed < reply.commit_position:
            return None
        self._replies.popleft()
        if isinstance(reply.say, bytes):
            self.octets -= len(reply.say)
        else:
            self.calls -= 1
        return reply.say

    @property
    def failed(self) -> str:
        """Return why the oldest reply, which waits, will wait for ever; empty: it will not."""
        source = self._replies[0].source if self._replies else None
        return source.failed if source is not None else ""
