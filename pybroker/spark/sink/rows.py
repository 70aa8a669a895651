"""Rows -> messages: which columns a sink knows, and what becomes of them.

value         required, string or binary      routing_key, exchange   strings; the options of that name win
headers       map or struct or variant        properties              struct of AMQP's properties, as the source has
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql.types import (
    BinaryType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
    VariantVal,
)

from pybroker.client import Properties
from pybroker.spark.options import SinkOptions
from pybroker.spark.parse.columns import PROPERTIES
from pybroker.spark.parse.properties import FIELDS
from pybroker.spark.values import OptionError
from pybroker.wire.properties import encode_properties
from pybroker.wire.table import Table

COLUMNS: Final = ("value", "routing_key", "exchange", "headers", "properties")
_TEXTS: Final = (StringType, BinaryType)
_NO_PROPERTIES: Final[dict[str, Any]] = {}
_ID_OCTETS_MAX: Final = 255


class RowError(ValueError):
    """A row that no message can be made of."""


class Row(NamedTuple):
    """One message to publish; its properties are octets."""

    exchange: str
    routing_key: str
    properties: bytes
    body: bytes


def sink_schema(options: SinkOptions) -> StructType:
    """Return all columns of a sink that the options leave open: those of a table for INSERT."""
    fields = [StructField("value", StringType())]
    if options.routing_key is None:
        fields.append(StructField("routing_key", StringType()))
    if options.exchange is None:
        fields.append(StructField("exchange", StringType()))
    fields.append(StructField("headers", MapType(StringType(), StringType())))
    fields.append(StructField("properties", PROPERTIES))
    return StructType(fields)


def check_columns(schema: StructType, options: SinkOptions) -> None:
    """Refuse what a sink cannot publish. Raises OptionError."""
    types = {field.name: field.dataType for field in schema}
    unknown = [name for name in types if name not in COLUMNS]
    if unknown and not options.ignore_unknown_columns:
        text = f"false, and the sink knows no column {unknown[0]}: it has {', '.join(COLUMNS)}"
        raise OptionError("ignoreUnknownColumns", f"is {text}")
    if "value" not in types:
        raise OptionError("schema", f"lacks the column value, it has {', '.join(types) or 'none'}")
    _check_type("value", types["value"], *_TEXTS)
    for name, option in (("exchange", options.exchange), ("routing_key", options.routing_key)):
        if name in types:
            _check_type(name, types[name], StringType)
        elif option is None and name == "exchange":
            raise OptionError("exchange", "or a column exchange is needed; '' is the default exchange")
        elif option is None and options.super_stream:
            raise OptionError("superStream", "needs a column routing_key, or routingKey: it chooses the partition")
    if "headers" in types:
        _check_type("headers", types["headers"], MapType, StructType, VariantType)
    if "properties" in types:
        kind = types["properties"]
        _check_type("properties", kind, StructType)
        assert isinstance(kind, StructType)
        strange = [name for name in kind.names if name not in FIELDS]
        if strange:
            raise OptionError("schema", f"has properties.{strange[0]}, AMQP only {', '.join(FIELDS)}")


def messages(batch: pa.RecordBatch, options: SinkOptions, prefix: str, number: int) -> Iterator[Row]:
    """Yield the messages of a batch, in order; one without an id gets the prefix and its number, from `number` on.

    Raises RowError; ValueError for a property that is too long.
    """
    columns = {name: _values(batch.column(name), name) for name in batch.schema.names if name in COLUMNS}
    empty: list[None] = [None] * len(batch)
    exchanges = [options.exchange] * len(batch) if options.exchange is not None else columns["exchange"]
    keys = columns.get("routing_key", empty) if options.routing_key is None else [options.routing_key] * len(batch)
    if "headers" in columns or "properties" in columns:
        all_properties = _properties(batch, columns, options, prefix, number)
    else:
        all_properties = _ids(len(batch), options, prefix.encode(), number)
    for value, exchange, key, properties in zip(columns["value"], exchanges, keys, all_properties, strict=True):
        if value is None:
            raise RowError("a row has no value (NULL)")
        if exchange is None:
            raise RowError("a row has no exchange: set the option or the column exchange")
        yield Row(exchange, key or "", properties, value)


def _values(column: pa.Array, name: str) -> list[Any]:
    """Return a column's values; a message's body as octets."""
    is_text = name == "value" and pa.types.is_string(column.type)
    values: list[Any] = (column.view(pa.binary()) if is_text else column).to_pylist()
    return values


def _ids(rows: int, options: SinkOptions, prefix: bytes, number: int) -> Iterator[bytes]:
    """Yield property octets that differ in nothing but the message id: by far the most."""
    head = encode_properties(Properties(delivery_mode=options.delivery_mode, message_id=""))[:-1]
    for each in range(number, number + rows):
        id_ = b"%b%d" % (prefix, each)
        if len(id_) > _ID_OCTETS_MAX:
            raise ValueError(f"a message id has {_ID_OCTETS_MAX} octets at most: messageIdPrefix is too long")
        yield b"%b%c%b" % (head, len(id_), id_)


def _properties(
    batch: pa.RecordBatch, columns: dict[str, list[Any]], options: SinkOptions, prefix: str, number: int
) -> Iterator[bytes]:
    """Yield property octets of rows that have columns for them."""
    empty: list[None] = [None] * len(batch)
    headers = columns.get("headers", empty)
    is_variant = "headers" in columns and _is_variant(batch.schema.field("headers").type)
    for each, table, given in zip(count(number), headers, columns.get("properties", empty), strict=False):
        properties = Properties(**_plain(given or _NO_PROPERTIES))
        if properties.delivery_mode is None:
            properties.delivery_mode = options.delivery_mode
        if table is not None:
            properties.headers = _table(table, is_variant)
        if properties.message_id is None:
            properties.message_id = f"{prefix}{each}"
        yield encode_properties(properties)


def _check_type(name: str, kind: DataType, *allowed: type[DataType]) -> None:
    if not isinstance(kind, allowed):
        names = " or ".join(each.typeName() for each in allowed)
        raise OptionError("schema", f"has {name} as {kind.simpleString()}, a sink takes {names}")


def _plain(given: dict[str, Any]) -> dict[str, Any]:
    """Return properties as the client wants them: a timestamp in seconds, numbers as ints."""
    moment = given.get("timestamp")
    if isinstance(moment, datetime):
        return given | {"timestamp": int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp())}
    return given


def _is_variant(kind: pa.DataType) -> bool:
    """Tell whether it is Spark's variant: a struct whose metadata says so."""
    if not pa.types.is_struct(kind) or {kind.field(i).name for i in range(kind.num_fields)} != {"value", "metadata"}:
        return False
    return (kind.field("metadata").metadata or {}).get(b"variant") == b"true"


def _table(value: Any, is_variant: bool) -> Table:
    """Return headers of a map (its pairs, or a dict), a struct, or a variant. Raises RowError."""
    if is_variant:
        value = VariantVal(value["value"], value["metadata"]).toPython()
    elif isinstance(value, list):
        value = dict(value)
    if not isinstance(value, dict):
        raise RowError(f"headers are {value!r:.60}, not an object")
    return Table({name: _field(item) for name, item in value.items()})


def _field(value: Any) -> Any:
    """Return a value as a field table takes it: pairs are a map's."""
    if isinstance(value, dict):
        return {name: _field(item) for name, item in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
            return {str(name): _field(item) for name, item in value}
        return [_field(item) for item in value]
    return value
