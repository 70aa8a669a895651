"""A subscription: the chunks of one stream as they come, as many on their way as there is credit for."""

from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pybroker.client.errors import CallTimeout
from pybroker.spark.stream.errors import StreamError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.spark.stream.chunk import Chunk
    from pybroker.spark.stream.link import Link


class Subscription:
    """Made by `Link.subscribe`; as a context manager it ends with the block."""

    __slots__ = ("_chunks", "_credit", "_ended", "_link", "_taken", "id", "stream")

    def __init__(self, link: "Link", subscription_id: int, stream: str, credit: int) -> None:
        self._link = link
        self.id = subscription_id
        self.stream = stream
        self._credit = credit
        self._taken = 0
        self._chunks: deque[Chunk] = deque()
        self._ended = 0

    def chunk(self, timeout_s: float) -> "Chunk | None":
        """Return the next chunk, None if none comes in time.

        Raises StreamError if the stream is there no more, ConnectionLost, OSError.
        """
        if not self._chunks and not self._ended:
            self._link.wait(timeout_s, lambda: bool(self._chunks or self._ended))
        if not self._chunks:
            if self._ended:
                raise StreamError(f"read stream {self.stream!r}", self._ended)
            return None
        chunk = self._chunks.popleft()
        # Messages that were passed over use no credit.
        self._taken += chunk.entries > 0
        if self._taken * 2 >= self._credit and not self._ended:
            self._link.give_credit(self.id, self._taken)
            self._taken = 0
        return chunk

    def until(self, start: int, stop: int, timeout_s: float) -> "Iterator[Chunk]":
        """Yield chunks from an offset on, until one ends at another one or behind it; each may take so long.

        Raises CallTimeout, StreamError, ConnectionLost, OSError.
        """
        while start < stop:
            chunk = self.chunk(timeout_s)
            if chunk is None:
                raise CallTimeout(f"message {start} of stream {self.stream!r} did not come within {timeout_s:g} s")
            yield chunk
            start = chunk.next

    def close(self) -> None:
        """Take no more chunks. Raises what `Link.call` raises."""
        self._chunks.clear()
        self._link.unsubscribe(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and not self._ended:
            self.close()

    def deliver(self, chunk: "Chunk") -> None:
        """Keep a chunk that came."""
        self._chunks.append(chunk)

    def end(self, code: int) -> None:
        """Learn that nothing more will come."""
        self._ended = code
