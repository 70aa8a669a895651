"""Chunks as a broker delivers them: consecutive messages of a stream, with the offset of the first one and a time."""

from collections.abc import Callable, Iterator
from itertools import groupby
from struct import Struct
from typing import Final, NamedTuple
from zlib import crc32

from pybroker.client.errors import ConnectionLost
from pybroker.entries_run import HEAD, HEAD_MAGIC
from pybroker.spark.stream.sub_batch import CannotOpenError, opened
from pybroker.wire.stream.codes import VERSION_2
from pybroker.wire.stream.entries import SINGLE, entries_of, split

_committed: Final = Struct(">Q").unpack_from
_ID_OCTETS: Final = 1
_COMMITTED_OCTETS: Final = 8


class Part(NamedTuple):
    """Messages of a chunk, the first of which has this offset; together they have about so many octets."""

    first: int
    messages: list[bytes]
    octets: int


class Chunk(NamedTuple):
    """`records` messages from offset `first` on; `data` are their entries (`wire/stream/entries`).

    Without entries it stands for messages that a filter passed over, in a subscription that is to be told of these.
    The time is the broker's wall time of the whole chunk. A chunk that a reader begins with may begin before the offset
    that the reader asked for.
    """

    first: int
    records: int
    timestamp_ms: int
    entries: int
    data: bytes

    @property
    def next(self) -> int:
        """Return the offset behind it."""
        return self.first + self.records

    def messages(self) -> list[bytes]:
        """Return the messages as their publishers encoded them, sub-batches opened. Raises CannotOpenError."""
        return [message for part in self.parts() for message in part.messages]

    def parts(self, refused: Callable[[CannotOpenError], None] | None = None) -> Iterator[Part]:
        """Yield the messages a sub-batch at a time: so many octets are made of one alone, however well it is packed.

        One that cannot be opened is left out, and `refused` gets the error. Raises CannotOpenError without it.
        """
        if self.records == self.entries:
            found, end = split(self.data, 0)
            if end == len(self.data):
                yield Part(self.first, found, end)
                return
        for is_single, entries in groupby(entries_of(self.data), lambda entry: entry.codec == SINGLE):
            if is_single:
                singles = list(entries)
                messages = [entry.data for entry in singles]
                yield Part(self.first + singles[0].offset, messages, sum(map(len, messages)))
                continue
            for entry in entries:
                offset = self.first + entry.offset
                try:
                    data = opened(entry, offset)
                except CannotOpenError as error:
                    if refused is None:
                        raise
                    refused(error)
                else:
                    yield Part(offset, split(data, 0)[0], len(data))


def read_deliver(buffer: bytes, version: int, start: int, stop: int) -> tuple[int, Chunk]:
    """Return the subscription id of a Deliver, and its chunk. Raises ConnectionLost for octets that are damaged."""
    at = start + _ID_OCTETS + (_COMMITTED_OCTETS if version == VERSION_2 else 0)
    if at + HEAD.size > stop:
        raise ConnectionLost("the broker delivered a chunk that is cut off")
    magic, kind, entries, records, timestamp_ms, _, first, crc, octets, _, _ = HEAD.unpack_from(buffer, at)
    at += HEAD.size
    data = buffer[at : at + octets]
    if magic != HEAD_MAGIC or kind or len(data) != octets or at + octets > stop or crc32(data) != crc:
        raise ConnectionLost(f"the broker delivered a chunk that is damaged, at offset {first}")
    return buffer[start], Chunk(first, records, timestamp_ms, entries, data)
