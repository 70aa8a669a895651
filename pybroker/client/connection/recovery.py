"""Automatic recovery (S4, RabbitMQ's Java client): a lost transport is replaced, and all that was on it restored.

First channels with qos, confirm and tx mode; then exchanges, queues, bindings; then consumers. Recovery is a thread
that lives until that is done. Unconfirmed messages are not sent again: only the application knows whether they may be.
"""

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pamqp import base, commands

from pybroker.client.errors import AmqpError, AuthenticationFailed, CallTimeout, ClientError, ConnectionClosed
from pybroker.client.transport.transport import Transport
from pybroker.wire.methods import make_method

if TYPE_CHECKING:
    from pybroker.client.channel.channel import Channel
    from pybroker.client.connection.connection import Connection

_log = logging.getLogger("pybroker.client")


class Recovery:
    """One recovery of a connection; `lost` is why it is needed."""

    __slots__ = ("_connection", "_lost", "thread")

    def __init__(self, connection: "Connection", lost: Exception) -> None:
        self._connection = connection
        self._lost = lost
        name = f"{connection.options.connection_name or 'pybroker'}-recovery"
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        connection = self._connection
        delay_s = connection.options.recovery_delay_s
        reason = self._lost
        while not connection._closing.wait(delay_s) and not connection.is_closed:
            try:
                transport = connection._connect()
            except AuthenticationFailed as error:
                connection._give_up(error)
                return
            except (AmqpError, ClientError, OSError) as error:
                _log.warning("no connection yet, next attempt in %s s: %s", delay_s, error)
                continue
            try:
                self._restore(transport)
            except (AmqpError, ClientError, OSError) as error:
                reason = error
                _log.warning("recovery failed, next attempt in %s s: %s", delay_s, error)
                transport.end(error)
                transport.wait_ended()
                connection._interrupt_again(error)
                continue
            except Exception as error:  # noqa: BLE001 - a thread that dies in silence leaves everybody waiting
                _log.exception("internal error in recovery")
                transport.end(error)
                connection._give_up(error)
                return
            if connection._resume(transport):
                return
            transport.end(ConnectionClosed("lost, or closed by the application, during recovery"))
        connection._give_up(reason)

    def _restore(self, transport: Transport) -> None:
        """Do again on `transport` what was done before. Raises AmqpError, ClientError, OSError if it is lost."""
        connection = self._connection
        channels = connection._use(transport)
        for channel in channels:
            if channel.number > transport.agreed.channel_max:
                connection._drop_channel(channel, f"the broker now allows only {transport.agreed.channel_max} channels")
            else:
                self._try(transport, f"channel {channel.number}", partial(channel._reopen, transport))
        if connection.options.topology_recovery:
            self._declare(transport)
            for channel in channels:
                channel._resume()
                for consumer in tuple(channel._consumers.values()):
                    what = f"consumer {consumer.tag} of queue {consumer.queue}"
                    self._try(transport, what, partial(channel._consume_again, consumer))

    def _declare(self, transport: Transport) -> None:
        """Make exchanges, queues and bindings again, on a channel of our own that is opened anew when one fails."""
        scribe = _Scribe(self, transport)
        try:
            self._declare_with(scribe)
        finally:
            scribe.close()

    def _declare_with(self, scribe: "_Scribe") -> None:
        topology = self._connection._topology
        for exchange in topology.exchanges:
            request = make_method(
                commands.Exchange.Declare,
                exchange=exchange.name,
                exchange_type=exchange.type,
                durable=exchange.durable,
                auto_delete=exchange.auto_delete,
                internal=exchange.internal,
                arguments=exchange.arguments,
            )
            scribe.call(f"exchange {exchange.name}", commands.Exchange.DeclareOk, request)
        for queue in topology.queues:
            declare = make_method(
                commands.Queue.Declare,
                queue="" if queue.server_named else queue.name,
                durable=queue.durable,
                exclusive=queue.exclusive,
                auto_delete=queue.auto_delete,
                arguments=queue.arguments,
            )
            ok = scribe.call(f"queue {queue.name}", commands.Queue.DeclareOk, declare)
            if ok is not None and ok.queue != queue.name:
                self._connection._rename_queue(queue.name, ok.queue)
        for binding in topology.bindings:
            values = {
                "source" if binding.to_exchange else "exchange": binding.source,
                "destination" if binding.to_exchange else "queue": binding.destination,
                "routing_key": binding.routing_key,
                "arguments": binding.arguments,
            }
            kind, reply = (
                (commands.Exchange.Bind, commands.Exchange.BindOk)
                if binding.to_exchange
                else (commands.Queue.Bind, commands.Queue.BindOk)
            )
            what = f"binding of {binding.destination} to {binding.source} by {binding.routing_key!r}"
            scribe.call(what, reply, make_method(kind, **values))

    def _try(self, transport: Transport, what: str, act: Callable[[], object]) -> bool:
        """Do one step; report a refusal of the broker and leave it out. Raises if the transport is lost or silent."""
        try:
            act()
        except (AmqpError, ClientError) as error:
            if transport.is_ended or isinstance(error, CallTimeout):
                raise
            self._connection._recovery_failed(what, error)
            return False
        return True


class _Scribe:
    """A channel for declarations; a refused one closes it, so the next one needs another."""

    def __init__(self, recovery: Recovery, transport: Transport) -> None:
        self._recovery = recovery
        self._transport = transport
        self._channel: Channel | None = None

    def call(self, what: str, reply: type[base.Frame], request: base.Frame) -> Any:
        """Return the reply, None if the broker refused. Raises if the transport is lost."""
        replies: list[base.Frame] = []
        if self._channel is None or not self._channel.is_open:
            self._channel = self._recovery._connection._open_channel(self._transport)
        channel = self._channel
        self._recovery._try(self._transport, what, lambda: replies.append(channel.call(reply, request)))
        return replies[0] if replies else None

    def close(self) -> None:
        """Close the channel, if there is one."""
        if self._channel is not None:
            self._channel.close()
