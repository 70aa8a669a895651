"""Messages as they came, in Arrow: the form of the spool, and the source of the columns that Spark sees.

It is the same whatever columns a query wants: a query that is restarted with other options finds its spool readable.
"""

from typing import Final, NamedTuple

import pyarrow as pa

from pybroker.spark.parse.arrays import flags, integers, octets, texts
from pybroker.spark.route import Route

SCHEMA: Final = pa.schema(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("routing_key", pa.string(), nullable=False),
        pa.field("exchange", pa.string(), nullable=False),
        pa.field("redelivered", pa.bool_(), nullable=False),
        pa.field("properties", pa.binary(), nullable=False),  # the octets of the content header, as they came
    ]
)
# A batch is handed on when it has so many messages, or octets.
BATCH_ROWS: Final = 10_000
BATCH_OCTETS: Final = 16 << 20


class Columns(NamedTuple):
    """Messages, column by column; `routes` are indexes of `table`."""

    bodies: list[bytes]
    properties: list[bytes]
    routes: list[int]
    table: list[Route]


def raw_batch(columns: Columns) -> pa.RecordBatch:
    """Return the messages of the parser's lists."""
    table = columns.table
    if len(table) > len(columns.routes):
        # as many routes as messages: through a table nothing would be won
        arrays = route_columns([table[index] for index in columns.routes])
    else:
        arrays = take_routes(table, integers(columns.routes, pa.int32()))
    value, properties = octets(columns.bodies), octets(columns.properties)
    return pa.RecordBatch.from_arrays([value, *arrays, properties], schema=SCHEMA)


def take_routes(table: list[Route], indexes: pa.Array) -> list[pa.Array]:
    """Return the columns of routes, each of which is one of the table, which is not empty."""
    columns = route_columns(table)
    if len(table) == 1:
        # mostly so, and spares the import of pyarrow.compute
        return [pa.repeat(column[0], len(indexes)) for column in columns]
    return [column.take(indexes) for column in columns]


def route_columns(routes: list[Route]) -> list[pa.Array]:
    """Return routing keys, exchanges and redelivered."""
    return [
        texts([route.routing_key for route in routes]),
        texts([route.exchange for route in routes]),
        flags([route.redelivered for route in routes]),
    ]


def join_batches(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of all batches, of which there is one at least, as one."""
    if len(batches) == 1:
        return batches[0]
    arrays = [pa.concat_arrays([batch.column(name) for batch in batches]) for name in SCHEMA.names]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
