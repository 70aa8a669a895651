"""queue.declare: all that must be right before a queue is made, in RabbitMQ's order (rabbit_channel); making it."""

import secrets
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, NamedTuple

from pybroker.core.auth.access import check_link, check_reserved, strip_line_ends
from pybroker.core.auth.permissions import CONFIGURE, check
from pybroker.core.auth.quota import check_queue
from pybroker.core.events import topology as topology_events
from pybroker.core.events.cause import because
from pybroker.core.metadata.store import save_queue
from pybroker.core.policy.argument_values import DEAD_LETTER_EXCHANGE, QUEUE_TYPE
from pybroker.core.policy.arguments import (
    check_declare_arguments,
    check_queue_properties,
    check_stream_sizes,
    queue_limits,
    queue_type_of,
)
from pybroker.core.stream.make import make_queue
from pybroker.core.topology.equivalence import assert_equivalent
from pybroker.core.topology.policies import STRATEGY, warn_of_dead_letters
from pybroker.core.topology.removal import StillLeavingError
from pybroker.errors import PreconditionFailed

if TYPE_CHECKING:
    from pybroker.core.auth.users import User
    from pybroker.core.channel.state import SessionState
    from pybroker.core.events.cause import Cause
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost
    from pybroker.wire.table import Table


class QueueProperties(NamedTuple):
    """The properties that a queue.declare asks for, beside the name."""

    durable: bool
    exclusive: bool
    auto_delete: bool
    arguments: "Table"


def check_queue_declare(
    vhost: "VHost", user: "User | None", session: "SessionState | None", name: str, asked: QueueProperties
) -> "tuple[str, Queue | None]":
    """Check an active queue.declare to the end; return the name, made up if none was given, and the queue if it exists.

    If the queue is None, the caller makes it. The vhost's default queue type is put into the arguments.

    Raises AccessRefused (403), ResourceLocked (405), PreconditionFailed (406); StillLeavingError.
    """
    durable, exclusive, auto_delete, arguments = asked
    name = strip_line_ends(name)
    if vhost.queue_type and QUEUE_TYPE not in arguments:
        _add_default_type(vhost, arguments, fits=durable and not exclusive and not auto_delete)
    if name:
        check_reserved("queue", name)
    else:
        name = _server_name(arguments)
    check(user, vhost.name, CONFIGURE, "queue", name)
    vhost.broker.totals.churn.count("queues_declared")
    durable = durable and not exclusive
    owner = session if exclusive else None
    queue = vhost.queues.get(name)
    if queue is not None and queue.owner is not None and queue.owner is not session:
        # Differs from RabbitMQ: an owner whose peer has gone unnoticed goes first, its exclusive queues with it.
        if exclusive and not queue.owner.peer_alive():
            queue.owner.peer_gone("its exclusive queue is declared again")
        if not queue.deleted and queue not in queue.owner.exclusive_queues:
            vhost.delete_queue(queue, because("exclusive: its connection ended", queue.owner))
        queue = vhost.queues.get(name)
    if queue is not None:
        assert_equivalent(queue, durable=durable, auto_delete=auto_delete, owner=owner, arguments=arguments)
        return name, queue
    if ("queue", name) in vhost.leaving:
        raise StillLeavingError(vhost.leaving["queue", name])
    check_queue(vhost, name)
    check_link(vhost, user, "queue", name, arguments, DEAD_LETTER_EXCHANGE)
    queue_type = check_declare_arguments(vhost, name, arguments)
    check_queue_properties(vhost, name, queue_type, durable=durable, exclusive=exclusive, auto_delete=auto_delete)
    check_stream_sizes(queue_type, arguments)
    return name, None


def create_queue(
    vhost: "VHost",
    user: "User | None",
    session: "SessionState | None",
    name: str,
    asked: QueueProperties,
    cause: "Cause",
) -> int:
    """Make a queue that has been checked; one that is durable, and not exclusive, is kept.

    Return the commit position to wait for.
    """
    if ("queue", name) in vhost.leaving:
        vhost.broker.removals.finish()
    owner = session if asked.exclusive else None
    queue = vhost.queues[name] = make_queue(
        vhost,
        name,
        durable=asked.durable and owner is None,
        auto_delete=asked.auto_delete,
        owner=owner,
        arguments=asked.arguments,
        limits=queue_limits(asked.arguments, queue_type_of(asked.arguments)),
        user=user.name if user is not None else "",
    )
    if owner is not None:
        owner.exclusive_queues[queue] = None
    elif not asked.durable:
        vhost.broker.warn(
            "queue.transient",
            f"transient {vhost.name}/{name}",
            f"{queue!r} is transient and not exclusive: permitted, but deprecated in RabbitMQ 4",
            vhost=vhost.name,
            queue=name,
        )
    vhost.broker.policies.apply(queue)
    if STRATEGY in asked.arguments:
        warn_of_dead_letters(queue)
    commit_position = save_queue(queue)
    vhost.bump()
    vhost.broker.totals.churn.count("queues_created")
    topology_events.queue_created(queue, cause)
    return commit_position


def _add_default_type(vhost: "VHost", arguments: "Table", *, fits: bool) -> None:
    """Add the vhost's default type, or classic for a queue that could not have that one (rabbit_amqqueue)."""
    arguments[QUEUE_TYPE] = vhost.queue_type if fits else "classic"


def _server_name(arguments: "Table") -> str:
    """Return `amq.gen-` and 22 random characters. Raises PreconditionFailed (406) for types that want a name."""
    queue_type = queue_type_of(arguments)
    if queue_type != "classic":
        text = f"Cannot declare a server-named queue for type rabbit_{queue_type}_queue"
        raise PreconditionFailed(text)
    return "amq.gen-" + urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
