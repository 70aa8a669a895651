"""Durable nouns as rows of the definitions, written when they are made or changed, deleted when they go.

Called whenever such a noun is made or removed, in the same turn; transient and exclusive ones get no row and are gone
after a restart. `load.py` reads the rows; `user_rows.py` has those of users. Does not know the format of the
file.

A value is what RabbitMQ's definitions files have; `arguments_amqp` beside `arguments` are the octets of the table in
hex, since JSON does not tell a `short` from a `long`.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from pybroker.core.auth.access import RESERVED
from pybroker.core.background_task import BackgroundTask
from pybroker.wire.table import encode_table

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.binding import Binding
    from pybroker.core.routing.exchange import Exchange
    from pybroker.core.topology.removal import Removal
    from pybroker.core.topology.vhost import VHost
    from pybroker.session import Turn
    from pybroker.store.definitions.definitions import Definitions, Key
    from pybroker.store.log import Log

CLUSTER_NAME: Final = "cluster_name"
NAME_OCTETS_MAX: Final = 255


class Commit(BackgroundTask):
    """Hand over the turn's changes of the definitions at its end, as one transaction."""

    __slots__ = ("definitions",)

    def __init__(self, turn: "Turn", definitions: "Definitions") -> None:
        super().__init__(turn)
        self.definitions = definitions

    def deliver(self, _now_ms: int) -> None:
        """Hand over."""
        self.definitions.commit()


# -- what is in a virtual host ----------------------------------------------------------------------------------------


def save_exchange(exchange: "Exchange") -> int:
    """Save a durable exchange, unless every vhost has it from the start; return the commit position to wait for."""
    if not exchange.durable or _predeclared(exchange):
        return 0
    value: dict[str, Any] = {
        "type": exchange.TYPE,
        "durable": True,
        "auto_delete": exchange.auto_delete,
        "internal": exchange.internal,
        **_arguments(exchange.arguments),
        "user": exchange.user,
    }
    if exchange.schedule_id is not None:
        value["schedule_id"] = exchange.schedule_id
    return exchange.vhost.broker.definitions.put("exchange", (exchange.vhost.name, exchange.name), value)


def forget_exchange(exchange: "Exchange", removal: "Removal") -> None:
    """Forget an exchange that is deleted; its bindings go one by one."""
    if exchange.durable and not _predeclared(exchange):
        removal.rows["exchange", (exchange.vhost.name, exchange.name)] = None
        if exchange.schedule_id is not None:
            _forget_messages(exchange.vhost.broker.log, exchange.schedule_id, removal)


def save_queue(queue: "Queue") -> int:
    """Save a durable queue, and its id for ever; return the commit position to wait for."""
    if not queue.durable:
        return 0
    value: dict[str, Any] = {
        "id": queue.id,
        "durable": True,
        "auto_delete": queue.auto_delete,
        "type": queue.type,
        **_arguments(queue.arguments),
        "user": queue.user,
    }
    if queue.has_files:
        value["has_files"] = True
    if queue.paused is not None:
        value["paused"] = queue.paused._asdict()
    return queue.vhost.broker.definitions.put("queue", (queue.vhost.name, queue.name), value)


def forget_queue(queue: "Queue", removal: "Removal") -> None:
    """Forget a queue that is deleted."""
    if queue.durable:
        removal.rows["queue", (queue.vhost.name, queue.name)] = None
        _forget_messages(queue.log, queue.id, removal)
    removal.call_backs.append(queue.discard)


def _forget_messages(log: "Log", queue_id: int, removal: "Removal") -> None:
    """Have the log forget messages when the rows have gone: until then a crash brings back both, or none."""
    removal.call_backs.append(partial(log.forget_queue, queue_id))


def save_binding(binding: "Binding") -> int:
    """Save a binding between two durable ends; return the commit position to wait for."""
    if not binding.durable:
        return 0
    value = _arguments(binding.arguments)
    if binding.place:
        value["place"] = binding.place
    return binding.source.vhost.broker.definitions.put("binding", _binding_key(binding), value)


def forget_binding(binding: "Binding", removal: "Removal") -> None:
    """Forget a binding that is taken away, or that one of its ends takes along: with the first end, if both go."""
    if not binding.durable:
        return
    row = ("binding", _binding_key(binding))
    removal.rows[row] = None
    destination, vhost = binding.destination, binding.source.vhost
    for end in (("exchange", binding.source.name), (destination.kind, destination.name)):
        if end in vhost.leaving:
            vhost.leaving[end].rows[row] = None
        else:
            removal.by_end.setdefault((vhost, end), []).append(row)


# -- virtual hosts and attributes of the whole node -----------------------------------------------------------------


def save_vhost(vhost: "VHost") -> int:
    """Save a virtual host; return the commit position to wait for. Its tracing is not saved, as in RabbitMQ."""
    value: dict[str, Any] = {
        "description": vhost.description,
        "tags": list(vhost.tags),
        "default_queue_type": vhost.default_queue_type or None,
    }
    if vhost.protected:
        value["protected_from_deletion"] = True
    return vhost.broker.definitions.put("vhost", (vhost.name,), value)


def forget_vhost(vhost: "VHost", removal: "Removal") -> None:
    """Forget a virtual host that is deleted; its queues and exchanges have gone one by one."""
    removal.rows["vhost", (vhost.name,)] = None


def is_cluster_name(value: Any) -> bool:
    """Tell whether clients can be told this in server-properties as the cluster's name."""
    return isinstance(value, str) and 0 < len(value.encode()) <= NAME_OCTETS_MAX


# -- parts of rows ----------------------------------------------------------------------------------------------------


def _predeclared(exchange: "Exchange") -> bool:
    return not exchange.name or exchange.name.startswith(RESERVED)


def _binding_key(binding: "Binding") -> "Key":
    source, kind, destination, routing_key, octets = binding.key
    return binding.source.vhost.name, source, kind, destination, routing_key, octets.hex()


def _arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    if not arguments:
        return {"arguments": {}}
    return {"arguments": _plain(arguments), "arguments_amqp": encode_table(arguments).hex()}


def _plain(value: Any) -> Any:
    """Return a field value as JSON has it, for a reader; exactness is the octets'."""
    match value:
        case Mapping():
            return {str(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case bytes() | bytearray():
            return value.decode(errors="replace")
        case datetime():
            return int(value.timestamp())
        case Decimal():
            return str(value)
        case float() if not isfinite(value):
            return str(value)
    return value
