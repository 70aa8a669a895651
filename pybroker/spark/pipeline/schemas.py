"""The tables: columns with their types and meaning, keys, and for how long they are kept.

`RAW` are those that the daemon's lines become, one row a line; `ROLLED_UP` are made of these. Loads no pyspark, so that
callers that only want the schemas need not wait for it. Version 1 of the lines; a line of a later one is bad data.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.core.stats.metrics import CONNECTION, NODE, QUEUE, sampled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.types import StructType

    from pybroker.core.stats.metrics import Metric

VERSION: Final = 1
# In days; thirteen months, so that a month can be compared with that of the year before.
SAMPLES_KEPT: Final = 30
REST_KEPT: Final = 396


class Column(NamedTuple):
    """One column: its Spark type, what it means."""

    name: str
    type: str
    help: str


class Table(NamedTuple):
    """`key` and `ts` tell rows apart; within a date they are sorted by `key`."""

    name: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    days_kept: int

    def struct(self) -> "StructType":
        """Return it as Spark's type, with the partition column `date` at the end."""
        return _struct([(column.name, column.type) for column in (*self.columns, DATE)])


def _struct(columns: list[tuple[str, str]]) -> "StructType":
    from pyspark.sql import types  # noqa: PLC0415 - who only wants to know what there is does without

    # Not from DDL: that asks a session.
    spark_types = {
        "STRING": types.StringType(),
        "BIGINT": types.LongType(),
        "DOUBLE": types.DoubleType(),
        "BOOLEAN": types.BooleanType(),
        "TIMESTAMP": types.TimestampType(),
        "DATE": types.DateType(),
    }
    return types.StructType([types.StructField(name, spark_types[kind]) for name, kind in columns])


DATE: Final = Column("date", "DATE", "day, in UTC")
_HEAD: Final = (
    Column("ts", "TIMESTAMP", "when, in UTC"),
    Column("node", "STRING", "name of the node"),
    Column("epoch", "BIGINT", "which start of the node: totals begin at 0 with each"),
)
_FIRST: Final = Column("first", "BOOLEAN", "the first row of this thing: its totals are all since it came")


def _columns(*described: tuple[str, str, str]) -> tuple[Column, ...]:
    return (*_HEAD, *(Column(*each) for each in described))


def _figures(metrics: "Mapping[str, Metric]", *names: str) -> tuple[tuple[str, str, str], ...]:
    """Return columns that are metrics of the node: whole numbers, under their names in the telemetry's rows."""
    known = sampled(metrics)
    return tuple((name, "BIGINT", known[name].help) for name in names)


QUEUE_SAMPLE: Final = Table(
    "queue_sample",
    "a queue, each interval in which something happened to it, and every five minutes",
    ("node", "epoch", "vhost", "queue", "queue_id"),
    (
        *_columns(
            ("vhost", "STRING", "virtual host"),
            ("queue", "STRING", "name of the queue"),
            ("queue_id", "BIGINT", "tells apart queues of one name, of which the one was deleted"),
            ("type", "STRING", "type of the queue"),
            ("durable", "BOOLEAN", "whether it is there again after a restart"),
            *_figures(QUEUE, "ready", "unacked", "consumers", "publish_total", "deliver_total", "ack_total"),
            *_figures(QUEUE, "redeliver_total", "expired_total", "dropped_total", "bytes", "mem", "paged_out"),
            ("length_max", "BIGINT", "length limit in messages; empty without a limit"),
            ("octets_max", "BIGINT", "length limit in octets of bodies; empty without a limit"),
            ("state", "STRING", "state of the queue"),
        ),
        _FIRST,
    ),
    SAMPLES_KEPT,
)
CONNECTION_SAMPLE: Final = Table(
    "connection_sample",
    "a connection, each interval in which something happened to it, and every five minutes",
    ("node", "epoch", "conn_id"),
    (
        *_columns(
            ("conn_id", "STRING", "id of the connection, as list_connections has it as pid"),
            ("user", "STRING", "user"),
            ("vhost", "STRING", "virtual host"),
            ("peer", "STRING", "address and port of the client"),
            ("client_name", "STRING", "connection_name of the client, else its library"),
            ("connected_ms", "BIGINT", "when it connected, in milliseconds since 1970"),
            *_figures(CONNECTION, "channels", "recv_oct", "send_oct"),
            ("state", "STRING", "running, blocked, blocking or flow"),
            *_figures(CONNECTION, "blocked_ms_total", "flow_ms_total", "flow_count"),
            ("last_blocked_by", "STRING", "resource, flow or none"),
            ("last_blocked_cause", "STRING", "what that was"),
        ),
        _FIRST,
    ),
    SAMPLES_KEPT,
)
NODE_SAMPLE: Final = Table(
    "node_sample",
    "the node, each interval",
    ("node", "epoch"),
    (
        *_columns(
            *_figures(NODE, "mem_used", "mem_rss", "mem_limit", "mem_total"),
            ("watermark", "DOUBLE", "the memory limit as a part of what there is; empty if it is absolute"),
            ("paging_ratio", "DOUBLE", "part of the limit from which on messages are paged out"),
            *_figures(NODE, "disk_free", "disk_limit"),
            ("fds", "BIGINT", "open file descriptors"),
            ("loop_lag_ms", "BIGINT", "how late the node's loop was at worst"),
            *_figures(NODE, "connections", "queues", "publish_total", "returned_total", "unroutable_total"),
            ("telemetry_dropped_total", "BIGINT", "rows of the telemetry that were not written"),
        ),
        _FIRST,
    ),
    SAMPLES_KEPT,
)
ALARM_EVENT: Final = Table(
    "alarm_event",
    "an alarm that is set or cleared",
    ("node", "epoch", "resource", "alarm_node", "action"),
    _columns(
        ("resource", "STRING", "memory, disk or file_descriptor_limit"),
        ("alarm_node", "STRING", "node whose resource it is"),
        ("action", "STRING", "set or clear"),
        ("used", "BIGINT", "memory used, or disk space free, at that moment"),
        ("limit", "BIGINT", "what that is compared with"),
        ("why", "STRING", "the same in words"),
    ),
    REST_KEPT,
)
BLOCK_EVENT: Final = Table(
    "block_event",
    "a connection that an alarm begins or ceases to hold",
    ("node", "epoch", "conn_id", "began_ms", "action"),
    _columns(
        ("conn_id", "STRING", "id of the connection"),
        ("user", "STRING", "user"),
        ("vhost", "STRING", "virtual host"),
        ("client_name", "STRING", "connection_name of the client"),
        ("reason", "STRING", "resource: memory or disk: memory, disk, or memory & disk"),
        ("action", "STRING", "begin or end"),
        ("began_ms", "BIGINT", "when it began, in milliseconds since 1970"),
        ("duration_ms", "BIGINT", "how long it was held; empty for begin"),
    ),
    REST_KEPT,
)
TRACE_EVENT: Final = Table(
    "trace_event",
    "a way in which messages were lost in an interval; no more than 1000 ways are told apart",
    ("node", "epoch", "kind", "reason", "vhost", "exchange", "routing_key", "queue", "returned"),
    _columns(
        ("kind", "STRING", "unroutable, dead_letter, expired, rejected, maxlen or delivery_limit"),
        ("reason", "STRING", "why: NO_ROUTE, NO_CONSUMERS, or the reason of a dead letter"),
        ("vhost", "STRING", "virtual host"),
        ("exchange", "STRING", "exchange it was published to"),
        ("routing_key", "STRING", "routing key it was published with"),
        ("queue", "STRING", "queue it left; empty if it reached none"),
        ("returned", "BOOLEAN", "whether the publisher was told"),
        ("has_ae", "BOOLEAN", "whether the exchange has an alternate exchange"),
        ("count", "BIGINT", "messages"),
        ("size", "BIGINT", "octets of these"),
    ),
    REST_KEPT,
)
RAW: Final = {
    table.name: table for table in (QUEUE_SAMPLE, CONNECTION_SAMPLE, NODE_SAMPLE, ALARM_EVENT, BLOCK_EVENT, TRACE_EVENT)
}


def _minute(*described: tuple[str, str, str]) -> tuple[Column, ...]:
    head = (Column("ts", "TIMESTAMP", "begin of the minute or hour, in UTC"), _HEAD[1])
    return (*head, *(Column(*each) for each in described))


_QUEUE_COLUMNS: Final = _minute(
    ("vhost", "STRING", "virtual host"),
    ("queue", "STRING", "name of the queue"),
    ("publish", "BIGINT", "messages taken in"),
    ("deliver", "BIGINT", "messages handed out"),
    ("ack", "BIGINT", "messages done with"),
    ("redeliver", "BIGINT", "messages handed out again"),
    ("expired", "BIGINT", "messages that grew too old"),
    ("dropped", "BIGINT", "messages dropped because there were too many"),
    ("ready_max", "BIGINT", "most messages that waited"),
    ("ready_last", "BIGINT", "messages that waited at the end"),
    ("unacked_max", "BIGINT", "most messages not acknowledged"),
    ("consumers_min", "BIGINT", "fewest consumers"),
    ("consumers_last", "BIGINT", "consumers at the end"),
    ("bytes_first", "BIGINT", "octets of bodies at the begin"),
    ("bytes_last", "BIGINT", "octets of bodies at the end"),
    ("paged_out_max", "BIGINT", "most messages whose contents were on disk alone"),
    ("length_max", "BIGINT", "length limit in messages"),
    ("samples", "BIGINT", "rows this was made of"),
)
QUEUE_1M: Final = Table("queue_1m", "a queue and minute", ("node", "vhost", "queue"), _QUEUE_COLUMNS, REST_KEPT)
QUEUE_1H: Final = Table("queue_1h", "a queue and hour", ("node", "vhost", "queue"), _QUEUE_COLUMNS, REST_KEPT)
CONNECTION_1M: Final = Table(
    "connection_1m",
    "a connection and minute",
    ("node", "conn_id"),
    _minute(
        ("conn_id", "STRING", "id of the connection"),
        ("user", "STRING", "user"),
        ("vhost", "STRING", "virtual host"),
        ("client_name", "STRING", "connection_name of the client"),
        ("connected_ms", "BIGINT", "when it connected"),
        ("last_ts", "TIMESTAMP", "when it was seen last"),
        ("recv_oct", "BIGINT", "octets received"),
        ("send_oct", "BIGINT", "octets sent"),
        ("blocked_ms", "BIGINT", "milliseconds for which alarms held it"),
        ("flow_ms", "BIGINT", "milliseconds for which flow control held it"),
        ("flow_cause", "STRING", "last cause of flow control"),
        ("samples", "BIGINT", "rows this was made of"),
    ),
    REST_KEPT,
)
NODE_1M: Final = Table(
    "node_1m",
    "a node and minute",
    ("node",),
    _minute(
        ("mem_used_max", "BIGINT", "most memory used"),
        ("mem_limit", "BIGINT", "the memory limit at the end"),
        ("mem_total", "BIGINT", "memory there was"),
        ("watermark", "DOUBLE", "the limit as a part of that"),
        ("paging_ratio", "DOUBLE", "part of the limit from which on messages are paged out"),
        ("disk_free_min", "BIGINT", "least disk space free"),
        ("disk_limit", "BIGINT", "the free disk limit at the end"),
        ("fds_max", "BIGINT", "most open file descriptors"),
        ("loop_lag_ms_max", "BIGINT", "how late the node's loop was at worst"),
        ("connections_max", "BIGINT", "most connections"),
        ("publish", "BIGINT", "messages published"),
        ("returned", "BIGINT", "messages returned"),
        ("unroutable", "BIGINT", "messages dropped because no queue was bound"),
        ("samples", "BIGINT", "rows this was made of"),
    ),
    REST_KEPT,
)
ROLLED_UP: Final = {table.name: table for table in (QUEUE_1M, QUEUE_1H, CONNECTION_1M, NODE_1M)}
TABLES: Final = {**RAW, **ROLLED_UP}
