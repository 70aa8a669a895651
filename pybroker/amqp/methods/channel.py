"""Class channel (AMQP §1.5)."""

from functools import partial
from typing import TYPE_CHECKING, Any

from pamqp import commands

from pybroker.core.channel.throttle import RequeueCause
from pybroker.core.events import connections as connection_events
from pybroker.errors import ChannelError, MethodNotImplemented
from pybroker.wire.methods import make_method

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel


def channel_open(channel: "AmqpChannel", _method: Any) -> None:
    """Open the channel. Raises ChannelError (504) for an open one [channel.open]."""
    if not channel.starting:
        raise ChannelError("second 'channel.open' seen", (20, 10))
    channel.starting = False
    channel.send(make_method(commands.Channel.OpenOk))
    channel.session.broker.totals.churn.count("channels_opened")
    connection_events.channel_created(channel)


def channel_close(channel: "AmqpChannel", _method: Any) -> None:
    """Close the channel at the peer's wish [channel.close]."""
    # Ours is on its way: the number is free when that is answered. If it still stands in the queue it never will be.
    collision = channel.closing and channel.reply_queue is None
    # The peer would ignore replies that it has not received by now (AMQP §1.5.2.5), so they need not wait for the disk.
    channel.drop_line()
    removal = channel.end()
    if removal is None:
        _closed(channel, collision)
        return
    # The answer means that all of it is back.
    channel.session.wait_for(removal, RequeueCause())
    removal.call_backs.append(partial(_closed, channel, collision))


def _closed(channel: "AmqpChannel", collision: bool) -> None:
    """Answer, unless the connection ended meanwhile."""
    if channel.session.channels.get(channel.number) is channel:
        channel.send(make_method(commands.Channel.CloseOk))
        if not collision:
            _forget(channel)


def channel_close_ok(channel: "AmqpChannel", _method: Any) -> None:
    """Forget a channel that we closed; one that we did not stays as it is [channel.close-ok]."""
    if channel.closing:
        channel.drop_line()
        _forget(channel)


def _forget(channel: "AmqpChannel") -> None:
    if channel.session.channels.pop(channel.number, None) is not None:
        channel.session.count_channels(-1)
        channel.session.channel_closed(channel)


def channel_flow(channel: "AmqpChannel", method: Any) -> None:
    """Pause or resume deliveries on the channel [channel.flow].

    Raises MethodNotImplemented (540) for a pause under `amqp.flow = refuse`.
    """
    # Differs from RabbitMQ: it answers active=false with 540.
    if not method.active and channel.session.broker.settings.refuse_flow:
        raise MethodNotImplemented("active=false")
    channel.flow_active = method.active
    channel.send(make_method(commands.Channel.FlowOk, active=method.active))
    channel.pause_or_resume()


def channel_flow_ok(_channel: "AmqpChannel", _method: Any) -> None:
    """Ignore an answer to a question we never ask [channel.flow-ok]."""
