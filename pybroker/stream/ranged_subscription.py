"""RangedSubscription: a subscription that ends at an offset, and tells the peer which messages its filter passed over.

A chunk without entries stands for these: its head says where they begin and how many they are. So the peer knows when
it has all that it wanted, though no chunk reaches so far, and that what is missing otherwise is gone.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pybroker.entries_run import HEAD, EntriesRun
from pybroker.errors import PreconditionFailed
from pybroker.stream.subscription import Subscription
from pybroker.wire.stream.codes import UNTIL
from pybroker.wire.stream.frame import deliver

if TYPE_CHECKING:
    from pybroker.core.stream.stream import Stream
    from pybroker.run import Run
    from pybroker.stream.channel import StreamChannel
    from pybroker.wire.stream import commands

# A peer that waits for long learns so often that its subscription goes on.
TELL_MS: Final = 1_000
# The head of a chunk has 32 bits for the number.
_COUNT_MAX: Final = (1 << 32) - 1
# An offset has 64 bits.
_DIGITS_MAX: Final = 20


class RangedSubscription(Subscription):
    """Telling uses no credit: it is done at most once a chunk that is delivered, and once a second."""

    __slots__ = ("_first", "_is_over", "_stop", "_told_ms", "_until")

    def __init__(self, stream: "Stream", channel: "StreamChannel", asked: "commands.Subscribe") -> None:
        """Raise PreconditionFailed if the end is no offset."""
        self._until = until_of(asked.properties)
        super().__init__(stream, channel, asked)
        self._first = self._stop = 0  # passed over and not told yet
        self._told_ms = channel.session.broker.clock.now_ms
        self._is_over = False

    def give(self, more: int) -> None:
        """Take the peer's wish for more chunks, unless it has all."""
        if not self._is_over:
            super().give(more)

    def deliver_chunk(self, run: EntriesRun, now_ms: int) -> None:
        """Put a chunk into the outbox, behind what was passed over before it; none that begins behind the end."""
        if run.first_seq >= self._until:
            self.came_to(run.first_seq)
            return
        self._tell()
        super().deliver_chunk(run, now_ms)
        self._end_at(run.first_seq + run.count)

    def passed_over(self, run: "Run", now_ms: int) -> None:
        """Learn that messages do not pass the filter."""
        if run.first_seq != self._stop:
            self._tell()
            self._first = run.first_seq
        self._stop = run.first_seq + run.count
        if self._stop >= self._until or now_ms - self._told_ms >= TELL_MS:
            self._told_ms = now_ms
            self._end_at(self._stop)
            self._tell()

    def came_to(self, offset: int) -> None:
        """Learn that what is before an offset is done with, though the last of it may be gone."""
        if offset >= self._until and not self._is_over:
            self._tell()
            self._send_passed(offset, 0)
            self._end_at(offset)

    def _end_at(self, offset: int) -> None:
        """Deliver no more if the peer has all that it wanted."""
        if offset >= self._until:
            self._is_over = True
            self.chunks = 0

    def _tell(self) -> None:
        while self._first < self._stop:
            count = min(self._stop - self._first, _COUNT_MAX)
            self._send_passed(self._first, count)
            self._first += count

    def _send_passed(self, offset: int, count: int) -> None:
        session = self.channel.session
        committed = self.queue.last_chunk_offset if session.knows_committed else None
        head = deliver(self.id, HEAD.size, committed) + EntriesRun.passed_over(offset, count).head
        session.outbox.append(head)
        session.queued(len(head))


def until_of(properties: Mapping[str, str]) -> int:
    """Return the offset at which a subscription ends. Raises PreconditionFailed."""
    text = properties[UNTIL]
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX):
        raise PreconditionFailed(f"{UNTIL} is no offset: {text:.100}")
    return int(text)
