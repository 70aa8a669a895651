"""Direct reply-to ([rmq direct reply-to]): answers go straight to the channel that waits for them, without a queue.

A reply consumer is a channel's `reply_consumer`, found by its key in the broker's `reply_consumers`. Becoming one is
`methods/basic.py`'s.
"""

from typing import TYPE_CHECKING, Any, Final

from pamqp import commands

from pybroker.content_view import property_octets, with_properties
from pybroker.core.routing.publish import Contents, Route
from pybroker.errors import PreconditionFailed
from pybroker.wire import properties
from pybroker.wire.content import attributes_for, on_channel, reframe
from pybroker.wire.methods import make_method

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel
    from pybroker.amqp.session import AmqpSession

REPLY_TO: Final = "amq.rabbitmq.reply-to"
# Replies that a peer has not read yet: they are not acknowledged, so nothing else bounds them.
REPLIES_OCTETS_MAX: Final = 16_777_216


def check_reply_consumer(channel: "AmqpChannel") -> None:
    """Refuse direct reply-to from a channel that does not listen for replies. Raises PreconditionFailed (406)."""
    if channel.reply_consumer is None:
        raise PreconditionFailed("fast reply consumer does not exist")


def set_reply_to(channel: "AmqpChannel", single: Contents) -> None:
    """Replace the pseudo queue of a request by this channel's own address."""
    assert channel.reply_consumer is not None
    content = single.contents[0]
    octets = properties.replace_reply_to(property_octets(content), f"{REPLY_TO}.{channel.reply_consumer[1]}")
    content = with_properties(content, octets)
    single.contents[0] = content
    single.octets = len(content)
    single.attributes = attributes_for(octets)


def trace_reply(channel: "AmqpChannel", route: Route, single: Contents) -> None:
    """Tell what becomes of a reply."""
    broker = channel.session.broker
    broker.traces.replied(channel, route, single, there=route.to_reply in broker.reply_consumers)


def deliver_reply(publisher: "AmqpSession", route: Route, content: bytes) -> bool:
    """Put a reply into the outbox of the waiting client; False without one. Replies are never acknowledged."""
    assert route.to_reply is not None
    channel: Any = publisher.broker.reply_consumers.get(route.to_reply)
    if channel is None:
        return False
    assert channel.reply_consumer is not None
    session = channel.session
    # Differs from RabbitMQ: it keeps replies without bound for clients that do not read them.
    held_octets = 0 if channel.reply_queue is None else channel.reply_queue.octets
    if session.send_pend + held_octets > REPLIES_OCTETS_MAX:
        text = f"Replies to {channel!r} are dropped because it does not read them"
        session.broker.warn("reply.dropped", f"replies {session.id}", text, session)
        return False
    tag = channel.next_tag
    channel.next_tag += 1
    channel.send(
        make_method(
            commands.Basic.Deliver,
            consumer_tag=channel.reply_consumer[0],
            delivery_tag=tag,
            redelivered=False,
            exchange=route.names.exchange,
            routing_key=route.names.routing_key,
        )
    )
    theirs, ours = session.frame_octets_max, publisher.frame_octets_max
    if theirs and (not ours or ours > theirs):
        channel.send_octets(reframe(content, channel.number, theirs))
    else:
        channel.send_octets(on_channel([content], channel.number)[0])
    return True
