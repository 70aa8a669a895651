"""SharedReads: chunks read from streams' files lately, for readers that follow each other: each is read once.

Chunks do not change, so nothing here is ever wrong; what is below a stream's first offset nobody asks for.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.stream.stream import Stream
    from pybroker.run import Run

    Found = list[Run] | BaseException

# Of all streams.
SHARED_OCTETS_MAX: Final = 16_777_216


class SharedReads:
    """`octets` are those of all chunks that are kept."""

    __slots__ = ("_kept", "_waiting", "octets")

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], list[Run]] = {}  # by stream and offset, the longest unused first
        self._waiting: dict[tuple[int, int], list[Callable[[Found], None]]] = {}
        self.octets = 0

    def read(self, stream: "Stream", offset: int, octets_max: int, done: "Callable[[Found], None]") -> None:
        """Call `done` as a stream's files do, with chunks that are not to be changed."""
        key = stream.id, offset
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._kept[key] = kept
            done(kept)
        elif key in self._waiting:
            self._waiting[key].append(done)
        else:
            self._waiting[key] = [done]
            stream.files.read(offset, octets_max, partial(self._read, stream, key))

    def _read(self, stream: "Stream", key: tuple[int, int], found: "Found") -> None:
        waiting = self._waiting.pop(key)
        if not isinstance(found, BaseException) and found and len(stream.readers) > 1:
            self._kept[key] = found
            self.octets += _octets(found)
            while self.octets > SHARED_OCTETS_MAX:
                self.octets -= _octets(self._kept.pop(next(iter(self._kept))))
        for done in waiting:
            done(found)

    def clear(self) -> None:
        """Forget all: nobody reads."""
        self._kept.clear()
        self.octets = 0


def _octets(runs: "list[Run]") -> int:
    return sum([run.octets for run in runs])
