"""Rows: messages of chunks, gathered until there are enough for a batch of Arrow's."""

from array import array
from itertools import chain, compress, repeat
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from pybroker.spark.parse.arrays import flags, octets, texts
from pybroker.spark.parse.columns import StreamAssembler, StreamFacts
from pybroker.spark.parse.raw import BATCH_OCTETS, BATCH_ROWS
from pybroker.spark.stream.contents import contents_of, each_front, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql.types import StructType

    from pybroker.spark.stream.chunk import Part
    from pybroker.spark.stream.contents import Group
    from pybroker.spark.stream_source.options import StreamOptions
    from pybroker.spark.stream_source.ranges import Range
    from pybroker.wire.amqp10.front import Origin

_MICROSECONDS: Final = 1_000
_ROUTE: Final = frozenset({"routing_key", "exchange"})
_NEVER_REDELIVERED: Final = flags([False])[0]


class Rows:
    """Of one range: `add` gives what lies in it, `batches` what was added since. `next` is the offset to go on with."""

    def __init__(self, schema: "StructType", options: "StreamOptions", given: "Range") -> None:
        self._assembler = StreamAssembler(schema, options)
        self._wanted = _needed(schema.names)
        self._filter = options.filter
        self._range = given
        self.next = given.start
        self._messages: list[bytes] = []
        self._offsets = array("q")
        self._times = array("q")
        self._octets = 0

    def add(self, part: "Part", timestamp_ms: int) -> None:
        """Take the messages of a part of a chunk that are in the range; the time is the chunk's."""
        messages = part.messages
        begin, stop = max(part.first, self.next), min(part.first + len(messages), self._range.stop)
        if begin >= stop:
            return
        if stop - begin < len(messages):
            messages = messages[begin - part.first : stop - part.first]
        self._messages += messages
        self._offsets.extend(range(begin, stop))
        self._times.extend([timestamp_ms * _MICROSECONDS] * (stop - begin))
        self._octets += part.octets
        self.next = stop

    @property
    def is_full(self) -> bool:
        """Tell whether there is enough for a batch."""
        return len(self._messages) >= BATCH_ROWS or self._octets >= BATCH_OCTETS

    def batches(self) -> "Iterator[pa.RecordBatch]":
        """Yield what was added as a batch, if there is anything that passes the filter, and begin anew.

        Raises UnknownFilterValueError.
        """
        if not self._messages:
            return
        messages, self._messages, self._octets = self._messages, [], 0
        offsets, times = self._offsets, self._times
        self._offsets, self._times = array("q"), array("q")
        bodies, groups = contents_of(messages)
        if self._filter is not None:
            passing = self._passing(groups, offsets)
            kept = list(chain.from_iterable(map(repeat, passing, [alike for _, alike in groups])))
            bodies = list(compress(bodies, kept))
            if not bodies:
                return
            groups = list(compress(groups, passing))
            offsets, times = array("q", compress(offsets, kept)), array("q", compress(times, kept))
        facts = StreamFacts(self._range.stream, self._range.number, offsets, times)
        yield self._assembler.assemble_stream(_raw(bodies, groups, self._range.stream, self._wanted), facts)

    def _passing(self, groups: "list[Group]", offsets: "array[int]") -> list[bool]:
        """Tell of which groups the messages pass. Raises UnknownFilterValueError."""
        assert self._filter is not None
        passing, at = [], 0
        for front, alike in groups:
            passing.append(self._filter.passes(front, self._range.stream, offsets[at]))
            at += alike
        return passing


def _needed(names: "Iterable[str]") -> frozenset[str]:
    """Return the columns of raw messages of which those of a query are made."""
    made_of_properties = {"properties", "headers"}
    return frozenset("properties" if name in made_of_properties else name for name in names)


def _raw(bodies: list[bytes], groups: "list[Group]", stream: str, wanted: frozenset[str]) -> pa.RecordBatch:
    """Return raw messages, without columns that nobody wants; one that costs little is always there."""
    count = len(bodies)
    columns = {"redelivered": pa.repeat(_NEVER_REDELIVERED, count)}
    if "value" in wanted:
        columns["value"] = octets(bodies)
    if not _ROUTE.isdisjoint(wanted):
        columns |= _route(groups, count, stream)
    if "properties" in wanted:
        columns["properties"] = octets([front.properties for front in each_front(groups)])
    return pa.RecordBatch.from_pydict(columns)


def _route(groups: "list[Group]", count: int, stream: str) -> dict[str, pa.Array]:
    known: dict[Origin, int] = {}
    routes = array("i")
    for front, alike in groups:
        routes.extend(repeat(known.setdefault(front.origin, len(known)), alike))
    keys = texts([key_of(origin, stream) for origin in known])
    exchanges = texts([origin.exchange or "" for origin in known])
    if len(known) == 1:
        return {"routing_key": pa.repeat(keys[0], count), "exchange": pa.repeat(exchanges[0], count)}
    indexes = pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(routes)])
    return {"routing_key": keys.take(indexes), "exchange": exchanges.take(indexes)}
