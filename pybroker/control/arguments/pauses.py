"""Reasons and consumers, as the commands that pause and resume are given them."""

from typing import TYPE_CHECKING

from pybroker.control.spec import EX_DATAERR, BadArguments, Refused
from pybroker.humanize import utc

if TYPE_CHECKING:
    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.queue.pause import Pause
    from pybroker.core.topology.vhost import VHost

WHY_OCTETS_MAX = 255


def check_reason(why: str) -> None:
    """Refuse a reason that says nothing, or is a story. Raises BadArguments."""
    if not why.strip():
        raise BadArguments("Bad argument: --why must give a reason")
    if len(why.encode()) > WHY_OCTETS_MAX:
        raise BadArguments(f"Bad argument: --why must be at most {WHY_OCTETS_MAX} octets", EX_DATAERR)


def find_consumer(vhost: "VHost", tag: str, queue_name: str | None, connection: str | None) -> "Consumer":
    """Return the consumer with this tag. Raises Refused when there is none, or not only one."""
    queues = vhost.queues.values() if queue_name is None else filter(None, [vhost.queues.get(queue_name)])
    found = [
        consumer
        for queue in list(queues)
        for consumer in queue.consumers
        if consumer.tag == tag and connection in {None, *_names(consumer)}
    ]
    if not found:
        raise Refused(
            f"no consumer in virtual host '{vhost.name}' has the tag '{tag}'; see 'pybrokerctl list_consumers'"
        )
    if len(found) > 1:
        raise Refused(f"{len(found)} consumers have the tag '{tag}': choose one by --queue or --connection")
    return found[0]


def was_paused(before: "Pause") -> str:
    """Return what people are told of an order that another one replaces."""
    return f"It was paused for {before.whom} by {before.user} at {utc(before.since_ms)}, because: {before.why}"


def _names(consumer: "Consumer") -> tuple[str, str]:
    session = consumer.channel.session
    pid: str = getattr(session, "pid", "")
    return pid, session.name
