"""Figures of what clients have: connections, channels, consumers."""

from typing import Any, Final

from pybroker.core.stats.metrics.metric import by_name, counter, counters, gauge


def _uncommitted_acks(channel: Any) -> int:
    return 0 if channel.transaction is None else sum(len(batch.indexes) for batch in channel.transaction.taken())


# Of a channel.
CHANNEL: Final = by_name(
    gauge("consumer_count", "consumers", "consumers", lambda c: len(c.consumers)),
    gauge("messages_unacknowledged", "messages delivered, not yet acknowledged", "messages", lambda c: c.unacked.count),
    gauge(
        "messages_uncommitted",
        "publishes not yet committed",
        "messages",
        lambda c: c.transaction.messages if c.transaction else 0,
    ),
    gauge("acks_uncommitted", "acknowledgements not yet committed", "messages", _uncommitted_acks),
    gauge(
        "messages_unconfirmed",
        "publishes not yet confirmed",
        "messages",
        lambda c: c.confirms.unconfirmed if c.confirms else 0,
    ),
    *counters(
        "messages",
        "",
        ("publish", "published", "messages published, those of a transaction when it was committed"),
        ("confirm", "confirmed", "publishes confirmed"),
        ("return_unroutable", "returned", "messages returned because they reached no queue"),
        ("drop_unroutable", "dropped", "messages dropped because they reached no queue"),
        ("deliver", "delivered", "messages delivered to consumers, to be acknowledged"),
        ("deliver_no_ack", "delivered_no_ack", "messages delivered to consumers without acknowledgement"),
        ("deliver_get", "delivered_or_got", "messages delivered to consumers, or fetched"),
        ("get_no_ack", "got_no_ack", "messages fetched without acknowledgement"),
        ("redeliver", "redelivered", "messages delivered again"),
        ("ack", "acked", "messages acknowledged"),
    ),
    counter("get", "messages fetched, to be acknowledged", "messages", lambda c: c.got - c.got_no_ack),
    counter("get_empty", "fetches that found no message", "fetches", lambda c: c.got_empty),
)

# Of a consumer.
CONSUMER: Final = by_name(
    gauge("messages_unacknowledged", "messages delivered, not yet acknowledged", "messages", lambda c: c.unacked),
    counter("deliver", "messages delivered", "messages", lambda c: c.delivered),
    counter("ack", "messages acknowledged", "messages", lambda c: c.acked),
)

# Of a connection.
CONNECTION: Final = by_name(
    gauge("channels", "open channels", "channels", lambda s: len(s.channels), "channels"),
    counter("recv_oct", "octets received", "octets", lambda s: s.recv_octets, "recv_oct"),
    counter("send_oct", "octets sent", "octets", lambda s: s.send_octets, "send_oct"),
    counter("publish", "messages published", "messages", lambda s: s.published, "publish_total"),
    counter("deliver_get", "messages delivered", "messages", lambda s: s.delivered, "deliver_total"),
    counter("ack", "messages acknowledged", "messages", lambda s: s.acked, "ack_total"),
    counter("recv_cnt", "number of reads from the socket", "reads", lambda s: s.recv_count),
    counter("send_cnt", "number of writes to the socket", "writes", lambda s: s.send_count),
    gauge("send_pend", "octets waiting to be sent", "octets", lambda s: s.send_pend),
    counter(
        "blocked_time",
        "total time blocked by alarms, in ms",
        "ms",
        lambda s: s.throttle.blocked_ms(s.broker.clock.now_ms),
        "blocked_ms_total",
    ),
    counter(
        "flow_time",
        "total time in flow control, in ms",
        "ms",
        lambda s: s.throttle.flow_ms(s.broker.clock.now_ms),
        "flow_ms_total",
    ),
    counter("flow_count", "number of times flow control began", "times", lambda s: s.throttle.flow_count, "flow_count"),
)
