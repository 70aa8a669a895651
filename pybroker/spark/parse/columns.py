"""The columns that Spark sees: which there are, which a query wants, and how they are made of raw messages.

A batch must have exactly the schema that Spark expects: names, order, types, nullability, time zone. So it is made by
Spark's own translation of the schema. Properties are read only where a wanted column needs them.
"""

from array import array
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VariantType,
)

from pybroker.spark.parse.arrays import integers, texts
from pybroker.spark.parse.headers import header_maps, header_variants
from pybroker.spark.parse.properties import FIELDS, TIMESTAMP_FLAG, read_properties, read_timestamps
from pybroker.spark.values import VARIANT, OptionError

PROPERTIES: Final = StructType(
    [
        StructField("content_type", StringType()),
        StructField("content_encoding", StringType()),
        StructField("delivery_mode", ByteType()),
        StructField("priority", ShortType()),  # an octet: TINYINT ends at 127
        StructField("correlation_id", StringType()),
        StructField("reply_to", StringType()),
        StructField("expiration", StringType()),
        StructField("message_id", StringType()),
        StructField("timestamp", TimestampType()),
        StructField("type", StringType()),
        StructField("user_id", StringType()),
        StructField("app_id", StringType()),
    ]
)


class MessageOptions(Protocol):
    """Which columns of a message's properties are wanted."""

    @property
    def include_headers(self) -> bool:
        """Tell whether there is a column of headers."""

    @property
    def include_properties(self) -> bool:
        """Tell whether there is one of the other properties."""

    @property
    def headers_format(self) -> str:
        """Return of which type the headers are: map or variant."""


class StreamFacts(NamedTuple):
    """The places of a batch's messages: stream, its number, offsets, and times in microseconds."""

    stream: str
    number: int
    offsets: "array[int]"
    times: "array[int]"


def full_schema(options: MessageOptions) -> StructType:
    """Return all columns that these options give of a queue."""
    fields = [
        StructField("value", BinaryType(), nullable=False),
        StructField("routing_key", StringType(), nullable=False),
        StructField("exchange", StringType(), nullable=False),
        StructField("queue", StringType(), nullable=False),
        StructField("partition", IntegerType(), nullable=False),
        StructField("offset", LongType()),  # a queue has none
        StructField("timestamp", TimestampType()),
        StructField("redelivered", BooleanType(), nullable=False),
    ]
    return _with_properties(fields, options)


def stream_schema(options: MessageOptions) -> StructType:
    """Return all columns that these options give of streams."""
    fields = [
        StructField("value", BinaryType(), nullable=False),
        StructField("routing_key", StringType(), nullable=False),
        StructField("exchange", StringType(), nullable=False),
        StructField("stream", StringType(), nullable=False),
        StructField("partition", IntegerType(), nullable=False),
        StructField("offset", LongType(), nullable=False),
        StructField("timestamp", TimestampType(), nullable=False),
    ]
    return _with_properties(fields, options)


def _with_properties(fields: list[StructField], options: MessageOptions) -> StructType:
    if options.include_properties:
        fields.append(StructField("properties", PROPERTIES))
    if options.include_headers:
        kind = VariantType() if options.headers_format == VARIANT else MapType(StringType(), StringType())
        fields.append(StructField("headers", kind))
    return StructType(fields)


def check_projection(wanted: StructType, full: StructType) -> StructType:
    """Return the wanted columns if the source has them all, in these types. Raises OptionError."""
    there = {field.name: field.dataType for field in full}
    for field in wanted:
        kind = there.get(field.name)
        if kind is None:
            hint = {"headers": " (set includeHeaders)", "properties": " (set includeProperties)"}.get(field.name, "")
            raise OptionError("schema", f"has the column {field.name}, the source only {', '.join(there)}{hint}")
        if kind.simpleString() != field.dataType.simpleString():
            text = f"has {field.name} as {field.dataType.simpleString()}, it is {kind.simpleString()}"
            raise OptionError("schema", text)
    return wanted


class Assembler:
    """Raw batches -> batches of one schema. `source` is the name of the queue, in the column of that name."""

    def __init__(self, schema: StructType, options: MessageOptions, source: str) -> None:
        self._schema: pa.Schema = to_arrow_schema(schema, timezone="UTC")
        self._source = source
        self._variant = options.headers_format == VARIANT

    def assemble(self, raw: pa.RecordBatch) -> pa.RecordBatch:
        """Return the columns that are wanted, of the same rows."""
        arrays = [_MADE[field.name](self, raw, field.type) for field in self._schema]
        if not arrays:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(raw), pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _source_column(self, raw: pa.RecordBatch, _: pa.DataType) -> pa.Array:
        return pa.repeat(texts([self._source])[0], len(raw))

    def _partition(self, raw: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
        return pa.repeat(integers([0], kind)[0], len(raw))

    def _offset(self, raw: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
        return pa.nulls(len(raw), kind)

    def _timestamp(self, raw: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
        import pyarrow.compute as pc  # noqa: PLC0415 - nearly a tenth of a second, which only those who read need

        octets = raw.column("properties")
        # Mostly no message has one, which the flags say without a look at each.
        flags = pc.unique(pc.binary_slice(octets, 0, 2)).to_pylist()
        if not any(int.from_bytes(flag) & TIMESTAMP_FLAG for flag in flags):
            return pa.nulls(len(raw), kind)
        return pa.array(read_timestamps(octets.to_pylist()), pa.int64()).cast(kind)

    def _properties(self, raw: pa.RecordBatch, kind: pa.StructType) -> pa.Array:
        lists = read_properties(raw.column("properties").to_pylist())
        arrays = [_property_array(lists[name], kind.field(name).type) for name in FIELDS]
        return pa.StructArray.from_arrays(arrays, fields=list(kind))

    def _headers(self, raw: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
        octets = raw.column("properties").to_pylist()
        return pa.array(header_variants(octets) if self._variant else header_maps(octets), kind)


class StreamAssembler(Assembler):
    """The same of streams, which have offsets and times."""

    def __init__(self, schema: StructType, options: MessageOptions) -> None:
        super().__init__(schema, options, "")
        self._facts = StreamFacts("", 0, array("q"), array("q"))

    def assemble_stream(self, raw: pa.RecordBatch, facts: StreamFacts) -> pa.RecordBatch:
        """Return the columns that are wanted, of the same rows."""
        self._source, self._facts = facts.stream, facts
        return self.assemble(raw)

    def _partition(self, raw: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
        return pa.repeat(integers([self._facts.number], kind)[0], len(raw))

    def _offset(self, raw: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
        return pa.Array.from_buffers(kind, len(raw), [None, pa.py_buffer(self._facts.offsets)])

    def _timestamp(self, raw: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
        return pa.Array.from_buffers(kind, len(raw), [None, pa.py_buffer(self._facts.times)])


def _property_array(values: list[object], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)


def _as_it_came(name: str) -> Callable[[Assembler, pa.RecordBatch, pa.DataType], pa.Array]:
    return lambda _, raw, __: raw.column(name)


_MADE: Final[Mapping[str, Callable[[Assembler, pa.RecordBatch, pa.DataType], pa.Array]]] = {
    "value": _as_it_came("value"),
    "routing_key": _as_it_came("routing_key"),
    "exchange": _as_it_came("exchange"),
    "redelivered": _as_it_came("redelivered"),
    "queue": Assembler._source_column,
    "stream": Assembler._source_column,
    # By these a stream's messages differ.
    "partition": lambda self, raw, kind: self._partition(raw, kind),
    "offset": lambda self, raw, kind: self._offset(raw, kind),
    "timestamp": lambda self, raw, kind: self._timestamp(raw, kind),
    "properties": Assembler._properties,
    "headers": Assembler._headers,
}
