"""Figures of the node, and of its virtual hosts."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from pybroker.core.stats.metrics.metric import Metric, by_name, counter, counters, gauge

# Counts of messages that virtual hosts and the node have alike, by RabbitMQ's name: what they are in Traffic, and help.
_TRAFFIC: Final = {
    "publish": (("publish_in",), "messages published to exchanges"),
    "publish_out": (("publish_out",), "messages routed to queues, one for each queue"),
    "confirm": (("confirmed",), "publishes confirmed"),
    "return_unroutable": (("returned",), "messages returned to their publishers because they reached no queue"),
    "drop_unroutable": (("dropped",), "messages dropped because they reached no queue"),
    "deliver": (("delivered",), "messages delivered to consumers, to be acknowledged"),
    "deliver_no_ack": (("delivered_no_ack",), "messages delivered to consumers without acknowledgement"),
    "deliver_get": (("delivered", "delivered_no_ack", "got"), "messages delivered to consumers, or fetched"),
    "get": (("got",), "messages fetched, to be acknowledged"),
    "get_no_ack": (("got_no_ack",), "messages fetched without acknowledgement"),
    "get_empty": (("got_empty",), "fetches that found no message"),
    "redeliver": (("redelivered",), "messages delivered again"),
    "ack": (("acked",), "messages acknowledged"),
}


def _total(traffic_of: Callable[[Any], Any], name: str, noun: Any) -> int:
    traffic = traffic_of(noun)
    total: int = sum([traffic.total(count) for count in _TRAFFIC[name][0]])
    return total - traffic.total("got_no_ack") if name == "get" else total


def _traffic(traffic_of: Callable[[Any], Any], *names: str) -> Iterator[Metric]:
    """Yield counts of messages of a noun; `traffic_of` returns what has them."""
    for name in names or _TRAFFIC:
        unit = "fetches" if name == "get_empty" else "messages"
        yield counter(name, _TRAFFIC[name][1], unit, partial(_total, traffic_of, name))


# The protocol, by its name.
STREAM: Final = "stream"

# Of a virtual host.
VHOST: Final = by_name(*_traffic(lambda v: v.traffic))


def _streaming(broker: Any) -> list[Any]:
    """Return the sessions of the stream protocol."""
    return [session for session in broker.sessions.values() if session.protocol == STREAM]


def _streamed(count: str, broker: Any) -> int:
    """Return what sessions of the stream protocol have counted, also those that are gone."""
    ended = broker.totals.ended.get(STREAM)
    total: int = sum([getattr(session, count) for session in _streaming(broker)])
    return total + (0 if ended is None else getattr(ended, count))


def _not_streamed(read: Callable[[Any], int], count: str) -> Callable[[Any], int]:
    """Return a reader of what a count of the node has from other protocols."""
    return lambda broker: read(broker) - _streamed(count, broker)


# Of the node; a reader gets the broker.
NODE: Final = by_name(
    gauge(
        "mem_used",
        "octets of memory that the memory limit is compared with",
        "octets",
        lambda b: b.settings.watermarks.measured.used,
        "mem_used",
    ),
    gauge(
        "mem_rss",
        "octets of memory that the process has resident",
        "octets",
        lambda b: b.settings.watermarks.measured.rss,
        "mem_rss",
    ),
    gauge(
        "mem_limit",
        "memory limit in octets",
        "octets",
        lambda b: b.settings.watermarks.memory_limit_octets,
        "mem_limit",
    ),
    gauge(
        "mem_total",
        "octets of memory available to the node",
        "octets",
        lambda b: b.settings.watermarks.total.octets,
        "mem_total",
    ),
    gauge(
        "disk_free",
        "octets free on the data folder's partition; empty if the disk is not monitored",
        "octets",
        lambda b: b.settings.watermarks.measured.disk_free,
        "disk_free",
    ),
    gauge(
        "disk_free_limit",
        "free disk space limit in octets",
        "octets",
        lambda b: b.settings.watermarks.disk_limit_octets,
        "disk_limit",
    ),
    gauge("connections", "open connections", "connections", lambda b: len(b.sessions), "connections"),
    gauge("channels", "open channels", "channels", lambda b: b.channels),
    gauge("queues", "queues", "queues", lambda b: sum(len(vhost.queues) for vhost in b.vhosts.values()), "queues"),
    gauge("consumers", "consumers", "consumers", lambda b: sum([session.consumers for session in b.sessions.values()])),
    gauge("publishers", "open channels that have published", "channels", lambda b: b.totals.publishers),
    counter("publish", "messages published", "messages", lambda b: b.totals.published, "publish_total"),
    counter("confirm", "publishes confirmed", "messages", lambda b: b.totals.total("confirmed"), "confirm_total"),
    counter(
        "deliver_get",
        "messages delivered",
        "messages",
        lambda b: b.totals.given,
        "deliver_total",
    ),
    counter("ack", "messages acknowledged", "messages", lambda b: b.totals.total("acked"), "ack_total"),
    counter(
        "return_unroutable",
        "messages returned to their publisher",
        "messages",
        lambda b: b.totals.total("returned"),
        "returned_total",
    ),
    counter(
        "drop_unroutable",
        "messages dropped because they reached no queue",
        "messages",
        lambda b: b.totals.total("dropped"),
        "unroutable_total",
    ),
    gauge(
        "stream_consumer_max_offset_lag",
        "messages that the slowest consumer of any stream has still to get",
        "messages",
        lambda b: max([stream.max_lag for stream in b.streams.known if stream.readers], default=0),
    ),
    *_traffic(lambda b: b.totals, "deliver", "deliver_no_ack", "get", "get_no_ack", "get_empty", "redeliver"),
    counter("connections_opened", "connections opened", "connections", lambda b: b.totals.churn.connections_opened),
    counter(
        "connections_closed",
        "connections closed, also those that were never opened",
        "connections",
        lambda b: b.totals.churn.connections_closed,
    ),
    counter("channels_opened", "channels opened", "channels", lambda b: b.totals.churn.channels_opened),
    counter("channels_closed", "channels closed", "channels", lambda b: b.totals.churn.channels_closed),
    counter("queues_declared", "declarations of queues", "declarations", lambda b: b.totals.churn.queues_declared),
    counter("queues_created", "queues created", "queues", lambda b: b.totals.churn.queues_created),
    counter("queues_deleted", "queues deleted", "queues", lambda b: b.totals.churn.queues_deleted),
)

# Of the node and the protocol AMQP 0-9-1, as RabbitMQ's global counters have them; a reader gets the broker.
GLOBAL: Final = by_name(
    counter(
        "received",
        "messages received from publishers",
        "messages",
        _not_streamed(lambda b: b.totals.received, "published"),
    ),
    counter(
        "received_confirm",
        "messages received from publishers that expect confirms, or in transactions",
        "messages",
        _not_streamed(lambda b: b.totals.received_confirm, "published"),
    ),
    counter(
        "routed",
        "messages routed to queues, one for each queue",
        "messages",
        _not_streamed(lambda b: b.totals.routed, "published"),
    ),
    counter(
        "confirmed",
        _TRAFFIC["confirm"][1],
        "messages",
        lambda b: NODE["confirm"].read(b) - b.totals.stream_confirmed,
    ),
    *(
        counter(name, _TRAFFIC[known][1], "fetches" if known == "get_empty" else "messages", NODE[known].read)
        for name, known in (
            ("unroutable_dropped", "drop_unroutable"),
            ("unroutable_returned", "return_unroutable"),
            ("delivered_consume_auto_ack", "deliver_no_ack"),
            ("delivered_get_auto_ack", "get_no_ack"),
            ("delivered_get_manual_ack", "get"),
            ("get_empty", "get_empty"),
            ("redelivered", "redeliver"),
            ("acknowledged", "ack"),
        )
    ),
    *(
        counter(name, _TRAFFIC[known][1], "messages", _not_streamed(NODE[known].read, "delivered"))
        for name, known in (("delivered", "deliver_get"), ("delivered_consume_manual_ack", "deliver"))
    ),
    gauge(
        "publishers",
        "open channels that have published",
        "channels",
        lambda b: b.totals.publishers - sum([bool(session.channel.publishers) for session in _streaming(b)]),
    ),
    gauge(
        "consumers",
        "consumers",
        "consumers",
        lambda b: NODE["consumers"].read(b) - sum([session.consumers for session in _streaming(b)]),
    ),
)

# Of the node and the stream protocol, under the same names.
GLOBAL_STREAM: Final = by_name(
    *(
        counter(name, GLOBAL[name].help, "messages", partial(_streamed, count))
        for name, count in (("received", "published"), ("received_confirm", "published"), ("delivered", "delivered"))
    ),
    counter("confirmed", GLOBAL["confirmed"].help, "messages", lambda b: b.totals.stream_confirmed),
    gauge(
        "publishers",
        "publishers",
        "channels",
        lambda b: sum([len(session.channel.publishers) for session in _streaming(b)]),
    ),
    gauge("consumers", "consumers", "consumers", lambda b: sum([session.consumers for session in _streaming(b)])),
)

# Of the node's dead letters by what queues do with them: a reader gets the broker's `totals.deaths` of a strategy.
DEAD_LETTER: Final = by_name(
    *counters(
        "messages",
        "",
        ("expired", "expired", "messages that expired"),
        ("rejected", "rejected", "messages that consumers rejected for good"),
        ("maxlen", "maxlen", "messages dropped, or refused with a dead letter exchange, by a length limit"),
        ("delivery_limit", "delivery_limit", "messages that were delivered too often"),
        ("confirmed", "confirmed", "dead letters that have reached their queues, if that is asked for"),
    ),
)
