"""Figures of a queue."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from pybroker.core.stats.metrics.metric import Metric, by_name, counter, gauge


def _rates() -> Iterator[Metric]:
    """Yield the rates of a queue over each of the windows."""
    for name, words, ms in (("10s", "10 seconds", 10_000), ("1m", "minute", 60_000), ("10m", "10 minutes", 600_000)):
        for way, what in (("in", "came in"), ("out", "left")):
            yield gauge(
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


def _kept(of_stream: Callable[[Any], int], of_backlog: Callable[[Any], int]) -> Callable[[Any], int]:
    """Return a reader for queues, whose messages are in their backlogs, and for streams, whose messages are not."""
    return lambda queue: of_stream(queue) if queue.retains else of_backlog(queue.backlog)


def _on_disk(stream: Any) -> int:
    messages: int = stream.messages - stream.messages_resident
    return max(0, messages)


def _consumers_full(queue: Any) -> int:
    return sum([consumer.is_full for consumer in queue.consumers]) if queue.messages_unacknowledged else 0


QUEUE: Final = by_name(
    gauge("messages_ready", "messages waiting for delivery", "messages", lambda q: q.messages_ready, "ready"),
    gauge(
        "messages_unacknowledged",
        "messages delivered, not yet acknowledged",
        "messages",
        lambda q: q.messages_unacknowledged,
        "unacked",
    ),
    gauge("messages_delayed", "requeued messages that wait for their retry", "messages", lambda q: q.messages_delayed),
    gauge("consumers", "consumers", "consumers", lambda q: q.consumer_count, "consumers"),
    counter(
        "publish",
        "messages published to the queue, since it was declared",
        "messages",
        lambda q: q.published,
        "publish_total",
    ),
    counter(
        "deliver_get",
        "messages delivered",
        "messages",
        lambda q: q.delivered + q.delivered_no_ack + q.got,
        "deliver_total",
    ),
    counter("deliver", "messages delivered to consumers, to be acknowledged", "messages", lambda q: q.delivered),
    counter(
        "settled",
        "messages acknowledged, or delivered without acknowledgement",
        "messages",
        lambda q: q.acked + q.delivered_no_ack + q.got_no_ack,
        "ack_total",
    ),
    counter("ack", "messages acknowledged", "messages", lambda q: q.acked),
    counter(
        "deliver_no_ack",
        "messages delivered to consumers without acknowledgement",
        "messages",
        lambda q: q.delivered_no_ack,
    ),
    counter("get", "messages fetched, to be acknowledged", "messages", lambda q: q.got - q.got_no_ack),
    counter("get_no_ack", "messages fetched without acknowledgement", "messages", lambda q: q.got_no_ack),
    counter("get_empty", "fetches that found no message", "fetches", lambda q: q.got_empty),
    counter("redeliver", "messages delivered again", "messages", lambda q: q.redelivered, "redeliver_total"),
    counter("expired", "messages that expired", "messages", lambda q: q.expired, "expired_total"),
    counter("dropped", "messages dropped by a length limit", "messages", lambda q: q.dropped, "dropped_total"),
    counter(
        "rejected",
        "messages that consumers rejected for good",
        "messages",
        lambda q: q.fates.rejected,
        "rejected_total",
    ),
    counter(
        "requeued",
        "messages that came back: requeued by consumers, or their channel was closed",
        "messages",
        lambda q: q.fates.requeued,
        "requeue_total",
    ),
    counter(
        "delivery_limit",
        "messages dropped or dead-lettered because they were delivered too often",
        "messages",
        lambda q: q.fates.over_limit,
        "delivery_limit_total",
    ),
    counter(
        "dead_lettered",
        "messages that left for the dead letter exchange",
        "messages",
        lambda q: q.fates.dead_lettered,
        "dead_letter_total",
    ),
    counter(
        "refused", "messages refused because the queue was full", "messages", lambda q: q.fates.refused, "refused_total"
    ),
    counter("purged", "messages purged", "messages", lambda q: q.fates.purged, "purged_total"),
    gauge(
        "consumers_full",
        "consumers with as many unacknowledged messages as their prefetch allows",
        "consumers",
        _consumers_full,
        "consumers_full",
    ),
    counter("unreadable", "messages that could not be read back", "messages", lambda q: q.unreadable),
    gauge(
        "message_bytes",
        "octets of the bodies of ready and unacknowledged messages; of a stream, of its segments",
        "octets",
        _kept(lambda stream: stream.octets, lambda backlog: backlog.octets),
        "bytes",
    ),
    gauge("memory", "approximate octets of memory used by its messages", "octets", lambda q: q.memory_octets, "mem"),
    gauge(
        "messages_paged_out",
        "ready messages whose contents are on disk only",
        "messages",
        _kept(_on_disk, lambda backlog: backlog.messages_evicted),
        "paged_out",
    ),
    gauge("messages", "ready, unacknowledged, delayed messages, and messages_dlx", "messages", lambda q: q.messages),
    gauge(
        "messages_dlx", "dead letters waiting to be forwarded at least once", "messages", lambda q: _dead_letters(q)[0]
    ),
    gauge("messages_ready_ram", "ready messages held in memory", "messages", lambda q: q.messages_resident),
    gauge(
        "messages_unacknowledged_ram",
        "unacknowledged messages held in memory",
        "messages",
        lambda q: q.messages_unacknowledged,
    ),
    gauge(
        "messages_ram",
        "ready and unacknowledged messages held in memory",
        "messages",
        lambda q: q.messages_resident if q.retains else q.messages - q.backlog.messages_evicted,
    ),
    gauge(
        "message_bytes_ready",
        "octets of the bodies of ready messages",
        "octets",
        _kept(lambda stream: stream.octets, lambda backlog: backlog.octets_ready),
        "ready_bytes",
    ),
    gauge(
        "message_bytes_unacknowledged",
        "octets of the bodies of unacknowledged messages",
        "octets",
        lambda q: q.backlog.octets_unacknowledged,
    ),
    gauge("message_bytes_dlx", "octets of the bodies of waiting dead letters", "octets", lambda q: _dead_letters(q)[1]),
    gauge(
        "message_bytes_ram",
        "octets of the bodies held in memory",
        "octets",
        _kept(lambda stream: stream.octets_resident, lambda backlog: backlog.octets - backlog.octets_evicted),
    ),
    gauge(
        "message_bytes_paged_out",
        "octets of the bodies on disk only",
        "octets",
        _kept(lambda stream: max(0, stream.octets - stream.octets_resident), lambda backlog: backlog.octets_evicted),
    ),
    gauge(
        "messages_persistent",
        "ready and unacknowledged messages that survive a restart; 0 if the queue is not durable",
        "messages",
        _kept(lambda stream: stream.messages, lambda backlog: backlog.messages_persistent),
    ),
    gauge(
        "message_bytes_persistent",
        "octets of the bodies of messages that survive a restart",
        "octets",
        _kept(lambda stream: stream.octets, lambda backlog: backlog.octets_persistent),
    ),
    counter("disk_reads", "messages read back from disk", "messages", lambda q: q.backlog.disk_reads),
    counter("disk_writes", "messages written to disk", "messages", lambda q: q.backlog.disk_writes),
    gauge(
        "head_age_ms",
        "age of the next message in milliseconds; empty if none is ready, or while it is read from disk",
        "ms",
        lambda q: q.vhost.broker.ages.head_ms(q),
        "head_age_ms",
    ),
    gauge(
        "unacknowledged_age_ms",
        "age of the oldest unacknowledged message in milliseconds; empty if there is none",
        "ms",
        lambda q: q.vhost.broker.ages.unacknowledged_ms(q),
        "unacknowledged_age_ms",
    ),
    *_rates(),
    gauge(
        "time_to_drain_s",
        "seconds until it is empty if it goes on as in the last minute; empty if it does not shrink",
        "seconds",
        lambda q: q.vhost.broker.rates.time_to_drain_s(q),
    ),
    gauge(
        "time_to_full_s",
        "seconds until a length limit is reached if it goes on as in the last minute; empty without a limit, or if it "
        "does not grow",
        "seconds",
        lambda q: q.vhost.broker.rates.time_to_full_s(q),
    ),
)

# Of a stream with consumers.
STREAM: Final = by_name(
    # Differs from RabbitMQ: there, only consumers of the stream protocol count.
    gauge(
        "max_offset_lag",
        "messages that the slowest consumer of a stream has still to get",
        "messages",
        lambda s: s.max_lag,
    )
)

# Of an offset that a consumer of a stream stored; in lags, which no sum has a meaning of.
STREAM_OFFSET: Final = by_name(
    gauge(
        "lag",
        "messages behind the offset that a consumer of a stream stored, whether it is connected or not",
        "lags",
        lambda o: o.lag,
    )
)
