"""Loading of nouns from the rows of the definitions at boot. `store.py` writes the rows.

Declarations are not checked again, and need no permission. A row that cannot be what it says (a later version's, or its
vhost is lost) is reported, left where it is, and stops nothing.
"""

from base64 import b64decode
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pybroker.core.auth.password import check_hash
from pybroker.core.auth.permissions import CONFIGURE, READ, WRITE, Permission, TopicPermission
from pybroker.core.auth.quota import checked_user_limits
from pybroker.core.auth.users import User
from pybroker.core.exchange import EXCHANGE_TYPES
from pybroker.core.metadata.store import CLUSTER_NAME
from pybroker.core.policy.arguments import DECLARE_ARGUMENTS, queue_limits
from pybroker.core.policy.limits import QueueLimits
from pybroker.core.queue import pause
from pybroker.core.routing.binding import Binding
from pybroker.core.stream.make import make_queue
from pybroker.errors import AmqpError
from pybroker.store.definitions.rows import describe
from pybroker.wire.table import Table, decode_table
from pybroker.wire.validate import GROWN

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.core.topology.vhost import VHost
    from pybroker.store.definitions.definitions import Key, Rows, Value


def restore(broker: "Broker", rows: "Rows", next_queue_id: int) -> list[str]:
    """Make everything that the rows tell of; return a sentence for each that could not be made.

    The broker has no definitions yet, so nouns that are made here are not written again. The cluster's name that an
    operator set counts unless the configuration has one.
    """
    faults = []
    for kind, make in _ORDER.items():
        for key, value in sorted(rows[kind].items(), key=_place) if kind == "binding" else rows[kind].items():
            try:
                make(broker, key, value)
            except (LookupError, ValueError, TypeError, AttributeError, AmqpError) as error:
                reason = f"{error} is missing" if isinstance(error, LookupError) else str(error)
                faults.append(f"{describe(kind, key)} cannot be restored: {reason}")
    broker.next_queue = next_queue_id
    for vhost in broker.vhosts.values():
        vhost.bump()
    return faults


def _vhost(broker: "Broker", key: "Key", value: "Value") -> None:
    vhost = broker.make_vhost(key[0], value["description"], tuple(value["tags"]), value["default_queue_type"] or "")
    vhost.protected = value.get("protected_from_deletion", False)


def _user(broker: "Broker", key: "Key", value: "Value") -> None:
    password_hash = b64decode(value["password_hash"], validate=True)
    check_hash(password_hash, value["hashing_algorithm"])
    limits = checked_user_limits(value.get("limits", {}))
    broker.users.load(User(key[0], password_hash, value["hashing_algorithm"], value["tags"], limits))


def _permission(broker: "Broker", key: "Key", value: "Value") -> None:
    user_name, vhost_name = key
    vhost_of(broker, vhost_name)
    permission = Permission(value[CONFIGURE], value[WRITE], value[READ])
    user_of(broker, user_name).permissions[vhost_name] = permission


def _topic_permission(broker: "Broker", key: "Key", value: "Value") -> None:
    user_name, vhost_name, exchange_name = key
    vhost_of(broker, vhost_name)
    permission = TopicPermission(vhost_name, user_name, value[WRITE], value[READ])
    user_of(broker, user_name).topic_permissions[vhost_name, exchange_name] = permission


def _global_parameter(broker: "Broker", key: "Key", value: "Value") -> None:
    settings, (name,) = broker.settings, key
    # RabbitMQ too sets the configured name anew at every start.
    applies = name != CLUSTER_NAME or settings.cluster_name == settings.node_name
    broker.parameters.load_global(name, value["value"], applies=applies)


def _parameter(broker: "Broker", key: "Key", value: "Value") -> None:
    vhost_name, component, name = key
    vhost_of(broker, vhost_name)
    broker.parameters.load(vhost_name, component, name, value["value"])


def _exchange(broker: "Broker", key: "Key", value: "Value") -> None:
    vhost = vhost_of(broker, key[0])
    exchange_type = EXCHANGE_TYPES.get(value["type"])
    if exchange_type is None:
        raise ValueError(f"unknown exchange type {value['type']!r:.80}")
    if exchange_type.SCHEDULES:
        broker.next_queue = value["schedule_id"]
    vhost.exchanges[key[1]] = exchange = exchange_type(
        vhost,
        key[1],
        durable=True,
        auto_delete=value["auto_delete"],
        internal=value["internal"],
        arguments=_arguments(value),
        user=value["user"],
    )
    broker.policies.apply(exchange)


def _queue(broker: "Broker", key: "Key", value: "Value") -> None:
    vhost_name, name = key
    vhost = vhost_of(broker, vhost_name)
    arguments, limits = _limited(value.get("arguments_amqp", ""), value["type"])
    broker.next_queue = value["id"]
    vhost.queues[name] = queue = make_queue(
        vhost,
        name,
        durable=True,
        auto_delete=value["auto_delete"],
        owner=None,
        arguments=arguments,
        limits=limits,
        user=value["user"],
    )
    broker.policies.apply(queue)
    # Its time of disuse begins anew, as in RabbitMQ.
    queue.touch()
    if value.get("has_files"):
        queue.note_files()
    if "paused" in value:
        queue.obey(pause.of_row(value["paused"]))


def _binding(broker: "Broker", key: "Key", value: "Value") -> None:
    vhost_name, source_name, kind, destination_name, routing_key, _ = key
    vhost = vhost_of(broker, vhost_name)
    source = vhost.exchanges.get(source_name)
    destination: Any = (vhost.queues if kind == "queue" else vhost.exchanges).get(destination_name)
    if source is None or destination is None:
        missing = f"exchange '{source_name}'" if source is None else f"{kind} '{destination_name}'"
        raise LookupError(f"{missing} in vhost '{vhost_name}'")
    binding = Binding(source, destination, routing_key, _arguments(value))
    binding.place = value.get("place", 0)
    if source.add(binding):
        vhost.bound.setdefault(destination, {})[binding.key] = binding


def _place(row: "tuple[Key, Value]") -> int:
    place = row[1].get("place", 0)
    return place if isinstance(place, int) else 0


def vhost_of(broker: "Broker", name: str) -> "VHost":
    """Return a virtual host. Raises LookupError."""
    vhost = broker.vhosts.get(name)
    if vhost is None:
        raise LookupError(f"vhost '{name}'")
    return vhost


def user_of(broker: "Broker", name: str) -> User:
    """Return a user. Raises LookupError."""
    user = broker.users.get(name)
    if user is None:
        raise LookupError(f"user '{name}'")
    return user


@lru_cache(1_024)
def _limited(octets: str, queue_type: str) -> tuple[Table, QueueLimits]:
    """Return a queue's arguments and what they come to. Many queues have the same, and nobody changes a queue's."""
    if queue_type not in DECLARE_ARGUMENTS:
        raise ValueError(f"unknown queue type {queue_type!r:.80}")
    arguments = _decoded(octets)
    return arguments, queue_limits(arguments, queue_type)


def _arguments(value: "Value") -> Table:
    return _decoded(value.get("arguments_amqp", ""))


def _decoded(octets: str) -> Table:
    return decode_table(bytes.fromhex(octets), 0, GROWN)[0] if octets else Table()


# Containers come before their contents.
_ORDER: Final[dict[str, Callable[["Broker", "Key", "Value"], None]]] = {
    "global_parameter": _global_parameter,
    "vhost": _vhost,
    "parameter": _parameter,
    "user": _user,
    "permission": _permission,
    "topic_permission": _topic_permission,
    "exchange": _exchange,
    "queue": _queue,
    "binding": _binding,
}
