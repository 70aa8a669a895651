"""Delivery: a chunk that is in its stream's files, on the way to a peer, a part at a time.

The system sends a large one from its memory. Over TLS, and of smaller ones, a slice is read there and sent. So a peer
that takes nothing any more has a slice in memory at most, not the chunk. Octets that the system does not have in memory
are read in a thread, and found sound once more.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.peer.states import ENDING
from pybroker.session import FileOutput
from pybroker.store.streams.stored_entries import PART_OCTETS

if TYPE_CHECKING:
    from pybroker.core.stream.stream import Stream
    from pybroker.store.streams.reader import Rest
    from pybroker.store.streams.stored_entries import StoredEntries
    from pybroker.stream.session import StreamSession

# Fewer octets are copied sooner than the system is asked to send them.
SENT_FROM_FILE_MIN: Final = 65_536


class Delivery(FileOutput):
    """Octets `at` and behind of a chunk's entries are still to be sent; those before `stop` were given away."""

    __slots__ = ("_chunk", "_rest", "_segment", "_session", "_stream", "at", "awaited", "stop")

    def __init__(self, session: "StreamSession", stream: "Stream", chunk: "StoredEntries") -> None:
        self._session = session
        self._stream = stream
        self._chunk = chunk
        self._segment = stream.streams.shared_reads.segment(stream, chunk)
        self._rest: memoryview | None = None
        self.awaited = False
        self.at = self.stop = 0

    @property
    def is_given(self) -> bool:
        """Tell whether all of it was given away."""
        return self.stop >= self._chunk.octets

    def give(self, taken: int) -> "memoryview | Delivery":
        """Give away the next octets, if others have `taken` room of the slice; none: it says when there are more."""
        chunk, segment = self._chunk, self._segment
        if self._rest is not None:
            self.stop = self.at + len(self._rest)
            return self._without_file()
        if segment is None or self.awaited:
            self._ask()
            return memoryview(b"")
        if self._session.tls is None and chunk.octets >= SENT_FROM_FILE_MIN:
            self.stop = min(self.at + PART_OCTETS, chunk.octets)
            return self
        octets = self._stream.streams.shared_reads.slice(self._stream, segment, chunk, self.at)
        if octets is None:
            room = self._session.room(taken)[: chunk.octets - self.at]
            octets = room[: segment.read_now(chunk.position + self.at, room)]
        if not octets:
            self._ask()
        self.at = self.stop = self.at + len(octets)
        return octets

    # -- from the file -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.stop - self.at

    def send(self, socket: int) -> int:
        """Let a socket have what it takes of that; return how much. Raises OSError of the socket."""
        if self.awaited or self._segment is None:
            return 0
        sent = self._segment.send_now(self._chunk.position + self.at, self.stop - self.at, socket)
        if not sent:
            self._ask()
        self.at += sent
        return sent

    def read(self) -> memoryview | None:
        """Return the octets that were given away, if they had to be read."""
        return None if self._rest is None else self._without_file()

    # -- from the disk -------------------------------------------------------------------------------------------------

    def _without_file(self) -> memoryview:
        assert self._rest is not None
        octets, rest = self._rest[: len(self)], self._rest[len(self) :]
        self.at, self._rest = self.stop, rest or None
        return octets

    def _ask(self) -> None:
        if not self.awaited:
            self.awaited = True
            self._stream.files.read_rest(self._chunk, self.at, self._segment, self._was_read)

    def _was_read(self, found: "Rest | BaseException | None") -> None:
        session, stream = self._session, self._stream
        if session.state in ENDING and session.close_now:
            return
        if isinstance(found, BaseException):
            stream.reading_failed(found)
            if not stream.deleted:
                stream.look_again(self._ask_again)
                return
        elif found is not None:
            self.awaited = False
            self._rest, self._segment = memoryview(found.octets), found.segment
            stream.streams.shared_reads.keep_open(stream, found.segment)
            session.mark_dirty()
            return
        # Its head is on the way, so nothing else can follow. Others are to find the damage before they get so far.
        stream.streams.shared_reads.forget(stream)
        session.cut_off("a chunk cannot be read to its end")

    def _ask_again(self) -> None:
        self.awaited = False
        self._session.mark_dirty()
