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
    """One column: its Spark type and its meaning, which pybroker-pipeline(7) has word for word."""

    name: str
    type: str
    help: str


class Table(NamedTuple):
    """`identity` tells rows apart, and is their order within a file. There is one row for each `grain`."""

    name: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    days_kept: int

    @property
    def identity(self) -> tuple[str, ...]:
        """Return the key and the time, and the order where rows have one: where a clock was set back, times repeat."""
        return (*self.key, "ts", *(column.name for column in self.columns if column.name == "seq"))

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
    Column("ts", "TIMESTAMP", "time, in UTC"),
    Column("node", "STRING", "name of the node"),
    Column("epoch", "BIGINT", "start of the node, in seconds since 1970; totals begin at 0 with each start"),
    Column("seq", "BIGINT", "order of the rows of one start, also where somebody set the clock; empty in old rows"),
)
_FIRST: Final = Column("first", "BOOLEAN", "true in the first row of an entity: its totals count from its creation")


def _columns(*described: tuple[str, str, str]) -> tuple[Column, ...]:
    return (*_HEAD, *(Column(*each) for each in described))


def _figures(metrics: "Mapping[str, Metric]", *names: str) -> tuple[tuple[str, str, str], ...]:
    """Return columns that are metrics of the node: whole numbers, under their names in the telemetry's rows."""
    known = sampled(metrics)
    return tuple((name, "BIGINT", known[name].help) for name in names)


_TARGETS: Final = (
    ("head_age_target_ms", "BIGINT", "target of its policy for head_age_ms; empty without one"),
    ("time_to_consume_target_ms", "BIGINT", "target of its policy for the time to consume, in ms; empty without one"),
)
QUEUE_SAMPLE: Final = Table(
    "queue_sample",
    "queue and interval in which it changed, and for every queue at least every five minutes",
    ("node", "epoch", "vhost", "queue", "queue_id"),
    (
        *_columns(
            ("vhost", "STRING", "virtual host"),
            ("queue", "STRING", "name of the queue"),
            ("queue_id", "BIGINT", "distinguishes a queue from deleted queues of the same name"),
            ("type", "STRING", "queue type"),
            ("durable", "BOOLEAN", "whether the queue survives a restart"),
            *_figures(QUEUE, "ready", "unacked", "consumers", "publish_total", "deliver_total", "ack_total"),
            *_figures(QUEUE, "redeliver_total", "expired_total", "dropped_total", "rejected_total", "requeue_total"),
            *_figures(QUEUE, "delivery_limit_total", "dead_letter_total", "refused_total", "purged_total"),
            *_figures(QUEUE, "consumers_full", "bytes", "ready_bytes", "mem", "paged_out"),
            *_figures(QUEUE, "head_age_ms", "unacknowledged_age_ms"),
            ("length_max", "BIGINT", "length limit in messages; empty without a limit"),
            ("octets_max", "BIGINT", "length limit in octets of message bodies; empty without a limit"),
            *_TARGETS,
            ("state", "STRING", "state of the queue; deleted in its last row"),
            ("deleted_ms", "BIGINT", "time at which it was deleted, in ms since 1970; empty before"),
            ("discarded", "BIGINT", "messages that were deleted with it; empty before"),
            ("others", "BIGINT", "queues that this row sums up; empty in a row of a single queue"),
        ),
        _FIRST,
    ),
    SAMPLES_KEPT,
)
CONNECTION_SAMPLE: Final = Table(
    "connection_sample",
    "connection and interval in which it changed, and for every connection at least every five minutes",
    ("node", "epoch", "conn_id"),
    (
        *_columns(
            ("conn_id", "STRING", "id of the connection: the column pid of list_connections"),
            ("user", "STRING", "name of the user"),
            ("vhost", "STRING", "virtual host"),
            ("peer", "STRING", "address and port of the client"),
            ("client_name", "STRING", "name of the connection (connection_name of the client), else of its library"),
            ("connected_ms", "BIGINT", "time at which the client connected, in ms since 1970"),
            *_figures(CONNECTION, "channels", "recv_oct", "send_oct", "publish_total", "deliver_total", "ack_total"),
            (
                "state",
                "STRING",
                "one of running, blocked, blocking and flow; while it opens or closes, that stage; at last closed",
            ),
            *_figures(CONNECTION, "blocked_ms_total", "flow_ms_total", "flow_count"),
            ("last_blocked_by", "STRING", "last reason not to read from the client: resource (an alarm), flow or none"),
            ("last_blocked_cause", "STRING", "resources of that alarm, or cause of the flow control"),
            ("closed_ms", "BIGINT", "time at which it was closed, in ms since 1970; empty before"),
            ("others", "BIGINT", "connections that this row sums up; empty in a row of a single connection"),
        ),
        _FIRST,
    ),
    SAMPLES_KEPT,
)
NODE_SAMPLE: Final = Table(
    "node_sample",
    "interval",
    ("node", "epoch"),
    (
        *_columns(
            *_figures(NODE, "mem_used", "mem_rss", "mem_limit", "mem_total"),
            ("watermark", "DOUBLE", "memory limit as a fraction of mem_total; empty if the limit is absolute"),
            ("paging_ratio", "DOUBLE", "fraction of the memory limit above which messages are paged out"),
            *_figures(NODE, "disk_free", "disk_limit"),
            ("fds", "BIGINT", "open file descriptors"),
            ("loop_lag_ms", "BIGINT", "longest delay of the node's event loop, in ms"),
            *_figures(NODE, "connections", "queues", "publish_total", "confirm_total", "deliver_total", "ack_total"),
            *_figures(NODE, "returned_total", "unroutable_total"),
            ("up_ms", "BIGINT", "ms since the start, by a clock that nobody sets"),
            ("cpu_ms_total", "BIGINT", "processor time that the process has used, in ms"),
            ("interval_ms", "BIGINT", "time between two samples, in ms"),
            ("telemetry_dropped_total", "BIGINT", "telemetry rows that were not written"),
        ),
        _FIRST,
    ),
    SAMPLES_KEPT,
)
ALARM_EVENT: Final = Table(
    "alarm_event",
    "alarm that is set or cleared",
    ("node", "epoch", "resource", "alarm_node", "action"),
    _columns(
        ("resource", "STRING", "resource that is short: memory, disk or file_descriptor_limit"),
        ("alarm_node", "STRING", "node on which it is short"),
        ("action", "STRING", "either set or clear"),
        ("used", "BIGINT", "octets of memory in use, or, for disk, octets free"),
        ("limit", "BIGINT", "limit that used is compared with, in octets"),
        ("why", "STRING", "explanation, with figures"),
        ("set_ms", "BIGINT", "time at which it was set, in ms since 1970"),
    ),
    REST_KEPT,
)
BLOCK_EVENT: Final = Table(
    "block_event",
    "connection that alarms begin or cease to block",
    ("node", "epoch", "conn_id", "began_ms", "action"),
    _columns(
        ("conn_id", "STRING", "id of the connection"),
        ("user", "STRING", "name of the user"),
        ("vhost", "STRING", "virtual host"),
        ("client_name", "STRING", "name of the connection (connection_name of the client), else of its library"),
        ("reason", "STRING", "resource that is short: memory, disk, or memory & disk"),
        ("action", "STRING", "either begin or end"),
        ("began_ms", "BIGINT", "time at which the block began, in ms since 1970"),
        ("duration_ms", "BIGINT", "duration of the block, in ms; empty for begin"),
    ),
    REST_KEPT,
)
TRACE_EVENT: Final = Table(
    "trace_event",
    "interval, queue, exchange, routing key and reason for which messages were lost",
    ("node", "epoch", "kind", "reason", "vhost", "exchange", "routing_key", "queue", "returned"),
    _columns(
        ("kind", "STRING", "one of unroutable, dead_letter, expired, rejected, maxlen and delivery_limit"),
        ("reason", "STRING", "NO_ROUTE or NO_CONSUMERS for unroutable messages, else the reason for leaving the queue"),
        ("vhost", "STRING", "virtual host"),
        ("exchange", "STRING", "exchange that the messages were published to"),
        ("routing_key", "STRING", "routing key of the messages"),
        ("queue", "STRING", "queue that the messages left; empty if they reached none"),
        ("returned", "BOOLEAN", "whether the messages were returned to their publisher"),
        ("has_ae", "BOOLEAN", "whether the exchange has an alternate exchange"),
        ("count", "BIGINT", "number of messages"),
        ("size", "BIGINT", "octets of their bodies; of unroutable messages also of properties and framing"),
        (
            "others",
            "BOOLEAN",
            "whether exchanges and routing keys are not told apart, because there were more than 1000 in the interval",
        ),
    ),
    REST_KEPT,
)
GAP: Final = Table(
    "gap",
    "span of time of which a table has no rows, when it begins and again when it ends",
    ("node", "epoch", "table", "from_ms", "why"),
    _columns(
        ("table", "STRING", "name of the table; empty if the clock was set"),
        ("from_ms", "BIGINT", "begin of the span, in ms since 1970"),
        ("to_ms", "BIGINT", "end of the span, in ms since 1970; empty while it lasts"),
        ("why", "STRING", "one of disk, failed, overflow, clock_forward and clock_back"),
        ("rows", "BIGINT", "rows that were lost; empty if none were made"),
    ),
    REST_KEPT,
)
RAW: Final = {
    table.name: table
    for table in (QUEUE_SAMPLE, CONNECTION_SAMPLE, NODE_SAMPLE, ALARM_EVENT, BLOCK_EVENT, TRACE_EVENT, GAP)
}


def _minute(*described: tuple[str, str, str]) -> tuple[Column, ...]:
    head = (Column("ts", "TIMESTAMP", "start of the minute or hour, in UTC"), _HEAD[1])
    return (*head, *(Column(*each) for each in described))


_QUEUE_COLUMNS: Final = _minute(
    ("vhost", "STRING", "virtual host"),
    ("queue", "STRING", "name of the queue"),
    ("publish", "BIGINT", "messages published to the queue"),
    ("deliver", "BIGINT", "messages delivered"),
    ("ack", "BIGINT", "messages acknowledged, or delivered without acknowledgement"),
    ("redeliver", "BIGINT", "messages delivered again"),
    ("expired", "BIGINT", "messages that expired"),
    ("dropped", "BIGINT", "messages dropped by a length limit"),
    ("rejected", "BIGINT", "messages rejected by consumers, not requeued"),
    ("delivery_limited", "BIGINT", "messages that exceeded the delivery limit"),
    ("requeued", "BIGINT", "messages requeued"),
    ("refused", "BIGINT", "messages refused because of a length limit"),
    ("purged", "BIGINT", "messages purged"),
    ("ready_max", "BIGINT", "highest number of ready messages"),
    ("ready_last", "BIGINT", "ready messages in the last sample"),
    ("unacked_max", "BIGINT", "highest number of unacknowledged messages"),
    ("unacked_last", "BIGINT", "unacknowledged messages in the last sample"),
    ("consumers_min", "BIGINT", "lowest number of consumers"),
    ("consumers_last", "BIGINT", "consumers in the last sample"),
    ("bytes_first", "BIGINT", "octets of message bodies in the first sample"),
    ("bytes_last", "BIGINT", "octets of message bodies in the last sample"),
    ("paged_out_max", "BIGINT", "highest number of messages whose contents are on disk only"),
    ("length_max", "BIGINT", "length limit in messages; empty without a limit"),
    ("octets_max", "BIGINT", "length limit in octets of message bodies; empty without a limit"),
    ("consumers_full_min", "BIGINT", "lowest number of consumers on a full prefetch"),
    ("head_age_ms_max", "BIGINT", "highest age of the oldest ready message, in ms"),
    ("unacknowledged_age_ms_last", "BIGINT", "age of the oldest unacknowledged delivery in the last sample, in ms"),
    *_TARGETS,
    ("discarded", "BIGINT", "messages that the queue had when it was deleted"),
    ("deleted", "BOOLEAN", "whether the queue was deleted by then"),
    ("last_ts", "TIMESTAMP", "time of the last sample"),
    ("last_epoch", "BIGINT", "its epoch"),
    ("last_seq", "BIGINT", "its seq: where a clock was set back, the last by these, not by time"),
    ("samples", "BIGINT", "number of samples"),
)
QUEUE_1M: Final = Table("queue_1m", "queue and minute", ("node", "vhost", "queue"), _QUEUE_COLUMNS, REST_KEPT)
QUEUE_1H: Final = Table("queue_1h", "queue and hour", ("node", "vhost", "queue"), _QUEUE_COLUMNS, REST_KEPT)
CONNECTION_1M: Final = Table(
    "connection_1m",
    "connection and minute",
    ("node", "conn_id"),
    _minute(
        ("conn_id", "STRING", "id of the connection"),
        ("user", "STRING", "name of the user"),
        ("vhost", "STRING", "virtual host"),
        ("client_name", "STRING", "name of the connection (connection_name of the client), else of its library"),
        ("connected_ms", "BIGINT", "time at which the client connected, in ms since 1970"),
        ("last_ts", "TIMESTAMP", "time of the last sample"),
        ("recv_oct", "BIGINT", "octets received"),
        ("send_oct", "BIGINT", "octets sent"),
        ("blocked_ms", "BIGINT", "time blocked by alarms, in ms"),
        ("flow_ms", "BIGINT", "time in flow control, in ms"),
        ("flow_cause", "STRING", "last cause of flow control"),
        ("publish", "BIGINT", "messages published"),
        ("deliver", "BIGINT", "messages delivered"),
        ("samples", "BIGINT", "number of samples"),
    ),
    REST_KEPT,
)
NODE_1M: Final = Table(
    "node_1m",
    "node and minute",
    ("node",),
    _minute(
        ("mem_used_max", "BIGINT", "highest memory use, in octets"),
        ("mem_limit", "BIGINT", "memory limit in the last sample, in octets"),
        ("mem_total", "BIGINT", "octets of memory available to the node"),
        ("watermark", "DOUBLE", "memory limit as a fraction of mem_total; empty if the limit is absolute"),
        ("paging_ratio", "DOUBLE", "fraction of the memory limit above which messages are paged out"),
        ("disk_free_min", "BIGINT", "lowest free disk space, in octets"),
        ("disk_limit", "BIGINT", "free disk space limit in the last sample, in octets"),
        ("fds_max", "BIGINT", "highest number of open file descriptors"),
        ("loop_lag_ms_max", "BIGINT", "longest delay of the node's event loop, in ms"),
        ("connections_max", "BIGINT", "highest number of open connections"),
        ("publish", "BIGINT", "messages published"),
        ("returned", "BIGINT", "messages returned to their publisher"),
        ("unroutable", "BIGINT", "messages dropped because they reached no queue"),
        ("cpu_ms", "BIGINT", "processor time that the node used, in ms"),
        ("samples", "BIGINT", "number of samples"),
    ),
    REST_KEPT,
)
ROLLED_UP: Final = {table.name: table for table in (QUEUE_1M, QUEUE_1H, CONNECTION_1M, NODE_1M)}
TABLES: Final = {**RAW, **ROLLED_UP}
