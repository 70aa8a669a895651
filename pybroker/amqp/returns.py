"""Messages that nobody takes: returned to a publisher that wants to know ([basic.return]), else counted and dropped."""

from typing import TYPE_CHECKING

from pamqp import commands

from pybroker.wire.methods import make_method

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel
    from pybroker.core.routing.exchange import Exchange
    from pybroker.core.routing.publish import Contents, Route
    from pybroker.core.stats.traffic import Traffic


def unroutable(channel: "AmqpChannel", route: "Route", contents: "Contents", code: int, name: str) -> None:
    """Return or drop messages that nobody takes; a transaction does so at its commit, when it enqueues the others."""
    if channel.transaction is not None and code == 312:
        channel.transaction.publish(route, contents, ())
    else:
        return_or_drop(channel, route, contents.contents, code, name)


def return_or_drop(channel: "AmqpChannel", route: "Route", contents: list[bytes], code: int, name: str) -> None:
    """Return messages that nobody takes, if the publisher wants to know; else count and drop them."""
    broker, n = channel.session.broker, len(contents)
    returned = route.mandatory or (code == 313 and route.immediate)
    if broker.losses is not None:
        broker.losses.unroutable(channel.publisher.vhost, route.names, contents, name, returned=returned)
    exchange = counting(channel, route)
    if returned:
        channel.returned += n
        exchange.returned += n
        _send_returns(channel, route, contents, code, name)
    else:
        channel.dropped += n
        exchange.dropped += n


def counting(channel: "AmqpChannel", route: "Route") -> "Exchange | Traffic":
    """Return what counts a route's messages: its exchange, or if that is gone, before a commit, the virtual host."""
    exchange, vhost = route.exchange, channel.publisher.vhost
    assert exchange is not None
    return exchange if vhost.exchanges.get(exchange.name) is exchange else vhost.traffic


def _send_returns(channel: "AmqpChannel", route: "Route", contents: list[bytes], code: int, name: str) -> None:
    """Send basic.return for each, with the original exchange and key, before any confirm of them.

    Like confirms they do not stand behind replies that wait for the disk.
    """
    session = channel.session
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
