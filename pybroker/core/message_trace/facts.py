"""Facts of events, as plain objects: about a client, a message, or a copy of it."""

from typing import TYPE_CHECKING, Any

from pybroker.content_view import body_size, property_octets
from pybroker.core.message_trace.followed import READY
from pybroker.core.message_trace.waiting import why_waiting
from pybroker.wire.properties import decode_properties

if TYPE_CHECKING:
    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.channel.state import ChannelState
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.message_trace.followed import Copy
    from pybroker.run import Names

Facts = dict[str, Any]


def who(channel: "ChannelState") -> Facts:
    """Return the publisher or consumer on a channel."""
    party = channel.party
    name = channel.session.log_fields().get("client_name", "")
    return {"user": party.user, "connection": party.connection, "client_name": name, "channel": party.channel}


def holder(channel: "ChannelState", consumer: "Consumer | None", *, no_ack: bool) -> Facts:
    """Return to whom a message is delivered, and whether that settles it."""
    tag = None if consumer is None else consumer.tag
    return {**who(channel), "consumer_tag": tag, "auto_ack": no_ack}


def left_behind(batch: "Batch") -> Facts:
    """Return who had deliveries that come back without an answer; nothing if that is not known any more."""
    if batch.consumer is None:
        return {}
    channel = batch.consumer.channel
    closing: bool = getattr(channel, "closing", True)
    why = "its channel or connection was closed" if closing else "its acknowledgement timed out"
    return {**who(channel), "consumer_tag": batch.consumer.tag, "why": why}


def of_names(names: "Names") -> Facts:
    """Return the exchange and the routing key of a publish."""
    return {"exchange": names.exchange, "routing_key": names.routing_key}


def of_content(content: bytes) -> Facts:
    """Return what identifies a message. Its body is left out."""
    known = decode_properties(property_octets(content))
    facts: Facts = {"body_bytes": body_size(content)}
    for name in ("message_id", "correlation_id", "expiration"):
        value = getattr(known, name)
        if value is not None:
            facts[name] = value
    return facts


def state_of(copy: "Copy", now_ms: int) -> Facts:
    """Return where a copy is and how long it has been there."""
    facts = {"queue": copy.queue.name, "state": copy.state, "for_ms": now_ms - copy.since_ms, **copy.holder}
    return {**facts, **why_waiting(copy.queue)} if copy.state == READY else facts
