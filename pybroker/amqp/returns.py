"""Messages that nobody takes: returned to a publisher that wants to know ([basic.return]), else counted and dropped."""

from typing import TYPE_CHECKING

from pamqp import commands

from pybroker.wire.methods import make_method

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel
    from pybroker.core.routing.publish import Contents, Route


def unroutable(channel: "AmqpChannel", route: "Route", contents: "Contents", code: int, name: str) -> None:
    """Return or drop messages that nobody takes; a transaction does so at its commit, when it enqueues the others."""
    if channel.transaction is not None and code == 312:
        channel.transaction.publish(route, contents, ())
    else:
        return_or_drop(channel, route, contents.contents, code, name)


def return_or_drop(channel: "AmqpChannel", route: "Route", contents: list[bytes], code: int, name: str) -> None:
    """Return messages that nobody takes, if the publisher wants to know; else count and drop them."""
    broker = channel.session.broker
    returned = route.mandatory or (code == 313 and route.immediate)
    if broker.losses is not None:
        broker.losses.unroutable(channel.publisher.vhost, route.names, contents, name, returned=returned)
    if returned:
        _send_returns(channel, route, contents, code, name)
    else:
        broker.unroutable += len(contents)


def _send_returns(channel: "AmqpChannel", route: "Route", contents: list[bytes], code: int, name: str) -> None:
    """Send basic.return for each, with the original exchange and key (A9), before any confirm of them.

    Like confirms they do not stand behind replies that wait for the disk.
    """
    session = channel.session
    session.broker.returned += len(contents)
    method = make_method(
        commands.Basic.Return,
        reply_code=code,
        reply_text=name,
        exchange=route.names.exchange,
        routing_key=route.names.routing_key,
    )
    for content in contents:
        session.send_method(channel.number, method)
        session.send(content)
