"""Class queue (AMQP §1.7). An empty name means the queue the channel declared last."""

from functools import partial
from typing import TYPE_CHECKING, Any

from pamqp import commands

from pybroker.amqp.direct_reply import REPLY_TO
from pybroker.core.auth.access import find_accessible_queue, strip_line_ends
from pybroker.core.events.cause import by_client
from pybroker.core.topology.exchange_declare import bind, unbind
from pybroker.core.topology.queue_declare import QueueProperties, check_queue_declare, create_queue
from pybroker.core.topology.queue_delete import check_queue_delete, purge_queue
from pybroker.core.topology.removal import check_leaving
from pybroker.errors import NotFound
from pybroker.wire.methods import make_method

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel


def queue_name(channel: "AmqpChannel", name: str) -> str:
    """Return `name`, or what an empty one means. Raises NotFound (404): `no previously declared queue`."""
    if name:
        return name
    if not channel.last_queue:
        raise NotFound("no previously declared queue")
    return channel.last_queue


def queue_declare(channel: "AmqpChannel", method: Any) -> None:
    """Make a queue, or compare with the one that exists [queue.declare]."""
    vhost, session = channel.publisher.vhost, channel.session
    if method.queue.startswith(REPLY_TO):
        _declare_reply_to(channel, method)
        return
    if method.passive:
        queue, commit_position = find_accessible_queue(vhost, session, strip_line_ends(method.queue)), 0
    else:
        asked = QueueProperties(method.durable, method.exclusive, method.auto_delete, method.arguments)
        name, existing = check_queue_declare(vhost, session.user, session, method.queue, asked)
        if existing is None:
            commit_position = create_queue(vhost, session.user, session, name, asked, by_client(session))
            queue = vhost.queues[name]
        else:
            # A client that declares what another has just declared must not be answered before it is on disk.
            queue, commit_position = existing, session.broker.definitions.commit_position if existing.durable else 0
    queue.catch_up()
    queue.touch()
    channel.last_queue = queue.name
    if not method.nowait:
        answer = make_method(
            commands.Queue.DeclareOk,
            queue=queue.name,
            message_count=queue.messages_ready,
            consumer_count=queue.consumer_count,
        )
        channel.send_defined(answer, commit_position)


def _declare_reply_to(channel: "AmqpChannel", method: Any) -> None:
    """Answer for a pseudo queue of direct reply-to: it exists while its consumer does [rmq direct reply-to]."""
    name = method.queue
    if name != REPLY_TO and name[len(REPLY_TO) + 1 :] not in channel.session.broker.reply_consumers:
        raise NotFound(f"no queue '{name}' in vhost '{channel.publisher.vhost.name}'")
    channel.last_queue = name
    if not method.nowait:
        channel.send(make_method(commands.Queue.DeclareOk, queue=name, message_count=0, consumer_count=1))


def queue_bind(channel: "AmqpChannel", method: Any) -> None:
    """Bind a queue to an exchange [queue.bind]."""
    session = channel.session
    queue, key = _queue_and_key(channel, method.queue, method.routing_key)
    vhost = channel.publisher.vhost
    check_leaving(vhost, "queue", queue)
    where = (method.exchange, "queue", queue, key, method.arguments, by_client(session))
    commit_position = bind(vhost, session.user, session, *where)
    if not method.nowait:
        channel.send_defined(make_method(commands.Queue.BindOk), commit_position)


def queue_unbind(channel: "AmqpChannel", method: Any) -> None:
    """Take a binding away [queue.unbind]."""
    session = channel.session
    queue, key = _queue_and_key(channel, method.queue, method.routing_key)
    vhost = channel.publisher.vhost
    check_leaving(vhost, "queue", queue)
    check_leaving(vhost, "exchange", method.exchange)
    where = (method.exchange, "queue", queue, key, method.arguments, by_client(session))
    removal = unbind(vhost, session.user, session, *where)
    channel.send_when_over(make_method(commands.Queue.UnbindOk), removal)


def _queue_and_key(channel: "AmqpChannel", name: str, key: str) -> tuple[str, str]:
    queue = queue_name(channel, name)
    # Both empty: the routing key is the queue's name as well (AMQP §1.7.2.3).
    return queue, (queue if not name and not key else key)


def queue_purge(channel: "AmqpChannel", method: Any) -> None:
    """Drop ready messages; unacknowledged ones stay [queue.purge]."""
    vhost, session = channel.publisher.vhost, channel.session
    count = purge_queue(vhost, session.user, session, queue_name(channel, method.queue), by_client(session))
    if not method.nowait:
        channel.send(make_method(commands.Queue.PurgeOk, message_count=count))


def queue_delete(channel: "AmqpChannel", method: Any) -> None:
    """Delete a queue; one that is not there counts as deleted with no messages [queue.delete]."""
    vhost, session = channel.publisher.vhost, channel.session
    name, conditions = queue_name(channel, method.queue), {"if_empty": method.if_empty, "if_unused": method.if_unused}
    queue = check_queue_delete(vhost, session.user, session, name, **conditions)
    if queue is None:
        if not method.nowait:
            # Another may just have deleted it.
            commit_position = session.broker.definitions.commit_position
            channel.send_defined(make_method(commands.Queue.DeleteOk, message_count=0), commit_position)
        return
    # The reply goes first: py-amqp takes a basic.cancel for a consumer of this channel before delete-ok for an error.
    answer = make_method(commands.Queue.DeleteOk, message_count=queue.messages_ready)
    call_back = None if method.nowait else partial(channel.release, channel.reserve(answer))
    vhost.delete_queue(queue, by_client(session), call_back)
