"""Class exchange (AMQP §1.6), with RabbitMQ's exchange-to-exchange bindings."""

from typing import TYPE_CHECKING, Any

from pamqp import commands

from pybroker.core.events.cause import by_client
from pybroker.core.topology.exchange_declare import bind, declare_exchange, delete_exchange, unbind
from pybroker.core.topology.removal import check_leaving
from pybroker.wire.methods import make_method

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel


def exchange_declare(channel: "AmqpChannel", method: Any) -> None:
    """Make an exchange, or compare with the one that exists [exchange.declare]."""
    commit_position = declare_exchange(
        channel.publisher.vhost,
        channel.session.user,
        method.exchange,
        method.exchange_type,
        passive=method.passive,
        durable=method.durable,
        auto_delete=method.auto_delete,
        internal=method.internal,
        arguments=method.arguments,
        cause=by_client(channel.session),
    )
    if not method.nowait:
        channel.send_defined(make_method(commands.Exchange.DeclareOk), commit_position)


def exchange_delete(channel: "AmqpChannel", method: Any) -> None:
    """Delete an exchange [exchange.delete]."""
    vhost, user = channel.publisher.vhost, channel.session.user
    check_leaving(vhost, "exchange", method.exchange)
    removal = delete_exchange(vhost, user, method.exchange, by_client(channel.session), if_unused=method.if_unused)
    if not method.nowait:
        channel.send_when_over(make_method(commands.Exchange.DeleteOk), removal)


def exchange_bind(channel: "AmqpChannel", method: Any) -> None:
    """Bind an exchange to an exchange [rmq exchange.bind]."""
    commit_position = bind(*_ends(channel, method))
    if not method.nowait:
        channel.send_defined(make_method(commands.Exchange.BindOk), commit_position)


def exchange_unbind(channel: "AmqpChannel", method: Any) -> None:
    """Take such a binding away [rmq exchange.unbind]."""
    for name in (method.source, method.destination):
        check_leaving(channel.publisher.vhost, "exchange", name)
    removal = unbind(*_ends(channel, method))
    if not method.nowait:
        channel.send_when_over(make_method(commands.Exchange.UnbindOk), removal)


def _ends(channel: "AmqpChannel", method: Any) -> tuple[Any, ...]:
    """Return what `bind` and `unbind` ask for."""
    session = channel.session
    return (
        channel.publisher.vhost,
        session.user,
        session,
        method.source,
        "exchange",
        method.destination,
        method.routing_key,
        method.arguments,
        by_client(session),
    )
