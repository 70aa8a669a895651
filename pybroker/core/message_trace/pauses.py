"""Pauses in traces: messages that paused queues withhold or refuse, and by whose order.

A message that is withheld has not been published yet: it is followed, and has a number, when it is.
"""

from typing import TYPE_CHECKING, Any

from pybroker.core.message_trace.facts import of_names, who
from pybroker.core.message_trace.guard import Guard
from pybroker.core.message_trace.waiting import order_facts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.message_trace.followed import Followed
    from pybroker.core.message_trace.hub import Traces
    from pybroker.core.message_trace.trace import MessageTrace
    from pybroker.core.queue.destination import Destination
    from pybroker.core.routing.publish import Route

    # A door's own.
    Channel = Any


def withheld(
    traces: "Traces", channel: "Channel", route: "Route", content: bytes, queues: "Iterable[Destination]", name: str
) -> None:
    """Report that the paused queue `name` withholds a publish that would reach these queues."""
    vhost = channel.publisher.vhost
    queue = vhost.queues.get(name)
    facts = {"queue": name, **of_names(route.names), **who(channel), **order_facts(queue and queue.paused)}
    for trace in traces.of(vhost):
        with Guard(trace):
            if trace.wants(route.names.exchange, content, queues):
                trace.note("withheld", **facts)


def begun(trace: "MessageTrace", queue_name: str) -> None:
    """Report connections whose publishes are withheld when a trace begins, by that queue or, without a name, by any.

    Their messages are not known.
    """
    vhost = trace.vhost
    for session in list(vhost.sessions):
        throttle = getattr(session, "throttle", None)
        cause = None if throttle is None else throttle.paused_by
        queue = None if cause is None else vhost.queues.get(cause.name)
        if queue is not None and queue_name in {"", queue.name}:
            user = "" if session.user is None else session.user.name
            facts = {"user": user, "connection": session.name, **order_facts(queue.paused)}
            trace.note("connection_withheld", queue=queue.name, **facts)


def refused(trace: "MessageTrace", followed: "Followed", queues: "Iterable[Destination]") -> None:
    """Report that queues refuse a message because they are paused."""
    for queue in queues:
        trace.report(followed, "pause_refused", queue=queue.name, **order_facts(queue.paused))
