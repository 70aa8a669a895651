"""The families of metrics: RabbitMQ's names, so that dashboards and alerts made for it work, and our figure for each.

Helps and types are those of the table of metrics. Metrics that RabbitMQ lacks are in families of our own, with
their names. Summed up, a counter of objects needs a total of the node's: a sum over the objects that there are falls
with each that goes, and Prometheus would take that for a restart.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from pybroker.core.stats.metrics import (
    CHANNEL,
    CONNECTION,
    EXCHANGE,
    GLOBAL,
    NODE,
    QUEUE,
    STREAM,
    STREAM_OFFSET,
    Metric,
)

# The answer of node_figures.
Document = Mapping[str, Any]

RABBITMQ: Final = "rabbitmq_"
OURS: Final = "pybroker_"
STREAM_OFFSET_NOUN: Final = "stream_offset"
METRICS: Final[Mapping[str, Mapping[str, Metric]]] = {
    "queue": QUEUE,
    "stream": STREAM,
    STREAM_OFFSET_NOUN: STREAM_OFFSET,
    "exchange": EXCHANGE,
    "channel": CHANNEL,
    "connection": CONNECTION,
}
# Prometheus has base units alone: of each of our units the suffix, and what a figure is divided by.
UNITS: Final = {"ms": ("seconds", 1_000), "seconds": ("seconds", 1), "octets": ("bytes", 1)}


class NodeSeries(NamedTuple):
    """A figure of the node, and how to read it off the document; None: it is unknown."""

    name: str
    type: str
    help: str
    read: Callable[[Document], Any]


class ObjectSeries(NamedTuple):
    """A figure of each object: its metric, what it is divided by, and the node's metric that is the sum of all.

    Without a total a gauge is summed up, and a counter is left out where objects are.
    """

    name: str
    metric: Metric
    divisor: int = 1
    total: str = ""

    def told(self, value: Any) -> Any:
        """Return a figure in the unit of the series; None: it is unknown."""
        return value if value is None or self.divisor == 1 else value / self.divisor

    @property
    def help(self) -> str:
        """Return the metric's help, in the unit of the series."""
        text = self.metric.help
        return text if self.divisor == 1 else text.replace("milliseconds", "seconds")


class ObjectFamily(NamedTuple):
    """Figures of a kind of object."""

    noun: str
    series: tuple[ObjectSeries, ...]


def _figure(name: str, metric: str, factor: float = 1) -> NodeSeries:
    return NodeSeries(RABBITMQ + name, NODE[metric].type, NODE[metric].help, partial(_read_figure, metric, factor))


def _read_figure(metric: str, factor: float, document: Document) -> Any:
    value = document["figures"][metric]
    return value if value is None or factor == 1 else value * factor


def _gauge(name: str, help_: str, read: Callable[[Document], Any]) -> NodeSeries:
    return NodeSeries(RABBITMQ + name, "gauge", help_, read)


def _counter(name: str, help_: str, read: Callable[[Document], Any]) -> NodeSeries:
    return NodeSeries(RABBITMQ + name, "counter", help_, read)


def _family(noun: str, *rows: tuple[str, ...]) -> ObjectFamily:
    """Return a family of rows: RabbitMQ's name, our metric, and the total, if there is one."""
    series = (ObjectSeries(RABBITMQ + name, METRICS[noun][metric], 1, *total) for name, metric, *total in rows)
    return ObjectFamily(noun, tuple(series))


NODE_FAMILIES: Final[Mapping[str, tuple[NodeSeries, ...]]] = {
    "connection_churn_metrics": (
        _figure("connections_opened_total", "connections_opened"),
        _figure("connections_closed_total", "connections_closed"),
        _figure("channels_opened_total", "channels_opened"),
        _figure("channels_closed_total", "channels_closed"),
        _figure("queues_declared_total", "queues_declared"),
        _figure("queues_created_total", "queues_created"),
        _figure("queues_deleted_total", "queues_deleted"),
    ),
    "node_coarse_metrics": (
        _gauge("process_open_fds", "open file descriptors", lambda d: d["files"]),
        _figure("process_resident_memory_bytes", "mem_rss"),
        _figure("disk_space_available_bytes", "disk_free"),
    ),
    "node_metrics": (
        _gauge("process_max_fds", "limit of open file descriptors", lambda d: d["files_max"]),
        _figure("resident_memory_limit_bytes", "mem_limit"),
        _figure("disk_space_available_limit_bytes", "disk_free_limit"),
        _gauge("erlang_uptime_seconds", "seconds since the node started", lambda d: d["uptime_ms"] / 1000),
    ),
    "auth_attempt_metrics": (
        _counter("auth_attempts_total", "logins that were tried", lambda d: sum(d["logins"].values())),
        _counter("auth_attempts_succeeded_total", "logins that succeeded", lambda d: d["logins"]["succeeded"]),
        _counter("auth_attempts_failed_total", "logins that failed", lambda d: d["logins"]["failed"]),
    ),
}
# Of what there is now.
TOTALS: Final = tuple(_figure(name, name) for name in ("connections", "channels", "consumers", "queues"))
# RabbitMQ counts these by protocol: the names of their series, by ours.
GLOBAL_SERIES: Final = {
    name: f"{RABBITMQ}global_messages_{name}_total" if metric.type == "counter" else f"{RABBITMQ}global_{name}"
    for name, metric in GLOBAL.items()
}

OBJECT_FAMILIES: Final[Mapping[str, ObjectFamily]] = {
    "queue_coarse_metrics": _family(
        "queue",
        ("queue_messages_ready", "messages_ready"),
        ("queue_messages_unacked", "messages_unacknowledged"),
        ("queue_messages", "messages"),
    ),
    "queue_consumer_count": _family("queue", ("queue_consumers", "consumers")),
    "queue_metrics": _family(
        "queue",
        ("queue_consumers", "consumers"),
        ("queue_process_memory_bytes", "memory"),
        ("queue_messages_ram", "messages_ram"),
        ("queue_messages_ram_bytes", "message_bytes_ram"),
        ("queue_messages_ready_ram", "messages_ready_ram"),
        ("queue_messages_unacked_ram", "messages_unacknowledged_ram"),
        ("queue_messages_persistent", "messages_persistent"),
        ("queue_messages_persistent_bytes", "message_bytes_persistent"),
        ("queue_messages_bytes", "message_bytes"),
        ("queue_messages_ready_bytes", "message_bytes_ready"),
        ("queue_messages_unacked_bytes", "message_bytes_unacknowledged"),
        ("queue_messages_paged_out", "messages_paged_out"),
        ("queue_messages_paged_out_bytes", "message_bytes_paged_out"),
        ("queue_disk_reads_total", "disk_reads"),
        ("queue_disk_writes_total", "disk_writes"),
    ),
    "queue_delivery_metrics": _family(
        "queue",
        ("queue_get_ack_total", "get", "get"),
        ("queue_get_total", "get_no_ack", "get_no_ack"),
        ("queue_messages_delivered_ack_total", "deliver", "deliver"),
        ("queue_messages_delivered_total", "deliver_no_ack", "deliver_no_ack"),
        ("queue_messages_redelivered_total", "redeliver", "redeliver"),
        ("queue_messages_acked_total", "ack", "ack"),
        ("queue_get_empty_total", "get_empty", "get_empty"),
    ),
    "stream_consumer_metrics": _family(
        "stream", ("stream_consumer_max_offset_lag", "max_offset_lag", "stream_consumer_max_offset_lag")
    ),
    "exchange_metrics": _family(
        "exchange",
        ("exchange_messages_published_total", "publish_in", "publish"),
        ("exchange_messages_confirmed_total", "confirm", "confirm"),
        ("exchange_messages_unroutable_returned_total", "return_unroutable", "return_unroutable"),
        ("exchange_messages_unroutable_dropped_total", "drop_unroutable", "drop_unroutable"),
    ),
    "channel_metrics": _family(
        "channel",
        ("channel_consumers", "consumer_count"),
        ("channel_messages_unacked", "messages_unacknowledged"),
        ("channel_messages_unconfirmed", "messages_unconfirmed"),
        ("channel_messages_uncommitted", "messages_uncommitted"),
        ("channel_acks_uncommitted", "acks_uncommitted"),
    ),
    "channel_exchange_metrics": _family(
        "channel",
        ("channel_messages_published_total", "publish", "publish"),
        ("channel_messages_confirmed_total", "confirm", "confirm"),
        ("channel_messages_unroutable_returned_total", "return_unroutable", "return_unroutable"),
        ("channel_messages_unroutable_dropped_total", "drop_unroutable", "drop_unroutable"),
    ),
    "channel_queue_metrics": _family(
        "channel",
        ("channel_get_ack_total", "get", "get"),
        ("channel_get_total", "get_no_ack", "get_no_ack"),
        ("channel_messages_delivered_ack_total", "deliver", "deliver"),
        ("channel_messages_delivered_total", "deliver_no_ack", "deliver_no_ack"),
        ("channel_messages_redelivered_total", "redeliver", "redeliver"),
        ("channel_messages_acked_total", "ack", "ack"),
        ("channel_get_empty_total", "get_empty", "get_empty"),
    ),
    "connection_coarse_metrics": _family(
        "connection",
        ("connection_incoming_bytes_total", "recv_oct"),
        ("connection_outgoing_bytes_total", "send_oct"),
    ),
    "connection_metrics": _family(
        "connection",
        ("connection_incoming_packets_total", "recv_cnt"),
        ("connection_outgoing_packets_total", "send_cnt"),
        ("connection_pending_packets", "send_pend"),
        ("connection_channels", "channels"),
    ),
}


def _own(noun: str) -> Iterator[ObjectSeries]:
    """Yield the metrics of objects that RabbitMQ does not have."""
    theirs = {one.metric.name for family in OBJECT_FAMILIES.values() if family.noun == noun for one in family.series}
    for metric in METRICS[noun].values():
        if metric.name in theirs:
            continue
        stem = metric.name.removesuffix("_ms").removesuffix("_s").removesuffix("_time")
        unit, divisor = ("", 1) if "bytes" in stem else UNITS.get(metric.unit, ("", 1))
        words = [
            OURS + noun,
            stem,
            *[unit] * (unit != "" and unit not in stem),
            *["total"] * (metric.type == "counter"),
        ]
        yield ObjectSeries("_".join(words), metric, divisor)


FAMILIES: Final[Mapping[str, ObjectFamily]] = {
    **OBJECT_FAMILIES,
    **{f"{OURS}{noun}_metrics": ObjectFamily(noun, own) for noun in METRICS if (own := tuple(_own(noun)))},
}
# Names stay when their consumers have gone, and there may be very many: told to those alone who ask for them.
ON_DEMAND: Final = f"{OURS}{STREAM_OFFSET_NOUN}_metrics"
USUAL: Final = tuple(name for name in FAMILIES if name != ON_DEMAND)
