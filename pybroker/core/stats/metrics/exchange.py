"""Figures of an exchange."""

from typing import Final

from pybroker.core.stats.metrics.metric import by_name, counters, gauge

EXCHANGE: Final = by_name(
    gauge("messages_delayed", "delayed messages that it holds", "messages", lambda x: x.messages_delayed),
    *counters(
        "messages",
        "",
        ("publish_in", "publish_in", "messages published to the exchange"),
        ("publish_out", "publish_out", "messages routed to queues, one for each queue"),
        ("confirm", "confirmed", "publishes to the exchange that were confirmed"),
        ("return_unroutable", "returned", "messages returned to their publishers because they reached no queue"),
        ("drop_unroutable", "dropped", "messages dropped because they reached no queue"),
    ),
)
