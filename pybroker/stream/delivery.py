"""Delivery: a chunk that is in its stream's files, on the way to a peer, a slice at a time.

A peer that takes nothing any more has a slice in memory, not the chunk. Octets that the system does not have in memory
are read in a thread, and found sound once more.
"""

from typing import TYPE_CHECKING

from pybroker.core.peer.states import ENDING

if TYPE_CHECKING:
    from pybroker.core.stream.stream import Stream
    from pybroker.store.streams.reader import Rest
    from pybroker.store.streams.stored_entries import StoredEntries
    from pybroker.stream.session import StreamSession


class Delivery:
    """Octets `at` and behind of a chunk's entries are still to be sent."""

    __slots__ = ("_chunk", "_is_asked", "_rest", "_segment", "_session", "_stream", "at")

    def __init__(self, session: "StreamSession", stream: "Stream", chunk: "StoredEntries") -> None:
        self._session = session
        self._stream = stream
        self._chunk = chunk
        self._segment = stream.streams.shared_reads.segment(stream, chunk)
        self._rest: bytes | None = None
        self._is_asked = False
        self.at = 0

    @property
    def is_over(self) -> bool:
        """Tell whether all of it was taken."""
        return self.at >= self._chunk.octets

    def read(self, taken: int) -> "bytes | memoryview":
        """Return the next octets, if others have `taken` room of the slice; none: it says when there are more."""
        chunk = self._chunk
        if self._rest is not None:
            self.at = chunk.octets
            return self._rest
        if self._segment is not None and not self._is_asked:
            shared = self._stream.streams.shared_reads.slice(self._stream, self._segment, chunk, self.at)
            if shared is not None:
                self.at += len(shared)
                return shared
            room = self._session.room(taken)[: chunk.octets - self.at]
            octets = self._segment.read_now(chunk.position + self.at, room)
            if octets:
                self.at += octets
                return room[:octets]
        if not self._is_asked:
            self._is_asked = True
            self._stream.files.read_rest(chunk, self.at, self._was_read)
        return b""

    def _was_read(self, found: "Rest | BaseException") -> None:
        session, stream = self._session, self._stream
        if session.state in ENDING and session.close_now:
            return
        if isinstance(found, BaseException):
            stream.reading_failed(found)
            if not stream.deleted:
                stream.look_again(self._ask_again)
                return
        elif found.octets is not None:
            self._rest = found.octets
            stream.streams.shared_reads.keep_open(stream, found.segment)
            session.mark_dirty()
            return
        # Its head is on the way, so nothing else can follow. Others are to find the damage before they get so far.
        stream.streams.shared_reads.forget(stream)
        session.cut_off("a chunk cannot be read to its end")

    def _ask_again(self) -> None:
        self._is_asked = False
        self._session.mark_dirty()
