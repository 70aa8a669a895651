"""Class basic (AMQP §1.8), but for publish (`amqp/publishing.py`) and deliver (`amqp/consumer.py`)."""

import secrets
from base64 import b64encode, urlsafe_b64encode
from functools import partial
from typing import TYPE_CHECKING, Any

from pamqp import commands

from pybroker.amqp.consumer import AmqpConsumer
from pybroker.amqp.direct_reply import REPLY_TO
from pybroker.amqp.get import Get
from pybroker.amqp.methods.queue import queue_name
from pybroker.amqp.stream_consumer import StreamConsumer
from pybroker.amqp.tracked_consumer import TrackedConsumer, is_tracked
from pybroker.core.auth.access import find_accessible_queue
from pybroker.core.auth.permissions import check
from pybroker.core.channel.timed_out import TAG_MAX
from pybroker.core.events import connections as connection_events
from pybroker.core.events.cause import because
from pybroker.core.policy.arguments import check_consume_arguments, consumer_priority
from pybroker.core.stream.filter import filters_of
from pybroker.core.stream.offset import parse_offset
from pybroker.core.stream.refusals import check_consume, refuse_stream
from pybroker.core.stream.stream import Stream
from pybroker.errors import AccessRefused, MethodNotImplemented, NotAllowed, PreconditionFailed
from pybroker.wire.methods import make_method

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.removal import Removal
    from pybroker.wire.table import Table


def basic_qos(channel: "AmqpChannel", method: Any) -> None:
    """Limit what may be unacknowledged: for each new consumer, or, `global`, for the channel [basic.qos]."""
    if method.prefetch_size:
        raise MethodNotImplemented(f"prefetch_size!=0 ({method.prefetch_size})")
    if method.global_:
        channel.prefetch_global = method.prefetch_count
    else:
        channel.prefetch = method.prefetch_count
        channel.prefetch_global = 0
    channel.send(make_method(commands.Basic.QosOk))
    channel.resume_consumers()


def basic_consume(channel: "AmqpChannel", method: Any) -> None:
    """Subscribe to a queue [basic.consume].

    Raises NotAllowed (530) for a consumer tag in use, AccessRefused (403) beside an exclusive one, and what finding the
    queue raises.
    """
    session, vhost = channel.session, channel.publisher.vhost
    tag = method.consumer_tag
    if tag in channel.consumers:
        raise NotAllowed(f"attempt to reuse consumer tag '{tag}'")
    name = queue_name(channel, method.queue)
    if name == REPLY_TO:
        _consume_replies(channel, method)
        return
    if channel.reply_consumer is not None and tag == channel.reply_consumer[0]:
        raise NotAllowed(f"attempt to reuse consumer tag '{tag}'")
    check(session.user, vhost.name, "read", "queue", name)
    queue = find_accessible_queue(vhost, session, name)
    check_consume_arguments(queue, method.arguments)
    if queue.retains:
        check_consume(queue, no_ack=method.no_ack, prefetch=channel.prefetch, prefetch_global=channel.prefetch_global)
    consumers = queue.consumers
    # As in RabbitMQ, nobody has a stream alone.
    exclusive = method.exclusive and not queue.retains
    if consumers.exclusive is not None or (exclusive and (len(consumers) or consumers.single_active)):
        raise AccessRefused(f"queue '{queue.name}' in vhost '{vhost.name}' in exclusive use")
    settings = session.broker.settings
    maximum = settings.consumers_per_channel_max
    if maximum and len(channel.consumers) >= maximum:
        raise NotAllowed(f"reached maximum ({maximum}) of consumers per channel")
    maximum = settings.consumers_per_connection_max
    if maximum and session.consumers >= maximum:
        raise NotAllowed(f"reached maximum ({maximum}) of consumers per connection")
    consumer = _kind(queue, method.arguments, tag)(
        queue,
        channel,
        tag or "amq.ctag-" + _random(),
        no_ack=method.no_ack,
        exclusive=exclusive,
        prefetch=channel.prefetch,
    )
    # Differs from RabbitMQ: it ignores no_local everywhere.
    if method.no_local and queue.owner is None:
        text = "basic.consume: no_local has an effect on exclusive queues only"
        session.broker.warn("consumer.no_local_ignored", "no_local", text, session)
    elif method.no_local:
        consumer.no_local = True
        queue.refused_origin = session.id
    consumer.arguments = method.arguments
    consumer.priority = consumer_priority(method.arguments)
    if isinstance(consumer, StreamConsumer):
        offset = parse_offset(method.arguments)
        assert offset is not None
        consumer.begin(offset, filters_of(method.arguments))
    channel.consumers[consumer.tag] = consumer
    session.consumers += 1
    if not method.nowait:
        channel.send(make_method(commands.Basic.ConsumeOk, consumer_tag=consumer.tag))
    consumers.add(consumer)
    queue.expires_at_ms = 0
    queue.wake()
    connection_events.consumer_created(consumer)


def _kind(queue: "Queue", arguments: "Table", tag: str) -> type[AmqpConsumer]:
    """Return the class of a consumer. Raises PreconditionFailed (406)."""
    if not isinstance(queue, Stream):
        return AmqpConsumer
    return TrackedConsumer if is_tracked(arguments, tag) else StreamConsumer


def _random() -> str:
    return urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")


def _consume_replies(channel: "AmqpChannel", method: Any) -> None:
    """Become the target of direct replies ([rmq direct reply-to])."""
    if not method.no_ack:
        raise PreconditionFailed("reply consumer cannot acknowledge")
    if channel.reply_consumer is not None:
        raise PreconditionFailed("reply consumer already set")
    tag = method.consumer_tag or "amq.ctag-" + _random()
    # Two parts in base64 with their padding, as RabbitMQ's: php-amqplib tells such names by the `==` at their end.
    key = ".".join(b64encode(secrets.token_bytes(16)).decode() for _ in range(2))
    channel.reply_consumer = (tag, key)
    channel.session.broker.reply_consumers[key] = channel
    if not method.nowait:
        channel.send(make_method(commands.Basic.ConsumeOk, consumer_tag=tag))


def basic_cancel(channel: "AmqpChannel", method: Any) -> None:
    """End a subscription; delivered messages stay unacknowledged [basic.cancel]."""
    tag = method.consumer_tag
    consumer = channel.consumers.pop(tag, None)
    if consumer is not None:
        channel.session.consumers -= 1
        consumer.queue.catch_up()
        consumer.queue.consumers.remove(consumer)
        channel.consumer_gone(consumer)
    elif channel.reply_consumer is not None and tag == channel.reply_consumer[0]:
        channel.session.broker.reply_consumers.pop(channel.reply_consumer[1], None)
        channel.reply_consumer = None
    if not method.nowait:
        channel.send(make_method(commands.Basic.CancelOk, consumer_tag=tag))
    if consumer is not None:
        connection_events.consumer_deleted(consumer)
        consumer.queue.consumer_left(because("auto-delete: its last consumer was cancelled", channel.session))


def basic_get(channel: "AmqpChannel", method: Any) -> None:
    """Fetch one message, or learn at once that there is none [basic.get]."""
    session, vhost = channel.session, channel.publisher.vhost
    name = queue_name(channel, method.queue)
    check(session.user, vhost.name, "read", "queue", name)
    queue = find_accessible_queue(vhost, session, name)
    refuse_stream(queue, "basic.get")
    queue.catch_up()
    get = Get(channel, queue, no_ack=method.no_ack)
    # Methods take effect in order, so the message is taken now if it can be; behind another get it cannot, for its tag.
    if (channel.reply_queue is None or not channel.reply_queue.calls) and get.completed:
        for octets in get.answer():
            channel.send_octets(octets)
    else:
        channel.wait_for(get.answer, get, 1)


def basic_ack(channel: "AmqpChannel", method: Any) -> None:
    """Acknowledge, when the ack did not come the short way [basic.ack]."""
    channel.ack(method.delivery_tag, method.delivery_tag, multiple=method.multiple)


def basic_nack(channel: "AmqpChannel", method: Any) -> None:
    """Reject one or many [rmq basic.nack]."""
    channel.nack(method.delivery_tag, multiple=method.multiple, requeue=method.requeue)


def basic_reject(channel: "AmqpChannel", method: Any) -> None:
    """Reject one [basic.reject]."""
    channel.nack(method.delivery_tag, multiple=False, requeue=method.requeue, failed=True)


def basic_recover_async(channel: "AmqpChannel", method: Any) -> None:
    """Requeue everything unacknowledged [basic.recover-async]."""
    _requeue_all(channel, method)


def _requeue_all(channel: "AmqpChannel", method: Any) -> "Removal | None":
    """Requeue everything unacknowledged; return what an answer has to wait for, if any."""
    if not method.requeue:
        raise MethodNotImplemented("requeue=false")
    batches = list(channel.unacked)
    channel.unacked.clear()
    channel.answer_timed_out(1, TAG_MAX)
    return channel.give_back(batches, requeue=True)


def basic_recover(channel: "AmqpChannel", method: Any) -> None:
    """Requeue everything unacknowledged, and say so when all of it is back [basic.recover]."""
    removal = _requeue_all(channel, method)
    if removal is None:
        _recovered(channel)
    else:
        removal.call_backs.append(partial(_recovered, channel))


def _recovered(channel: "AmqpChannel") -> None:
    """Answer, unless the channel or its connection ended meanwhile."""
    if channel.session.channels.get(channel.number) is channel and not channel.closing:
        channel.send(make_method(commands.Basic.RecoverOk))
