"""Consumer timeout: a delivery that nobody acknowledges goes back to its queue ([rmq consumer_timeout]).

Looked at once a second, from each channel's oldest delivery on, so that a message costs nothing. One message of it goes
back; while the channel acknowledges nothing at all it is twice as many each second, so that a consumer that is merely
slow keeps what it will come to, and one that is stuck has soon given everything back.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.channel.requeue import give_back
from pybroker.core.channel.timed_out import TimedOutTags
from pybroker.errors import PreconditionFailed

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel
    from pybroker.amqp.session import AmqpSession
    from pybroker.core.channel.unacked import Batch
    from pybroker.core.queue.queue import Queue

# As queues may have timeouts of their own, the oldest delivery need not be the first to time out: so many are looked
# at.
LOOK_BATCHES: Final = 1_024
# From which part of the timeout on the log warns of it.
WARN_PART: Final = 0.8
# A peer that was not read could not acknowledge anything: what it sent is read first.
GRACE_MS: Final = 10_000
# Of a session that was always read: as if it had not been so long ago.
UNREAD_NEVER_MS: Final = -GRACE_MS


def check(session: "AmqpSession", now_ms: int) -> None:
    """Do what old deliveries of a session's channels call for, once a second."""
    for channel in session.channels.values():
        if channel.unacked.count:
            channel.unacked.unpin(now_ms)
            try:
                _watch(channel, now_ms)
            except PreconditionFailed as error:
                session.channel_failed(channel, error, (0, 0))


def _watch(channel: "AmqpChannel", now_ms: int) -> None:
    """Return what has been out for too long.

    Raises PreconditionFailed (406) instead where RabbitMQ's way is configured.
    """
    session = channel.session
    differ = session.broker.timeouts_differ
    due: list[Batch] = []
    for batch in channel.unacked.oldest_first(LOOK_BATCHES):
        timeout_ms = timeout_of(batch.queue)
        age_ms = now_ms - batch.delivered_ms
        if timeout_ms and age_ms >= timeout_ms:
            due.append(batch)
            continue
        if timeout_ms and age_ms >= WARN_PART * timeout_ms:
            _warn(channel, batch, age_ms, timeout_ms)
        if not differ:
            break
    if due and now_ms - session.unread_ms >= GRACE_MS:
        _lapse(channel, due)


def timeout_of(queue: "Queue") -> int:
    """Return how long a delivery from this queue may be out, in milliseconds; 0: as long as it likes."""
    mine = queue.limits.consumer_timeout_ms
    return queue.vhost.broker.settings.consumer_timeout_ms if mine is None else mine


def _lapse(channel: "AmqpChannel", due: "list[Batch]") -> None:
    broker, unacked = channel.session.broker, channel.unacked
    batch, timeout_ms = due[0], timeout_of(due[0].queue)
    # RabbitMQ's line to the letter.
    text = (
        f"Consumer '{_tag(batch)}' on channel {channel.number} and {batch.queue!r} has timed out waiting for a "
        f"consumer acknowledgement of a delivery with delivery tag = {batch.first_tag}. Timeout used: {timeout_ms} ms. "
        "This timeout value can be configured, see consumers doc guide to learn more"
    )
    key = f"timed out {channel.session.id} {channel.number}"
    # Differs from RabbitMQ: it closes the channel always.
    if broker.settings.close_timed_out:
        broker.warn("consumer.timed_out", key, text, channel.session, channel=channel.number, queue=batch.queue.name)
        raise PreconditionFailed(
            f"delivery acknowledgement on channel {channel.number} timed out. Timeout value used: {timeout_ms} ms. "
            "This timeout value can be configured, see consumers doc guide to learn more"
        )
    timed_out = channel.timed_out
    if timed_out is None:
        timed_out = channel.timed_out = TimedOutTags()
    left = timed_out.next_pace(channel.next_tag - 1 - unacked.count - timed_out.count)
    text += ". The message is requeued, and the channel stays open"
    broker.warn("consumer.timed_out", key, text, channel.session, channel=channel.number, queue=batch.queue.name)
    back: list[Batch] = []
    for batch in due:
        if left <= 0:
            break
        back += unacked.pop_range(batch.first_tag, min(batch.last_tag, batch.first_tag + left - 1))
        left -= len(back[-1].indexes)
        timed_out.add(back[-1])
    give_back(back, requeue=True)


def _warn(channel: "AmqpChannel", batch: "Batch", age_ms: int, timeout_ms: int) -> None:
    channel.session.broker.warn(
        "consumer.slow",
        f"slow {channel.session.id} {channel.number}",
        f"Consumer '{_tag(batch)}' on {channel!r} and {batch.queue!r} has not acknowledged delivery tag "
        f"{batch.first_tag} for {age_ms // 1000} s. It times out after {timeout_ms} ms",
        channel.session,
        channel=channel.number,
        queue=batch.queue.name,
    )


def _tag(batch: "Batch") -> str:
    return "none" if batch.consumer is None else batch.consumer.tag
