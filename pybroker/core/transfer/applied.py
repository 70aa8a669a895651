"""Application of a plan: its changes are made one after another, by the functions that serve clients and commands too.

They have been checked. A conflict that arises all the same (a virtual host that was deleted meanwhile) ends it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from pybroker.core.auth.password import SHA256, hash_password, quick
from pybroker.core.exchange import EXCHANGE_TYPES
from pybroker.core.metadata import store
from pybroker.core.topology.exchange_declare import create_binding, create_exchange
from pybroker.core.topology.queue_declare import QueueProperties, create_queue
from pybroker.core.transfer.checked import checked_arguments, decoded, policy_value, queue_arguments
from pybroker.core.transfer.document import Value
from pybroker.core.transfer.exported import POLICY
from pybroker.core.transfer.fields import Fault
from pybroker.core.transfer.plan import CREATE, UPDATE, Change

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.core.events.cause import Cause
    from pybroker.core.routing.binding import Target
    from pybroker.core.topology.vhost import VHost


def apply(broker: "Broker", changes: Iterable[Change], cause: "Cause") -> Iterator[Change]:
    """Make the changes for a cause; yield each when it is made.

    Raises Fault, AmqpError, LookupError, ValueError: somebody else has changed something meanwhile.
    """
    for change in changes:
        if change.action in {CREATE, UPDATE}:
            _APPLY[change.item.section](broker, change, cause)
            yield change


def _user(broker: "Broker", change: Change, cause: "Cause") -> None:
    value, users = change.item.value, broker.users
    name = value["name"]
    if value["password"]:
        algorithm = quick(broker.settings.password_hashing)
        password_hash = hash_password(value["password"], algorithm)
    else:
        algorithm = value["hashing_algorithm"] or SHA256
        password_hash = decoded(value["password_hash"] or "")
    if users.get(name) is None:
        users.add_hashed(name, password_hash, algorithm, value["tags"], value["limits"], cause=cause)
        return
    changed = {difference.field for difference in change.differences}
    if changed & {"password", "password_hash", "hashing_algorithm"}:
        users.set_hashed(name, password_hash, algorithm, cause)
    if "tags" in changed:
        users.set_tags(name, value["tags"], cause)
    if "limits" in changed:
        users.set_limits(name, value["limits"], cause)


def _vhost(broker: "Broker", change: Change, cause: "Cause") -> None:
    value = change.item.value
    vhost = broker.vhosts.get(value["name"])
    if vhost is None:
        tags, queue_type = tuple(value["tags"] or ()), value["default_queue_type"] or ""
        broker.add_vhost(value["name"], value["description"] or "", tags, queue_type, cause=cause)
        vhost = broker.vhosts[value["name"]]
    else:
        # Differs from RabbitMQ: it empties a description and tags that a document does not tell.
        vhost.description = vhost.description if value["description"] is None else value["description"]
        vhost.tags = vhost.tags if value["tags"] is None else tuple(value["tags"])
        vhost.default_queue_type = value["default_queue_type"] or vhost.default_queue_type
        store.save_vhost(vhost)
    protected = value["protected_from_deletion"]
    if protected is not None and protected != vhost.protected:
        vhost.describe(protected=protected, cause=cause)
    if value["tracing"] is not None and value["tracing"] != vhost.firehose:
        vhost.trace(on=value["tracing"])


def _permission(broker: "Broker", change: Change, cause: "Cause") -> None:
    value = change.item.value
    given = [value[name] for name in ("user", "vhost", "configure", "write", "read")]
    broker.users.set_permissions(*given, cause=cause)


def _topic_permission(broker: "Broker", change: Change, cause: "Cause") -> None:
    value = change.item.value
    given = [value[name] for name in ("user", "vhost", "exchange", "write", "read")]
    broker.users.set_topic_permissions(*given, cause=cause)


def _global_parameter(broker: "Broker", change: Change, cause: "Cause") -> None:
    broker.parameters.set_global(change.item.value["name"], change.item.value["value"], cause)


def _policy(broker: "Broker", change: Change, cause: "Cause") -> None:
    value = change.item.value
    broker.parameters.set(value["vhost"], POLICY, value["name"], policy_value(value), cause)


def _parameter(broker: "Broker", change: Change, cause: "Cause") -> None:
    value = change.item.value
    known = value["component"] in broker.parameters.components
    put = broker.parameters.set if known else broker.parameters.store
    put(value["vhost"], value["component"], value["name"], value["value"], cause)


def _exchange(broker: "Broker", change: Change, cause: "Cause") -> None:
    value = change.item.value
    vhost, name = _find_vhost(broker, value), value["name"]
    if name in vhost.exchanges:
        raise Fault("it was declared by another client meanwhile")
    create_exchange(
        EXCHANGE_TYPES[value["type"]],
        vhost,
        None,
        name,
        durable=value["durable"],
        auto_delete=value["auto_delete"],
        internal=value["internal"],
        arguments=checked_arguments(value),
        cause=cause,
    )


def _queue(broker: "Broker", change: Change, cause: "Cause") -> None:
    value = change.item.value
    vhost, name = _find_vhost(broker, value), value["name"]
    if name in vhost.queues:
        raise Fault("it was declared by another client meanwhile")
    arguments = queue_arguments(value, vhost.queue_type)
    asked = QueueProperties(value["durable"], exclusive=False, auto_delete=value["auto_delete"], arguments=arguments)
    create_queue(vhost, None, None, name, asked, cause)


def _binding(broker: "Broker", change: Change, cause: "Cause") -> None:
    value = change.item.value
    vhost = _find_vhost(broker, value)
    source = vhost.exchanges.get(value["source"])
    ends: Mapping[str, Target] = vhost.queues if value["destination_type"] == "queue" else vhost.exchanges
    destination = ends.get(value["destination"])
    if source is None or destination is None:
        raise Fault("its source or destination was deleted meanwhile")
    create_binding(source, destination, value["routing_key"], checked_arguments(value), cause)


def _find_vhost(broker: "Broker", value: Value) -> "VHost":
    vhost = broker.vhosts.get(value["vhost"])
    if vhost is None:
        raise Fault("its virtual host was deleted meanwhile")
    return vhost


_APPLY: Final = {
    "users": _user,
    "vhosts": _vhost,
    "permissions": _permission,
    "topic_permissions": _topic_permission,
    "exchanges": _exchange,
    "global_parameters": _global_parameter,
    "policies": _policy,
    "parameters": _parameter,
    "queues": _queue,
    "bindings": _binding,
}
