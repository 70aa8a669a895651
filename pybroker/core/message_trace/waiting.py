"""Why a ready message is not delivered: the state of its queue and of its consumers."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.core.queue.queue import Queue

if TYPE_CHECKING:
    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.queue.destination import Destination
    from pybroker.core.queue.pause import Pause

# Consumers of a queue that are looked at.
CONSUMERS_MAX: Final = 64

NO_CONSUMER: Final = "no_consumer"
PAUSED: Final = "paused"
PREFETCH: Final = "prefetch"
UNREAD: Final = "not_read"
FLOW: Final = "channel_flow"
RETURNS: Final = "returns"
REPLIES: Final = "replies"
BEHIND: Final = "behind"


def why_waiting(destination: "Destination") -> dict[str, Any]:
    """Return `why`, one of these words, and figures that explain it; nothing for what is not a queue."""
    if not isinstance(destination, Queue) or destination.deleted:
        return {}
    consumers = list(destination.consumers)
    facts = {"messages_ready": destination.messages_ready, "consumers": len(consumers)}
    if destination.paused is not None and destination.paused.consume:
        return {"why": PAUSED, **facts, **order_facts(destination.paused)}
    if not consumers:
        return {"why": NO_CONSUMER, **facts}
    if destination.returns:
        return {"why": RETURNS, **facts}
    looked_at = [consumer for consumer in consumers[:CONSUMERS_MAX] if consumer.active or consumer.paused is not None]
    reasons = [_of_consumer(consumer) for consumer in looked_at]
    if not reasons or "" in reasons:
        return {"why": BEHIND, **facts}
    facts["messages_unacknowledged"] = sum(consumer.unacked for consumer in consumers)
    why = max(set(reasons), key=reasons.count)
    order = next((consumer.paused for consumer in looked_at if consumer.paused is not None), None)
    return {"why": why, **facts, **(order_facts(order) if why == PAUSED else {})}


def order_facts(order: "Pause | None") -> dict[str, Any]:
    """Return by whose order something is paused, and why; nothing without one."""
    return {} if order is None else {"paused_by": order.user, "paused_why": order.why}


def _of_consumer(consumer: "Consumer") -> str:
    """Return why a consumer gets nothing now; an empty text if it would get something."""
    if consumer.paused is not None:
        return PAUSED
    if consumer.credit() > 0:
        return ""
    channel: Any = consumer.channel
    if channel.session.outbox_full:
        return UNREAD
    if not channel.may_deliver:
        return REPLIES if channel.flow_active else FLOW
    return PREFETCH
