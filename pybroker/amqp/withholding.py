"""Publishes that reach paused queues: withheld until these are resumed, or refused.

Knows which queues a message would reach before any exchange learns of it. The session stops reading; `blocking` says
when it goes on.
"""

from typing import TYPE_CHECKING

from pybroker.core.message_trace import pauses as traced_pauses
from pybroker.core.queue import pause
from pybroker.run import WANTS_CC

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel
    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.queue.destination import Destination
    from pybroker.core.routing.publish import Contents, Route
    from pybroker.run import RunAttributes


def is_withheld(channel: "AmqpChannel", route: "Route", single: "Contents") -> bool:
    """Tell whether a paused queue withholds a message; then the session is not read until it may go."""
    queues = foreseen(channel, route, single.attributes, single.contents[0])
    cause = pause.withholding(queues)
    if cause is None:
        return False
    vhost = channel.publisher.vhost
    if vhost.tracing:
        traced_pauses.withheld(vhost.broker.traces, channel, route, single.contents[0], queues, cause.name)
    channel.session.withhold(cause)
    return True


def parted(
    channel: "AmqpChannel", queues: "tuple[Destination, ...]", receipt: "Receipt"
) -> "tuple[tuple[Destination, ...], tuple[Destination, ...]]":
    """Return a message's queues that take it, and those that refuse it because they are paused: it is rejected then."""
    found = pause.refusing(queues)
    if not found:
        return queues, ()
    receipt.reject(range(receipt.index, receipt.index + 1))
    queue = found[0]
    text, session = f"Publishes to {queue!r} are refused: it is paused", channel.session
    fields = {"vhost": queue.vhost.name, "queue": queue.name}
    session.broker.warn("queue.refused", f"refused {queue.id}", text, session, **fields)
    return pause.accepting(queues), found


def foreseen(
    channel: "AmqpChannel", route: "Route", attributes: "RunAttributes", content: bytes
) -> "tuple[Destination, ...]":
    """Return the queues that a message would reach; no exchange learns of it."""
    if not route.dynamic and not attributes.wants & WANTS_CC:
        return route.queues
    assert route.exchange is not None
    return channel.publisher.targets(route.exchange, route, attributes, content, probe=True)[0]
