"""Line: what one channel says while a reply of it waits for the disk, in order (data-model.md: replies that wait).

The core has done already what is answered here; only the answer waits, and all that the channel has to say behind it.
The line exists while something waits, so a channel without one costs a test for None. Knows neither methods nor frames.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

# A peer that asks for more than this without hearing an answer is not read until half of it has left.
REPLIES_MAX: Final = 64


class Source(Protocol):
    """What replies wait for: the log, the definitions, or the head of a queue. `failed` says why it never will be."""

    @property
    def completed(self) -> int:
        """Return the last ticket that is done."""

    @property
    def failed(self) -> str:
        """Return why no other ticket will ever be done; empty: all is well."""


class Reply:
    """Octets to be sent, or what is to be called, when `source` has completed `ticket`; without a source at once."""

    __slots__ = ("say", "source", "ticket")

    def __init__(self, say: bytes | Callable[[], None], source: Source | None, ticket: int) -> None:
        self.say = say
        self.source = source
        self.ticket = ticket


class _Never:
    """The source of a reply whose place is taken before anybody knows what it waits for."""

    completed = -1
    failed = ""


NEVER: Final[Source] = _Never()


class Line:
    """Invariant: `octets` counts what is held back. Once asked it is never empty: whoever empties it drops it."""

    __slots__ = ("_replies", "octets")

    def __init__(self) -> None:
        self._replies: deque[Reply] = deque()
        self.octets = 0

    def __len__(self) -> int:
        return len(self._replies)

    def add(self, say: bytes | Callable[[], None], source: Source | None = None, ticket: int = 0) -> Reply:
        """Append a reply."""
        reply = Reply(say, source, ticket)
        self._replies.append(reply)
        if isinstance(say, bytes):
            self.octets += len(say)
        return reply

    def take(self) -> bytes | Callable[[], None] | None:
        """Remove the oldest reply and return what is to be said; None if it has to wait, or there is none."""
        if not self._replies:
            return None
        reply = self._replies[0]
        if reply.source is not None and reply.source.completed < reply.ticket:
            return None
        self._replies.popleft()
        if isinstance(reply.say, bytes):
            self.octets -= len(reply.say)
        return reply.say

    @property
    def failed(self) -> str:
        """Return why the oldest reply, which waits, will wait for ever; empty: it will not."""
        source = self._replies[0].source if self._replies else None
        return source.failed if source is not None else ""
