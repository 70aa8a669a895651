"""The table of metrics: each figure once, with its name, type, help, unit and reader.

Columns of listings, rows of the telemetry and the pipeline's tables are projections of it. It loads nothing, so that
pybrokerctl and the pipeline can say what there is without the broker: a reader gets the noun that it reads.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, Literal, NamedTuple


class Metric(NamedTuple):
    """One figure of a noun. A counter begins at 0 with its noun and never falls; a gauge is the state of now.

    `name` is RabbitMQ's where it has one. `unit` is what is counted, in the plural: messages, octets, ms.
    `sample` is the name in the telemetry's rows; empty if these do not have it.
    """

    name: str
    type: Literal["counter", "gauge"]
    help: str
    unit: str
    read: Callable[[Any], Any]
    sample: str = ""


def _gauge(name: str, help_: str, unit: str, read: Callable[[Any], Any], sample: str = "") -> Metric:
    return Metric(name, "gauge", help_, unit, read, sample)


def _counter(name: str, help_: str, unit: str, read: Callable[[Any], Any], sample: str = "") -> Metric:
    return Metric(name, "counter", help_, unit, read, sample)


def _by_name(*metrics: Metric) -> dict[str, Metric]:
    return {metric.name: metric for metric in metrics}


def sampled(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return the metrics of the telemetry's rows, by their names there."""
    return {metric.sample: metric for metric in metrics.values() if metric.sample}


def _rates() -> Iterator[Metric]:
    """Yield the rates of a queue over each of the windows."""
    for name, words, ms in (("10s", "10 seconds", 10_000), ("1m", "minute", 60_000), ("10m", "10 minutes", 600_000)):
        for way, what in (("in", "came in"), ("out", "left")):
            yield _gauge(
                f"{way}_rate_{name}",
                f"messages per second that {what} in the last {words}; empty in its first 5 seconds",
                "messages per second",
                partial(_rate, way, ms),
            )


def _rate(way: str, window_ms: int, queue: Any) -> Any:
    rates = queue.vhost.broker.rates
    return rates.rate_in(queue, window_ms) if way == "in" else rates.rate_out(queue, window_ms)


def _dead_letters(queue: Any) -> tuple[int, int]:
    held: tuple[int, int] = queue.vhost.broker.dead_letters.held(queue)
    return held


def _consumers_full(queue: Any) -> int:
    return sum([consumer.is_full for consumer in queue.consumers]) if queue.messages_unacknowledged else 0


def _uncommitted_messages(channel: Any) -> int:
    if channel.transaction is None:
        return 0
    return sum(len(contents.contents) for _, contents, _ in channel.transaction.publishes)


def _uncommitted_acks(channel: Any) -> int:
    return 0 if channel.transaction is None else sum(len(batch.indexes) for batch in channel.transaction.taken())


# Of a queue.
QUEUE: Final = _by_name(
    _gauge("messages_ready", "messages waiting for delivery", "messages", lambda q: q.messages_ready, "ready"),
    _gauge(
        "messages_unacknowledged",
        "messages delivered, not yet acknowledged",
        "messages",
        lambda q: q.messages_unacknowledged,
        "unacked",
    ),
    _gauge("messages_delayed", "requeued messages that wait for their retry", "messages", lambda q: q.messages_delayed),
    _gauge("consumers", "consumers", "consumers", lambda q: q.consumer_count, "consumers"),
    _counter(
        "publish",
        "messages published to the queue, since it was declared",
        "messages",
        lambda q: q.published,
        "publish_total",
    ),
    _counter(
        "deliver", "messages delivered", "messages", lambda q: q.delivered + q.delivered_no_ack + q.got, "deliver_total"
    ),
    _counter(
        "settled",
        "messages acknowledged, or delivered without acknowledgement",
        "messages",
        lambda q: q.acked + q.delivered_no_ack + q.got_no_ack,
        "ack_total",
    ),
    _counter("ack", "messages acknowledged", "messages", lambda q: q.acked),
    _counter(
        "deliver_no_ack",
        "messages delivered to consumers without acknowledgement",
        "messages",
        lambda q: q.delivered_no_ack,
    ),
    _counter("get", "messages fetched, to be acknowledged", "messages", lambda q: q.got - q.got_no_ack),
    _counter("get_no_ack", "messages fetched without acknowledgement", "messages", lambda q: q.got_no_ack),
    _counter("redeliver", "messages delivered again", "messages", lambda q: q.redelivered, "redeliver_total"),
    _counter("expired", "messages that expired", "messages", lambda q: q.expired, "expired_total"),
    _counter("dropped", "messages dropped by a length limit", "messages", lambda q: q.dropped, "dropped_total"),
    _counter(
        "rejected",
        "messages that consumers rejected for good",
        "messages",
        lambda q: q.fates.rejected,
        "rejected_total",
    ),
    _counter(
        "requeued",
        "messages that came back: requeued by consumers, or their channel was closed",
        "messages",
        lambda q: q.fates.requeued,
        "requeue_total",
    ),
    _counter(
        "delivery_limit",
        "messages dropped or dead-lettered because they were delivered too often",
        "messages",
        lambda q: q.fates.over_limit,
        "delivery_limit_total",
    ),
    _counter(
        "dead_lettered",
        "messages that left for the dead letter exchange",
        "messages",
        lambda q: q.fates.dead_lettered,
        "dead_letter_total",
    ),
    _counter(
        "refused", "messages refused because the queue was full", "messages", lambda q: q.fates.refused, "refused_total"
    ),
    _counter("purged", "messages purged", "messages", lambda q: q.fates.purged, "purged_total"),
    _gauge(
        "consumers_full",
        "consumers with as many unacknowledged messages as their prefetch allows",
        "consumers",
        _consumers_full,
        "consumers_full",
    ),
    _counter("unreadable", "messages that could not be read back", "messages", lambda q: q.unreadable),
    _gauge(
        "message_bytes",
        "octets of the bodies of ready and unacknowledged messages",
        "octets",
        lambda q: q.backlog.octets,
        "bytes",
    ),
    _gauge("memory", "approximate octets of memory used by its messages", "octets", lambda q: q.memory_octets, "mem"),
    _gauge(
        "messages_paged_out",
        "ready messages whose contents are on disk only",
        "messages",
        lambda q: q.backlog.messages_evicted,
        "paged_out",
    ),
    _gauge("messages", "ready, unacknowledged, delayed messages, and messages_dlx", "messages", lambda q: q.messages),
    _gauge(
        "messages_dlx", "dead letters waiting to be forwarded at least once", "messages", lambda q: _dead_letters(q)[0]
    ),
    _gauge("messages_ready_ram", "ready messages held in memory", "messages", lambda q: q.backlog.messages_resident),
    _gauge(
        "messages_unacknowledged_ram",
        "unacknowledged messages held in memory",
        "messages",
        lambda q: q.messages_unacknowledged,
    ),
    _gauge(
        "messages_ram",
        "ready and unacknowledged messages held in memory",
        "messages",
        lambda q: q.messages - q.backlog.messages_evicted,
    ),
    _gauge(
        "message_bytes_ready",
        "octets of the bodies of ready messages",
        "octets",
        lambda q: q.backlog.octets_ready,
        "ready_bytes",
    ),
    _gauge(
        "message_bytes_unacknowledged",
        "octets of the bodies of unacknowledged messages",
        "octets",
        lambda q: q.backlog.octets_unacknowledged,
    ),
    _gauge(
        "message_bytes_dlx", "octets of the bodies of waiting dead letters", "octets", lambda q: _dead_letters(q)[1]
    ),
    _gauge(
        "message_bytes_ram",
        "octets of the bodies held in memory",
        "octets",
        lambda q: q.backlog.octets - q.backlog.octets_evicted,
    ),
    _gauge(
        "message_bytes_paged_out", "octets of the bodies on disk only", "octets", lambda q: q.backlog.octets_evicted
    ),
    _gauge(
        "messages_persistent",
        "ready and unacknowledged messages that survive a restart; 0 if the queue is not durable",
        "messages",
        lambda q: q.backlog.messages_persistent,
    ),
    _gauge(
        "message_bytes_persistent",
        "octets of the bodies of messages that survive a restart",
        "octets",
        lambda q: q.backlog.octets_persistent,
    ),
    _counter("disk_reads", "messages read back from disk", "messages", lambda q: q.backlog.disk_reads),
    _counter("disk_writes", "messages written to disk", "messages", lambda q: q.backlog.disk_writes),
    _gauge(
        "head_age_ms",
        "age of the next message in milliseconds; empty if none is ready, or while it is read from disk",
        "ms",
        lambda q: q.vhost.broker.ages.head_ms(q),
        "head_age_ms",
    ),
    _gauge(
        "unacknowledged_age_ms",
        "age of the oldest unacknowledged message in milliseconds; empty if there is none",
        "ms",
        lambda q: q.vhost.broker.ages.unacknowledged_ms(q),
        "unacknowledged_age_ms",
    ),
    *_rates(),
    _gauge(
        "time_to_drain_s",
        "seconds until it is empty if it goes on as in the last minute; empty if it does not shrink",
        "seconds",
        lambda q: q.vhost.broker.rates.time_to_drain_s(q),
    ),
    _gauge(
        "time_to_full_s",
        "seconds until a length limit is reached if it goes on as in the last minute; empty without a limit, or if it "
        "does not grow",
        "seconds",
        lambda q: q.vhost.broker.rates.time_to_full_s(q),
    ),
)

# Of an exchange.
EXCHANGE: Final = _by_name(
    _gauge("messages_delayed", "delayed messages that it holds", "messages", lambda x: x.messages_delayed),
    _counter("publish_in", "messages published to the exchange", "messages", lambda x: x.publish_in),
    _counter("publish_out", "messages routed to queues, one for each queue", "messages", lambda x: x.publish_out),
)

# Of a channel.
CHANNEL: Final = _by_name(
    _gauge("consumer_count", "consumers", "consumers", lambda c: len(c.consumers)),
    _gauge(
        "messages_unacknowledged", "messages delivered, not yet acknowledged", "messages", lambda c: c.unacked.count
    ),
    _gauge("messages_uncommitted", "publishes not yet committed", "messages", _uncommitted_messages),
    _gauge("acks_uncommitted", "acknowledgements not yet committed", "messages", _uncommitted_acks),
    _gauge(
        "messages_unconfirmed",
        "publishes not yet confirmed",
        "messages",
        lambda c: c.confirms.unconfirmed if c.confirms else 0,
    ),
)

# Of a connection.
CONNECTION: Final = _by_name(
    _gauge("channels", "open channels", "channels", lambda s: len(s.channels), "channels"),
    _counter("recv_oct", "octets received", "octets", lambda s: s.recv_octets, "recv_oct"),
    _counter("send_oct", "octets sent", "octets", lambda s: s.send_octets, "send_oct"),
    _counter("publish", "messages published", "messages", lambda s: s.published, "publish_total"),
    _counter("deliver", "messages delivered", "messages", lambda s: s.delivered, "deliver_total"),
    _counter("ack", "messages acknowledged", "messages", lambda s: s.acked, "ack_total"),
    _counter("recv_cnt", "number of reads from the socket", "reads", lambda s: s.recv_count),
    _counter("send_cnt", "number of writes to the socket", "writes", lambda s: s.send_count),
    _gauge("send_pend", "octets waiting to be sent", "octets", lambda s: s.send_pend),
    _counter(
        "blocked_time",
        "total time blocked by alarms, in ms",
        "ms",
        lambda s: s.throttle.blocked_ms(s.broker.clock.now_ms),
        "blocked_ms_total",
    ),
    _counter(
        "flow_time",
        "total time in flow control, in ms",
        "ms",
        lambda s: s.throttle.flow_ms(s.broker.clock.now_ms),
        "flow_ms_total",
    ),
    _counter(
        "flow_count", "number of times flow control began", "times", lambda s: s.throttle.flow_count, "flow_count"
    ),
)

# Of the node; a reader gets the broker.
NODE: Final = _by_name(
    _gauge(
        "mem_used",
        "octets of memory that the memory limit is compared with",
        "octets",
        lambda b: b.settings.watermarks.measured.used,
        "mem_used",
    ),
    _gauge(
        "mem_rss",
        "octets of memory that the process has resident",
        "octets",
        lambda b: b.settings.watermarks.measured.rss,
        "mem_rss",
    ),
    _gauge(
        "mem_limit",
        "memory limit in octets",
        "octets",
        lambda b: b.settings.watermarks.memory_limit_octets,
        "mem_limit",
    ),
    _gauge(
        "mem_total",
        "octets of memory available to the node",
        "octets",
        lambda b: b.settings.watermarks.total.octets,
        "mem_total",
    ),
    _gauge(
        "disk_free",
        "octets free on the data folder's partition; empty if the disk is not monitored",
        "octets",
        lambda b: b.settings.watermarks.measured.disk_free,
        "disk_free",
    ),
    _gauge(
        "disk_free_limit",
        "free disk space limit in octets",
        "octets",
        lambda b: b.settings.watermarks.disk_limit_octets,
        "disk_limit",
    ),
    _gauge("connections", "open connections", "connections", lambda b: len(b.sessions), "connections"),
    _gauge("channels", "open channels", "channels", lambda b: b.channels),
    _gauge("queues", "queues", "queues", lambda b: sum(len(vhost.queues) for vhost in b.vhosts.values()), "queues"),
    _counter("publish", "messages published", "messages", lambda b: b.published, "publish_total"),
    _counter("confirm", "publishes confirmed", "messages", lambda b: b.confirmed, "confirm_total"),
    _counter("deliver", "messages delivered", "messages", lambda b: b.delivered, "deliver_total"),
    _counter("ack", "messages acknowledged", "messages", lambda b: b.acked, "ack_total"),
    _counter(
        "return_unroutable", "messages returned to their publisher", "messages", lambda b: b.returned, "returned_total"
    ),
    _counter(
        "drop_unroutable",
        "messages dropped because they reached no queue",
        "messages",
        lambda b: b.unroutable,
        "unroutable_total",
    ),
)
