"""queue.delete and queue.purge: all that must be right before, in RabbitMQ's order (rabbit_channel); purging."""

from typing import TYPE_CHECKING

from pybroker.core.auth.access import check_exclusive_access, find_accessible_queue, strip_line_ends
from pybroker.core.auth.permissions import CONFIGURE, READ, check
from pybroker.core.events import topology as topology_events
from pybroker.core.stream.refusals import refuse_stream
from pybroker.core.topology.removal import check_leaving
from pybroker.errors import PreconditionFailed

if TYPE_CHECKING:
    from pybroker.core.auth.users import User
    from pybroker.core.channel.state import SessionState
    from pybroker.core.events.cause import Cause
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost


def check_queue_delete(
    vhost: "VHost", user: "User | None", session: "SessionState | None", name: str, *, if_empty: bool, if_unused: bool
) -> "Queue | None":
    """Check a queue.delete to the end; return the queue, which the caller deletes. None: there is none [queue.delete].

    Raises AccessRefused (403), ResourceLocked (405), PreconditionFailed (406): `queue 'q' in vhost '/' not empty`,
    `... in use`; StillLeavingError.
    """
    name = strip_line_ends(name)
    check_leaving(vhost, "queue", name)
    check(user, vhost.name, CONFIGURE, "queue", name)
    queue = vhost.queues.get(name)
    if queue is None:
        return None
    if user is not None:
        check_exclusive_access(queue, session)
    queue.catch_up()
    # Differs from RabbitMQ: it deletes a stream although it has messages, or consumers.
    if if_empty and (queue.messages_ready or queue.messages_delayed):
        raise PreconditionFailed(f"queue '{name}' in vhost '{vhost.name}' not empty")
    if if_unused and queue.in_use:
        raise PreconditionFailed(f"queue '{name}' in vhost '{vhost.name}' in use")
    return queue


def purge_queue(vhost: "VHost", user: "User | None", session: "SessionState | None", name: str, cause: "Cause") -> int:
    """Drop a queue's ready and delayed messages; return how many. Unacknowledged ones stay [queue.purge].

    Raises AccessRefused (403), NotFound (404), ResourceLocked (405), MethodNotImplemented (540) for a stream.
    """
    check(user, vhost.name, READ, "queue", name)
    queue = vhost.queues[name] if user is None and name in vhost.queues else find_accessible_queue(vhost, session, name)
    refuse_stream(queue, "queue.purge")
    queue.catch_up()
    count = queue.purge()
    topology_events.queue_purged(queue, cause, count)
    return count
