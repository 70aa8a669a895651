"""Export of a node's definitions as the sections and items of a document that RabbitMQ 3.10 and later import.

Leaves out what RabbitMQ leaves out: the exchanges of every new virtual host, and exclusive queues, which cannot be
restored. Checks nothing, and writes no file.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.core.auth.access import RESERVED
from pybroker.core.auth.permissions import CONFIGURE, READ, WRITE
from pybroker.core.transfer.document import LIMITS, SECTIONS, VHOST_SECTIONS, Key, Value
from pybroker.core.transfer.fields import as_json, canonical
from pybroker.version import RABBITMQ_VERSION, VERSION

if TYPE_CHECKING:
    from pybroker.core.auth.users import User
    from pybroker.core.broker import Broker
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.binding import Binding
    from pybroker.core.routing.exchange import Exchange
    from pybroker.core.topology.vhost import VHost

# Global parameters of this name are the node's own business (rabbit_definitions).
INTERNAL: Final = "internal"
POLICY: Final = "policy"


def _always(_noun: Any) -> bool:
    return True


class Part(NamedTuple):
    """The items of one section: nouns, which of them are exported, and what makes an item of one."""

    section: str
    item: Callable[[Any], Value]
    nouns: list[Any]
    keeps: Callable[[Any], bool] = _always


def head() -> Value:
    """Return what stands above the sections."""
    return {
        "rabbit_version": RABBITMQ_VERSION,
        "rabbitmq_version": RABBITMQ_VERSION,
        "product_name": "pybroker",
        "product_version": VERSION,
    }


def parts(broker: "Broker", vhost_name: str | None = None) -> list[Part]:
    """Return all there is at this moment, of the node or of one virtual host; items are made when they are wanted.

    100,000 queues take some milliseconds.

    Raises KeyError when there is no such virtual host.
    """
    vhosts = list(broker.vhosts.values()) if vhost_name is None else [broker.vhosts[vhost_name]]
    found = {
        "users": Part("users", user_item, list(broker.users)),
        "vhosts": Part("vhosts", vhost_item, vhosts),
        "permissions": Part("permissions", permission_item, _permissions(broker)),
        "topic_permissions": Part("topic_permissions", topic_permission_item, _topic_permissions(broker)),
        "exchanges": Part("exchanges", exchange_item, [x for v in vhosts for x in v.exchanges.values()], _is_own),
        "global_parameters": Part("global_parameters", dict, _global_parameters(broker)),
        "policies": Part("policies", policy_item, [p for p in _parameters(broker, vhosts) if p[1] == POLICY]),
        "parameters": Part("parameters", parameter_item, [p for p in _parameters(broker, vhosts) if p[1] != POLICY]),
        "queues": Part("queues", queue_item, [q for v in vhosts for q in v.queues.values()], _is_shared),
        "bindings": Part("bindings", binding_item, _bindings(vhosts), _is_lasting),
    }
    assert found.keys() == SECTIONS.keys()
    if vhost_name is None:
        return list(found.values())
    return [found[name]._replace(item=_without_vhost(found[name].item)) for name in VHOST_SECTIONS]


def _without_vhost(item: Callable[[Any], Value]) -> Callable[[Any], Value]:
    def stripped(noun: Any) -> Value:
        value = item(noun)
        del value["vhost"]
        return value

    return stripped


# -- items ------------------------------------------------------------------------------------------------------------


def user_item(user: "User") -> Value:
    """Return a user, the password as its hash."""
    return {
        "name": user.name,
        "password_hash": b64encode(user.password_hash).decode(),
        "hashing_algorithm": user.hashing_algorithm,
        "tags": list(user.tags),
        "limits": dict(user.limits),
    }


def vhost_item(vhost: "VHost") -> Value:
    """Return a virtual host; its limits are here for readers, and count where they are a parameter."""
    metadata: Value = {"description": vhost.description, "tags": list(vhost.tags)}
    if vhost.default_queue_type:
        metadata["default_queue_type"] = vhost.default_queue_type
    if vhost.protected:
        metadata["protected_from_deletion"] = True
    component, name = LIMITS
    limits = vhost.broker.parameters.of(vhost.name, component).get(name, {})
    pairs = sorted(limits.items()) if isinstance(limits, dict) else limits
    return {"name": vhost.name, "limits": [list(pair) for pair in pairs], "metadata": metadata}


def permission_item(noun: tuple[str, str, Any]) -> Value:
    """Return what a user may do in a virtual host."""
    user_name, vhost_name, permission = noun
    patterns = {each: permission.text(each) for each in (CONFIGURE, WRITE, READ)}
    return {"user": user_name, "vhost": vhost_name, **patterns}


def topic_permission_item(noun: tuple[str, str, str, Any]) -> Value:
    """Return which routing keys a user may use at a topic exchange."""
    user_name, vhost_name, exchange_name, permission = noun
    patterns = {each: permission.text(each) for each in (WRITE, READ)}
    return {"user": user_name, "vhost": vhost_name, "exchange": exchange_name, **patterns}


def parameter_item(noun: tuple[str, str, str, Any]) -> Value:
    """Return a runtime parameter."""
    vhost_name, component, name, value = noun
    return {"vhost": vhost_name, "component": component, "name": name, "value": value}


def policy_item(noun: tuple[str, str, str, Any]) -> Value:
    """Return a policy."""
    vhost_name, _, name, value = noun
    return {
        "vhost": vhost_name,
        "name": name,
        "pattern": value["pattern"],
        "apply-to": value.get("apply-to", "all"),
        "priority": value.get("priority", 0),
        "definition": value["definition"],
    }


def exchange_item(exchange: "Exchange") -> Value:
    """Return an exchange."""
    # Differs from RabbitMQ: it leaves internal ones out, so that a copy lacks them, and their bindings with them.
    internal = {"internal": True} if exchange.internal else {}
    return {
        "vhost": exchange.vhost.name,
        "name": exchange.name,
        "type": exchange.TYPE,
        "durable": exchange.durable,
        "auto_delete": exchange.auto_delete,
        **internal,
        "arguments": as_json(exchange.arguments),
    }


def queue_item(queue: "Queue") -> Value:
    """Return a queue."""
    return {
        "vhost": queue.vhost.name,
        "name": queue.name,
        "type": queue.type,
        "durable": queue.durable,
        "auto_delete": queue.auto_delete,
        "arguments": as_json(queue.arguments),
    }


def binding_item(binding: "Binding") -> Value:
    """Return a binding."""
    return {
        "vhost": binding.source.vhost.name,
        "source": binding.source.name,
        "destination": binding.destination.name,
        "destination_type": binding.destination.kind,
        "routing_key": binding.routing_key,
        "arguments": as_json(binding.arguments),
    }


# -- nouns ------------------------------------------------------------------------------------------------------------


def _permissions(broker: "Broker") -> list[Any]:
    return [(user.name, vhost, permission) for user in broker.users for vhost, permission in user.permissions.items()]


def _topic_permissions(broker: "Broker") -> list[Any]:
    return [
        (user.name, vhost, exchange, permission)
        for user in broker.users
        for (vhost, exchange), permission in user.topic_permissions.items()
    ]


def _parameters(broker: "Broker", vhosts: list["VHost"]) -> Iterator[tuple[str, str, str, Any]]:
    for vhost in vhosts:
        for component, name, value in broker.parameters.listed(vhost.name):
            yield vhost.name, component, name, value


def _global_parameters(broker: "Broker") -> list[Value]:
    return [
        {"name": name, "value": value}
        for name, value in broker.parameters.globals.items()
        if not name.startswith(INTERNAL)
    ]


def _is_own(exchange: "Exchange") -> bool:
    """Tell whether somebody declared it."""
    return bool(exchange.name) and not exchange.name.startswith(RESERVED)


def _is_shared(queue: "Queue") -> bool:
    """Tell whether a queue is there for more than one connection."""
    return queue.owner is None


def _is_lasting(binding: "Binding") -> bool:
    # Differs from RabbitMQ: it exports bindings of exclusive queues, which lead nowhere in a copy.
    return getattr(binding.destination, "owner", None) is None


def _bindings(vhosts: list["VHost"]) -> list["Binding"]:
    # Bindings of the default exchange, which has no name, exist by themselves.
    exchanges = (exchange for vhost in vhosts for exchange in vhost.exchanges.values() if exchange.name)
    return [binding for exchange in exchanges for binding in exchange.bindings()]


class Present:
    """The definitions of a node, item by item, to compare a document with."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._bound: dict[Any, set[Key]] = {}

    def find(self, section: str, key: Key) -> Value | None:
        """Return what may differ in an item, as `document.py` has it; None if there is no such item."""
        broker = self._broker
        match section:
            case "users":
                user = broker.users.get(key[0])
                return None if user is None else user_item(user)
            case "vhosts":
                vhost = broker.vhosts.get(key[0])
                return None if vhost is None else {**vhost_item(vhost)["metadata"], "tracing": vhost.firehose}
            case "permissions" | "topic_permissions":
                return self._permission(key)
            case "global_parameters":
                found = broker.parameters.globals
                return {"name": key[0], "value": found[key[0]]} if key[0] in found else None
            case "parameters" | "policies":
                return self._parameter(key if section == "parameters" else (key[0], POLICY, key[1]))
            case "exchanges" | "queues":
                return self._noun(section, *key)
        return {} if self._is_bound(key) else None

    def _permission(self, key: Key) -> Value | None:
        user_name, vhost_name, *exchange = key
        user = self._broker.users.get(user_name)
        if user is None:
            return None
        if exchange:
            topic = user.topic_permissions.get((vhost_name, exchange[0]))
            return None if topic is None else topic_permission_item((user_name, vhost_name, exchange[0], topic))
        permission = user.permissions.get(vhost_name)
        return None if permission is None else permission_item((user_name, vhost_name, permission))

    def _parameter(self, key: Key) -> Value | None:
        vhost_name, component, name = key
        found = self._broker.parameters.of(vhost_name, component)
        if name not in found:
            return None
        item = policy_item if component == POLICY else parameter_item
        return item((vhost_name, component, name, found[name]))

    def _noun(self, section: str, vhost_name: str, name: str) -> Value | None:
        vhost = self._broker.vhosts.get(vhost_name)
        if vhost is None:
            return None
        if section == "exchanges":
            exchange = vhost.exchanges.get(name)
            return None if exchange is None else exchange_item(exchange)
        queue = vhost.queues.get(name)
        return None if queue is None else {**queue_item(queue), "exclusive": queue.owner is not None}

    def _is_bound(self, key: Key) -> bool:
        """Tell whether there is a binding that JSON cannot tell from this one."""
        vhost_name, source, kind, destination_name, routing_key, _ = key
        vhost = self._broker.vhosts.get(vhost_name)
        if vhost is None:
            return False
        there = vhost.queues if kind == "queue" else vhost.exchanges
        destination: Any = there.get(destination_name)
        bound = vhost.bound.get(destination) if destination is not None else None
        if not bound:
            return False
        if (source, kind, destination_name, routing_key, b"") in bound and key[-1] == "{}":
            return True
        known = self._bound.get(destination)
        if known is None:
            known = {(vhost_name, *each.key[:4], canonical(as_json(each.arguments))) for each in bound.values()}
            self._bound[destination] = known
        return key in known
