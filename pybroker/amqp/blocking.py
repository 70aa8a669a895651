"""Publishes that a paused queue withholds, and what a peer is told when alarms or pauses block it.

Its input stays where it is, so everything behind the publish waits as well. Knows no alarm but by the throttle.
"""

from typing import TYPE_CHECKING, cast

from pamqp import commands

from pybroker.amqp import publishing, withholding
from pybroker.core.queue import pause
from pybroker.errors import AmqpError
from pybroker.wire.methods import make_method

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel
    from pybroker.amqp.session import AmqpSession


def is_publish_withheld(session: "AmqpSession") -> bool:
    """Tell whether the publish that is next in a session would reach a paused queue, wherever it is routed now."""
    vhost = session.vhost
    if vhost is None or not vhost.paused:
        return False
    route, attributes, contents, *_ = session.events[0]
    try:
        if route.generation != vhost.generation:
            publishing.resolve(cast("AmqpChannel", route.owner), route)
        queues = withholding.foreseen(cast("AmqpChannel", route.owner), route, attributes, contents[0])
    except AmqpError:
        return False  # which is the answer that it gets
    return pause.withholding(queues) is not None


def notify(session: "AmqpSession") -> None:
    """Tell a peer that wants to know that it is blocked, or is not any more; once."""
    cause, by_alarm = session.throttle.paused_by, session.throttle.blocked
    blocked = by_alarm or cause is not None
    if blocked == session.told_blocked or session.capabilities.get("connection.blocked") is not True:
        return
    session.told_blocked = blocked
    if blocked:
        reason = session.broker.alarms.reason if by_alarm else str(cause)
        session.send_method(0, make_method(commands.Connection.Blocked, reason=reason))
    else:
        session.send_method(0, make_method(commands.Connection.Unblocked))
