"""Rows: messages of chunks, gathered until there are enough for a batch of Arrow's."""

from array import array
from operator import sub
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from pybroker.spark.parse.columns import StreamAssembler, StreamFacts
from pybroker.spark.parse.raw import BATCH_OCTETS, BATCH_ROWS, SCHEMA
from pybroker.wire.amqp10.to_content import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.types import StructType

    from pybroker.spark.stream.chunk import Chunk
    from pybroker.spark.stream_source.options import StreamOptions
    from pybroker.spark.stream_source.ranges import Range
    from pybroker.wire.amqp10.front import Origin

_MICROSECONDS: Final = 1_000
_NEVER_REDELIVERED: Final = pa.scalar(False, pa.bool_())


class Rows:
    """Of one range: `add` gives what lies in it, `batches` what was added since."""

    def __init__(self, schema: "StructType", options: "StreamOptions", given: "Range") -> None:
        self._assembler = StreamAssembler(schema, options)
        self._range = given
        self._messages: list[bytes] = []
        self._offsets = array("q")
        self._times = array("q")
        self._octets = 0

    def add(self, chunk: "Chunk") -> None:
        """Take the messages of a chunk that are in the range. Raises CannotOpenError."""
        begin, stop = max(chunk.first, self._range.start), min(chunk.next, self._range.stop)
        if begin >= stop:
            return
        messages = chunk.messages()
        if stop - begin < len(messages):
            messages = messages[begin - chunk.first : stop - chunk.first]
        self._messages += messages
        self._offsets.extend(range(begin, stop))
        self._times.extend([chunk.timestamp_ms * _MICROSECONDS] * (stop - begin))
        self._octets += len(chunk.data)

    @property
    def is_full(self) -> bool:
        """Tell whether there is enough for a batch."""
        return len(self._messages) >= BATCH_ROWS or self._octets >= BATCH_OCTETS

    def batches(self) -> "Iterator[pa.RecordBatch]":
        """Yield what was added as a batch, if there is anything, and begin anew."""
        if not self._messages:
            return
        messages, self._messages, self._octets = self._messages, [], 0
        facts = StreamFacts(self._range.stream, self._range.number, self._offsets, self._times)
        self._offsets, self._times = array("q"), array("q")
        yield self._assembler.assemble_stream(_raw(messages, self._range.stream), facts)


def _raw(messages: list[bytes], stream: str) -> pa.RecordBatch:
    count = len(messages)
    bodies, fronts = parts_of(messages)
    known: dict[Origin, int] = {}
    properties: list[bytes] = []
    routes = array("i")
    begins = [begin for begin, _ in fronts]
    for (_, front), alike in zip(fronts, map(sub, [*begins[1:], count], begins), strict=True):
        number = known.setdefault(front.origin, len(known))
        properties += [front.properties] * alike
        routes.extend([number] * alike)
    # Clients of the stream protocol name none: theirs were published to the queue of this name.
    keys = pa.array([stream if origin.routing_key is None else origin.routing_key for origin in known], pa.string())
    exchanges = pa.array([origin.exchange or "" for origin in known], pa.string())
    if len(known) == 1:
        columns = [pa.repeat(keys[0], count), pa.repeat(exchanges[0], count)]
    else:
        indexes = pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(routes)])
        columns = [keys.take(indexes), exchanges.take(indexes)]
    values = [pa.array(bodies, pa.binary()), *columns, pa.repeat(_NEVER_REDELIVERED, count)]
    return pa.RecordBatch.from_arrays([*values, pa.array(properties, pa.binary())], schema=SCHEMA)
