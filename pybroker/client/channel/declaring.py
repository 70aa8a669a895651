"""Exchanges, queues, bindings: the methods of a channel that declare and delete them [exchange.*, queue.*].

Successful declarations are remembered, so that a recovery can repeat them.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pamqp import commands

from pybroker.client.channel.core import ChannelCore
from pybroker.client.connection.topology import BindingRecord, ExchangeRecord, QueueRecord
from pybroker.wire.methods import make_method

_NONE: Final[Mapping[str, Any]] = {}


class DeclareOk(NamedTuple):
    """The broker's answer about a queue: its name, ready messages, consumers."""

    queue: str
    message_count: int
    consumer_count: int


class Declaring(ChannelCore):
    """See `Channel`. A queue named "" is the one this channel declared last.

    With `no_wait` the broker does not answer what succeeds, and the call returns when it is sent: many declarations
    take one round trip, that of the call behind them. A refusal closes the channel: `on_close` is called, and the calls
    that follow raise ChannelClosed, whose `reason` is the refusal.

    >>> for number in range(1_000):                                        # doctest: +SKIP
    ...     channel.queue_declare(f"orders-{number}", durable=True, no_wait=True)
    >>> channel.queue_declare("orders-999", passive=True)                  # doctest: +SKIP
    """

    __slots__ = ()

    def exchange_declare(
        self,
        exchange: str,
        exchange_type: str = "direct",
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        arguments: Mapping[str, Any] = _NONE,
        no_wait: bool = False,
    ) -> None:
        """Make an exchange, or with `passive` look whether it is there.

        Raises NotFound (404), PreconditionFailed (406) if it is there and differs, AccessRefused (403).
        """
        request = make_method(
            commands.Exchange.Declare,
            exchange=exchange,
            exchange_type=exchange_type,
            passive=passive,
            durable=durable,
            auto_delete=auto_delete,
            internal=internal,
            arguments=arguments,
            nowait=no_wait,
        )
        self._call_or_send(commands.Exchange.DeclareOk, request)
        if not passive:
            record = ExchangeRecord(exchange, exchange_type, durable, auto_delete, internal, arguments)
            self.connection._topology.add_exchange(record)

    def exchange_delete(self, exchange: str, *, if_unused: bool = False, no_wait: bool = False) -> None:
        """Delete an exchange. Raises PreconditionFailed (406) with `if_unused` if it has bindings."""
        self.connection._topology.remove_exchange(exchange)
        request = make_method(commands.Exchange.Delete, exchange=exchange, if_unused=if_unused, nowait=no_wait)
        self._call_or_send(commands.Exchange.DeleteOk, request)

    def exchange_bind(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        arguments: Mapping[str, Any] = _NONE,
        *,
        no_wait: bool = False,
    ) -> None:
        """Let `destination` get what `source` routes by the key [rmq exchange.bind]. Raises NotFound (404)."""
        request = make_method(
            commands.Exchange.Bind,
            destination=destination,
            source=source,
            routing_key=routing_key,
            arguments=arguments,
            nowait=no_wait,
        )
        self._call_or_send(commands.Exchange.BindOk, request)
        self.connection._topology.add_binding(BindingRecord(True, destination, source, routing_key, arguments))

    def exchange_unbind(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        arguments: Mapping[str, Any] = _NONE,
        *,
        no_wait: bool = False,
    ) -> None:
        """Undo `exchange_bind` with the same arguments."""
        request = make_method(
            commands.Exchange.Unbind,
            destination=destination,
            source=source,
            routing_key=routing_key,
            arguments=arguments,
            nowait=no_wait,
        )
        self._call_or_send(commands.Exchange.UnbindOk, request)
        self.connection._topology.remove_binding(BindingRecord(True, destination, source, routing_key, arguments))

    def queue_declare(
        self,
        queue: str = "",
        *,
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        arguments: Mapping[str, Any] = _NONE,
        no_wait: bool = False,
    ) -> DeclareOk:
        """Make a queue, or with `passive` look at it. The broker chooses a name for "".

        >>> queue = channel.queue_declare(exclusive=True).queue  # doctest: +SKIP

        With `no_wait` the counts are 0, whatever they are.

        Raises NotFound (404), ResourceLocked (405) if it is another connection's own, PreconditionFailed (406);
        ValueError for `no_wait` without a name: the broker's answer would tell it.
        """
        if no_wait and not queue:
            raise ValueError(
                "queue_declare: no_wait needs a queue name, since the broker returns a generated name only in its reply"
            )
        request = make_method(
            commands.Queue.Declare,
            queue=queue,
            passive=passive,
            durable=durable,
            exclusive=exclusive,
            auto_delete=auto_delete,
            arguments=arguments,
            nowait=no_wait,
        )
        answer = self._call_or_send(commands.Queue.DeclareOk, request)
        ok = DeclareOk(answer.queue, answer.message_count, answer.consumer_count) if answer else DeclareOk(queue, 0, 0)
        self._last_queue = ok.queue
        if not passive:
            record = QueueRecord(ok.queue, durable, exclusive, auto_delete, arguments, not queue)
            self.connection._topology.add_queue(record)
        return ok

    def queue_delete(
        self, queue: str = "", *, if_unused: bool = False, if_empty: bool = False, no_wait: bool = False
    ) -> int:
        """Delete a queue; return how many messages went with it, 0 with `no_wait`. Raises PreconditionFailed (406)."""
        queue = queue or self._last_queue
        request = make_method(
            commands.Queue.Delete, queue=queue, if_unused=if_unused, if_empty=if_empty, nowait=no_wait
        )
        answer = self._call_or_send(commands.Queue.DeleteOk, request)
        self.connection._topology.remove_queue(queue)
        return answer.message_count if answer else 0

    def queue_bind(
        self,
        queue: str,
        exchange: str,
        routing_key: str = "",
        arguments: Mapping[str, Any] = _NONE,
        *,
        no_wait: bool = False,
    ) -> None:
        """Let the queue get what the exchange routes by the key. Raises NotFound (404)."""
        queue = queue or self._last_queue
        values = {"queue": queue, "exchange": exchange, "routing_key": routing_key, "arguments": arguments}
        self._call_or_send(commands.Queue.BindOk, make_method(commands.Queue.Bind, **values, nowait=no_wait))
        self.connection._topology.add_binding(BindingRecord(False, queue, exchange, routing_key, arguments))

    def queue_unbind(
        self, queue: str, exchange: str, routing_key: str = "", arguments: Mapping[str, Any] = _NONE
    ) -> None:
        """Undo `queue_bind` with the same arguments. AMQP has no `no_wait` for it."""
        queue = queue or self._last_queue
        values = {"queue": queue, "exchange": exchange, "routing_key": routing_key, "arguments": arguments}
        self.call(commands.Queue.UnbindOk, make_method(commands.Queue.Unbind, **values))
        self.connection._topology.remove_binding(BindingRecord(False, queue, exchange, routing_key, arguments))

    def queue_purge(self, queue: str = "", *, no_wait: bool = False) -> int:
        """Remove all ready messages; return how many there were, 0 with `no_wait`. Raises NotFound (404)."""
        request = make_method(commands.Queue.Purge, queue=queue or self._last_queue, nowait=no_wait)
        answer = self._call_or_send(commands.Queue.PurgeOk, request)
        return answer.message_count if answer else 0
