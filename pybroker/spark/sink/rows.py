"""Rows -> messages: which columns a sink knows, and what becomes of them.

value         required, string or binary      routing_key, exchange   strings; the options of that name win
headers       map or struct or variant        properties              struct of AMQP's properties, as the source has
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql.types import BinaryType, DataType, MapType, StringType, StructType, VariantType, VariantVal

from pybroker.client import Properties
from pybroker.spark.options import SinkOptions
from pybroker.spark.parse.properties import FIELDS
from pybroker.spark.values import OptionError
from pybroker.wire.table import Table

COLUMNS: Final = ("value", "routing_key", "exchange", "headers", "properties")
_TEXTS: Final = (StringType, BinaryType)
_NO_PROPERTIES: Final[dict[str, Any]] = {}


class RowError(ValueError):
    """A row that no message can be made of."""


class Row(NamedTuple):
    """One message to publish."""

    exchange: str
    routing_key: str
    body: bytes
    properties: Properties


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
    if "headers" in types:
        _check_type("headers", types["headers"], MapType, StructType, VariantType)
    if "properties" in types:
        kind = types["properties"]
        _check_type("properties", kind, StructType)
        assert isinstance(kind, StructType)
        strange = [name for name in kind.names if name not in FIELDS]
        if strange:
            raise OptionError("schema", f"has properties.{strange[0]}, AMQP only {', '.join(FIELDS)}")


def messages(batch: pa.RecordBatch, options: SinkOptions) -> Iterator[Row]:
    """Yield the messages of a batch, in order. Raises RowError."""
    columns = {name: batch.column(name).to_pylist() for name in batch.schema.names if name in COLUMNS}
    empty: list[None] = [None] * len(batch)
    exchanges = [options.exchange] * len(batch) if options.exchange is not None else columns["exchange"]
    keys = columns.get("routing_key", empty) if options.routing_key is None else [options.routing_key] * len(batch)
    headers = columns.get("headers", empty)
    is_variant = "headers" in columns and _is_variant(batch.schema.field("headers").type)
    all_properties = columns.get("properties", empty)
    for value, exchange, key, table, given in zip(
        columns["value"], exchanges, keys, headers, all_properties, strict=True
    ):
        if value is None:
            raise RowError("a row has no value (NULL)")
        if exchange is None:
            raise RowError("a row has no exchange: set the option or the column exchange")
        properties = Properties(**_plain(given or _NO_PROPERTIES))
        if properties.delivery_mode is None:
            properties.delivery_mode = options.delivery_mode
        if table is not None:
            properties.headers = _table(table, is_variant)
        yield Row(exchange, key or "", value.encode() if isinstance(value, str) else value, properties)


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
