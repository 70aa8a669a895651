"""Conversion: entries of the stream protocol as contents of AMQP 0-9-1, and contents as entries, for who reads them.

A chunk may have 65,535 entries, and each of these as many messages: contents are made of a part of them at a time.
"""

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from pybroker.content_view import parts
from pybroker.core.routing.publish import names_of
from pybroker.core.stream.conversion.cache import Cache
from pybroker.core.stream.conversion.sub_batch import opened
from pybroker.entries_run import ENTRIES_MAX, ENTRIES_OCTETS_MAX, EntriesRun
from pybroker.run import PLAIN_ATTRIBUTES, Run
from pybroker.wire.amqp10.to_content import CHANNEL, contents_of
from pybroker.wire.amqp10.to_message import entries_of_contents
from pybroker.wire.stream.entries import SINGLE, Entry, cut, entries_of, split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.core.stream.facts import StreamFacts
    from pybroker.wire.amqp10.front import Origin

# Converted at a time, about a third of a millisecond's work; an entry of more octets comes alone.
PART_MESSAGES_MAX: Final = 256
PART_OCTETS_MAX: Final = 65_536
# Of what the sub-batches of a part become; one of more is a part.
OPENED_OCTETS_MAX: Final = 1_048_576
# Taken for each part of a chunk, to find it.
PLACE_OCTETS: Final = 80


class Part(NamedTuple):
    """Contents of messages up to the offset `stop`: `runs` ascend, and what is between them cannot be opened."""

    runs: list[Run]
    stop: int


class _Places(NamedTuple):
    """Parts of some data: their first offsets, and where they are in the data, with the end of both."""

    offsets: list[int]
    at: list[int]


class Conversion:
    """`warn` is called with the stream of a sub-batch that cannot be opened."""

    __slots__ = ("_cache", "_warn")

    def __init__(self, warn: "Callable[[StreamFacts], None]") -> None:
        self._cache = Cache()
        self._warn = warn

    # -- entries as contents -------------------------------------------------------------------------------------------

    def forget(self, stream: "StreamFacts") -> None:
        """Let all go that was made of a stream's messages: it is deleted."""
        self._cache.forget(stream.id)

    def contents(self, stream: "StreamFacts", run: EntriesRun, offset: int) -> Part:
        """Return the part of a chunk that has a message."""
        begin, stop, data = self._place(stream, "parts", run.first_seq, run.data, offset)
        if stop - begin > PART_MESSAGES_MAX:
            # A large sub-batch is a chunk of its own.
            batch = self._opened(stream, next(entries_of(data)), begin)
            if batch is None:
                return Part([], stop)
            begin, stop, data = self._place(stream, "parts of a sub-batch", begin, batch, offset)
        part = self._part(stream, run, data, begin, begin)
        while part.stop <= offset:
            part = self._part(stream, run, data, begin, part.stop)
        return part

    def _place(self, stream: "StreamFacts", kind: str, first: int, data: bytes, offset: int) -> tuple[int, int, bytes]:
        """Return the offset with which the part begins that has a message, the one behind it, and its entries."""
        key = kind, stream.id, first
        places: _Places | None = self._cache.get(key)
        if places is None:
            places = _places_of(data, first)
            self._cache.put(key, places, PLACE_OCTETS * len(places.at))
        number = bisect_right(places.offsets, offset) - 1
        begin, stop = places.offsets[number : number + 2]
        start, end = places.at[number : number + 2]
        return begin, stop, data[start:end]

    def _part(self, stream: "StreamFacts", run: EntriesRun, data: bytes, begin: int, first: int) -> Part:
        """Return contents from the offset `first` on, of entries that begin with `begin`, as many as one part has."""
        key = "contents", stream.id, first
        part: Part | None = self._cache.get(key)
        if part is None:
            groups, stop = self._groups(stream, data, begin, first)
            part = Part([each for offset, some in groups for each in runs_of(some, offset, stream.name, run)], stop)
            self._cache.put(key, part, sum([each.held_octets for each in part.runs]))
        return part

    def _groups(
        self, stream: "StreamFacts", data: bytes, begin: int, first: int
    ) -> tuple[list[tuple[int, list[bytes]]], int]:
        """Return messages that follow each other with the offset of their first one, and the offset behind them all."""
        found, end = split(data, 0)
        if end == len(data):
            return [(first, found[first - begin :])], begin + len(found)
        found = []
        groups = [(first, found)]
        stop = first
        octets = 0
        for entry in entries_of(data):
            if begin + entry.offset < first:
                continue
            if entry.codec == SINGLE:
                found.append(entry.data)
                stop += 1
                continue
            octets += entry.unpacked
            if octets > OPENED_OCTETS_MAX and stop > first:
                break
            batch = self._opened(stream, entry, stop)
            stop += entry.messages
            if batch is not None:
                found += split(batch, 0)[0]
            else:
                found = []
                groups.append((stop, found))
        return [group for group in groups if group[1]], stop

    def _opened(self, stream: "StreamFacts", batch: Entry, first: int) -> bytes | None:
        key = "sub-batch", stream.id, first
        data: bytes | None = self._cache.get(key)
        if data is None:
            data = opened(batch) or b""
            if not data:
                # Known from now on, so that nobody unpacks it again for nothing.
                self._cache.put(key, data, PLACE_OCTETS)
                self._warn(stream)
            elif batch.messages > PART_MESSAGES_MAX:
                self._cache.put(key, data, len(data))
        return data or None

    # -- contents as entries -------------------------------------------------------------------------------------------

    def chunks(self, stream: "StreamFacts", run: Run, timestamp_ms: int) -> list[EntriesRun]:
        """Return the contents of a chunk of that time as chunks of entries; mostly one, more where they grow."""
        key = "entries", stream.id, run.first_seq
        made: list[EntriesRun] | None = self._cache.get(key)
        if made is None:
            made = list(chunks_of(run, timestamp_ms))
            self._cache.put(key, made, sum([each.octets for each in made]))
        return made


def _places_of(data: bytes, first: int) -> _Places:
    """Cut data into parts that have a number of messages at most, or one entry."""
    offsets, at = [first], [0]
    while at[-1] < len(data):
        stop, entries, messages = cut(data, at[-1], PART_MESSAGES_MAX, PART_OCTETS_MAX)
        while messages > PART_MESSAGES_MAX and entries > 1:
            # Sub-batches have more messages than entries.
            stop, entries, messages = cut(data, at[-1], entries // 2, PART_OCTETS_MAX)
        at.append(stop)
        offsets.append(offsets[-1] + messages)
    return _Places(offsets, at)


def runs_of(messages: list[bytes], first: int, name: str, source: EntriesRun) -> "Iterator[Run]":
    """Yield runs of messages as contents, one for each change of the names they were published with.

    Clients of the stream protocol give none: their messages were published to the queue of that `name`.
    """
    converted = contents_of(messages)
    begin, count = 0, len(converted)
    while begin < count:
        origin = converted[begin][0]
        end = begin + 1
        while end < count and (converted[end][0] is origin or converted[end][0] == origin):
            end += 1
        contents = [content for _, content, _ in converted[begin:end]]
        sizes = [size for _, _, size in converted[begin:end]]
        yield _run_of(origin, contents, sizes, first + begin, name, source)
        begin = end


def _run_of(
    origin: "Origin", contents: list[bytes], sizes: list[int], first: int, name: str, source: EntriesRun
) -> Run:
    octets = sum(map(len, contents))
    same = sizes[0] if sizes.count(sizes[0]) == len(sizes) else -1
    names = names_of(origin.exchange or "", name if origin.routing_key is None else origin.routing_key)
    # No frame is longer than a content.
    longest = max(map(len, contents))
    arrived_ms = source.arrived_ms
    return Run(names, PLAIN_ATTRIBUTES, first, contents, octets, sum(sizes), same, arrived_ms, CHANNEL, longest)


def chunks_of(run: Run, timestamp_ms: int) -> "Iterator[EntriesRun]":
    """Yield contents as chunks of entries, each as large as one may be."""
    names = run.names
    made = entries_of_contents(parts(run.contents_at(range(run.count))), names.exchange, names.routing_key)
    begin, octets = 0, 0
    for index, entry in enumerate(made):
        if index > begin and (octets + len(entry) > ENTRIES_OCTETS_MAX or index - begin >= ENTRIES_MAX):
            yield _chunk(made[begin:index], run.first_seq + begin, timestamp_ms)
            begin, octets = index, 0
        octets += len(entry)
    yield _chunk(made[begin:], run.first_seq + begin, timestamp_ms)


def _chunk(entries: list[bytes], first: int, timestamp_ms: int) -> EntriesRun:
    data = b"".join(entries)
    return EntriesRun.of_chunk(first, data, len(entries), len(entries), timestamp_ms, crc32(data))
