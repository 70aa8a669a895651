"""The way from an exchange to queues: bound exchanges, alternate exchanges, and no circle twice.

Knows exchanges by their base class. Does not know what happens to an unroutable message (returned, dropped), nor
permissions, nor the names of direct reply-to: the publisher's side does.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pybroker.core.reply_text import describe
from pybroker.core.routing.exchange import Destinations, Exchange

if TYPE_CHECKING:
    from pybroker.core.queue.destination import Destination
    from pybroker.core.routing.inbound_message import InboundMessage
    from pybroker.core.topology.vhost import VHost


class Routed(NamedTuple):
    """`dynamic`: the result depends on more than the route (headers), or must be counted each time; do not keep it."""

    queues: "tuple[Destination, ...]"
    dynamic: bool


def route(
    vhost: "VHost",
    exchange: Exchange,
    routing_keys: Sequence[str],
    headers: Mapping[str, Any] | None,
    *,
    probe: bool = False,
    inbound: "InboundMessage | None" = None,
) -> Routed:
    """Return the queues of one message: each once, in no promised order.

    `routing_keys` are the message's own and those of CC and BCC; `headers` is asked for only by exchanges that need it,
    and `inbound` by those that look at the message itself, or keep it.
    A `probe` asks for a route to keep, before any message takes it: nothing is counted.
    """
    found: Destinations = {}
    exchange.find(routing_keys, headers, inbound, found)
    if vhost.leaving:
        found = _staying(vhost, found)
    if found and not exchange.exchanges_bound:
        return Routed(tuple(found), exchange.dynamic)  # type: ignore[arg-type]  # no binding leads to an exchange
    if not found and exchange.alternate is None:
        return Routed((), exchange.dynamic)
    return _walk(vhost, exchange, found, routing_keys, headers, inbound, probe=probe)


def _walk(
    vhost: "VHost",
    exchange: Exchange,
    found: Destinations,
    routing_keys: Sequence[str],
    headers: Mapping[str, Any] | None,
    inbound: "InboundMessage | None",
    *,
    probe: bool,
) -> Routed:
    """Follow exchanges and alternates from `exchange`, which found `found`. Each routes a message once."""
    queues: dict[Destination, None] = {}
    seen = {exchange}
    waiting: list[Exchange] = []
    dynamic = False
    while True:
        dynamic = dynamic or exchange.dynamic
        if found:
            for destination in found:
                if not isinstance(destination, Exchange):
                    queues[destination] = None
                elif destination not in seen:
                    seen.add(destination)
                    waiting.append(destination)
        elif exchange.alternate is not None:
            # The alternate is for what this exchange itself could not route. A bound exchange that was found counts
            # as routed, even where it leads nowhere.
            alternate = vhost.exchanges.get(exchange.alternate)
            if alternate is None:
                if not probe:
                    _count_missing(vhost, exchange)
                dynamic = True
            elif alternate not in seen:
                seen.add(alternate)
                waiting.append(alternate)
        if not waiting:
            return Routed(tuple(queues), dynamic)
        exchange = waiting.pop()
        found = {}
        exchange.find(routing_keys, headers, inbound, found)
        if vhost.leaving:
            found = _staying(vhost, found)


def _staying(vhost: "VHost", found: Destinations) -> Destinations:
    """Return what was found without queues and exchanges that are deleted: their bindings go some at a time."""
    return {
        each: 1
        for each in found
        if (vhost.exchanges.get(each.name) is each if isinstance(each, Exchange) else not each.deleted)
    }


def _count_missing(vhost: "VHost", exchange: Exchange) -> None:
    """Count and tell that an alternate exchange is not there."""
    # Differs from RabbitMQ: its documents promise this warning, its code drops in silence.
    vhost.unroutable_ae_missing += 1
    name = describe("exchange", exchange.name, vhost.name)
    vhost.broker.warn(
        "exchange.alternate_missing",
        f"alternate-exchange {vhost.name} {exchange.name}",
        f"{name}: its alternate exchange '{exchange.alternate}' does not exist",
        vhost=vhost.name,
        exchange=exchange.name,
    )
