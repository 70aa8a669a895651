"""Dead letters ([rmq dlx]): messages that leave a queue for its dead letter exchange, with their history in x-death.

Departing is iterative: a chain of a thousand queues that overflow into one another needs no deep stack. As in RabbitMQ
a cycle in which no consumer rejected drops the message, and is logged once.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from pybroker.core.publish import NO_RECEIPT, names_of, single_run
from pybroker.core.router import route
from pybroker.message import Message
from pybroker.run import Entry
from pybroker.wire import properties
from pybroker.wire.table import Table

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue

# A content header frame without its properties: frame header, class, weight, body size, frame-end (AMQP §4.2.6.1).
HEADER_FRAME_OCTETS: Final = 20


def depart(queue: "Queue", entries: list[Entry], reason: str) -> None:
    """Send `entries`, which are in no level any more, to the queue's dead letter exchange; without one they end here."""
    if queue.limits.dead_letter_exchange is None:
        return
    departing = queue.vhost.broker.departing
    busy = bool(departing)
    departing.append((queue, entries, reason))
    if busy:
        return
    while departing:
        source, leaving, why = departing[0]
        for entry in leaving:
            for index in entry.indexes:
                _publish(source, Message(entry.run, index, entry.deliveries), why)
        departing.popleft()


def _publish(queue: "Queue", message: Message, reason: str) -> None:
    vhost, limits = queue.vhost, queue.limits
    assert limits.dead_letter_exchange is not None
    exchange = vhost.exchanges.get(limits.dead_letter_exchange)
    if exchange is None:
        vhost.broker.warn(
            f"dlx {vhost.name}/{queue.name}",
            f"Dead letters of {queue!r} are dropped: exchange '{limits.dead_letter_exchange}' does not exist",
        )
        return
    octets = message.property_octets
    props = properties.decode_properties(octets)
    old = props.headers if props.headers is not None else Table()
    carbon = _routes(old, "CC")
    headers = _with_death(old, queue, reason, message, [*carbon, *_routes(old, "BCC")], props.expiration)
    routing_keys = [message.names.routing_key, *carbon]
    if limits.dead_letter_routing_key is not None:
        routing_keys = [limits.dead_letter_routing_key]
        headers.pop("CC", None)
    props.headers = headers
    props.expiration = None
    routed = route(vhost, exchange, routing_keys, headers)
    targets = [target for target in routed.queues if reason == "rejected" or not _is_cycle(target.name, headers)]
    if len(targets) < len(routed.queues):
        cycle = [death.get("queue") for death in _deaths(old)]
        vhost.broker.warn(
            f"cycle {vhost.name}/{queue.name}", f"Message dropped: its dead letter queues form a cycle: {cycle}"
        )
    octets = properties.encode_properties(props)
    if len(octets) > vhost.broker.settings.frame_octets_max - HEADER_FRAME_OCTETS:
        # Differs from RabbitMQ: it sends a header frame above frame_max, and the consumer closes its connection.
        vhost.broker.warn(f"deaths {vhost.name}/{queue.name}", f"Message dropped: it died too often, last in {queue!r}")
    elif targets:
        names = names_of(limits.dead_letter_exchange, routing_keys[0])
        run = single_run(vhost.broker, names, message, octets)
        for target in targets:
            target.enqueue(run, range(1), NO_RECEIPT)


def _routes(headers: Table, key: str) -> list[str]:
    value = headers.get(key)
    return [route for route in value if isinstance(route, str)] if isinstance(value, list) else []


def _deaths(headers: Table) -> list[dict[str, Any]]:
    deaths = headers.get("x-death")
    return [death for death in deaths if isinstance(death, dict)] if isinstance(deaths, list) else []


def _with_death(
    old: Table, queue: "Queue", reason: str, message: Message, carbon: list[str], expiration: str | None
) -> Table:
    """Return the headers with this death in front: one entry for each (queue, reason), counted."""
    headers = Table(old)
    headers.types = dict(old.types)
    deaths = _deaths(old)
    mine = next((d for d in deaths if d.get("queue") == queue.name and d.get("reason") == reason), None)
    for which in ("last",) if "x-death" in old else ("first", "last"):
        headers[f"x-{which}-death-exchange"] = message.names.exchange
        headers[f"x-{which}-death-queue"] = queue.name
        headers[f"x-{which}-death-reason"] = reason
    if mine is None:
        mine = Table(
            {
                "count": 1,
                "exchange": message.names.exchange,
                "queue": queue.name,
                "reason": reason,
                "routing-keys": [message.names.routing_key, *carbon],
                "time": datetime.fromtimestamp(queue.vhost.broker.clock.timestamp_ms // 1000, UTC),
            }
        )
        if expiration is not None:
            mine["original-expiration"] = expiration
    else:
        deaths.remove(mine)
        count = mine.get("count")
        mine = Table(mine)
        mine["count"] = count + 1 if isinstance(count, int) else 1
    mine.types = {"count": "l"}
    headers["x-death"] = [mine, *deaths]
    headers.types.pop("x-death", None)
    return headers


def _is_cycle(queue: str, headers: Table) -> bool:
    """Tell whether a message that died in `queue` before came all the way back without anybody rejecting it."""
    for death in _deaths(headers):
        if death.get("reason") == "rejected":
            return False
        if death.get("queue") == queue:
            return True
    return False
