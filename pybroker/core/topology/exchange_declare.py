"""Exchanges and bindings, made and taken away: in RabbitMQ's order of checks, with its texts (rabbit_channel).

Works on a VHost: `exchanges`, `queues`, and `bound`, the bindings by what they lead to. Every change that can alter a
route bumps the vhost's generation. How messages take these ways is `router.py`.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from pybroker.core.auth.access import (
    RESERVED,
    check_exclusive_access,
    check_link,
    check_not_default,
    check_reserved,
    not_found,
    strip_line_ends,
)
from pybroker.core.auth.permissions import CONFIGURE, READ, WRITE, check, check_topic
from pybroker.core.events import topology as topology_events
from pybroker.core.events.cause import because
from pybroker.core.exchange import EXCHANGE_TYPES
from pybroker.core.exchange.default import DefaultExchange
from pybroker.core.metadata.store import save_binding, save_exchange
from pybroker.core.reply_text import describe
from pybroker.core.routing.binding import Binding
from pybroker.core.routing.exchange import ALTERNATE, Exchange
from pybroker.core.topology.equivalence import assert_same_arguments, assert_same_field
from pybroker.core.topology.removal import StillLeavingError
from pybroker.core.topology.removal_steps import drop_bindings, drop_exchanges
from pybroker.errors import AccessRefused, CommandInvalid, PreconditionFailed
from pybroker.wire.table import Table

if TYPE_CHECKING:
    from pybroker.core.auth.users import User
    from pybroker.core.channel.state import SessionState
    from pybroker.core.events.cause import Cause
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.binding import Target
    from pybroker.core.topology.removal import Removal
    from pybroker.core.topology.vhost import VHost

# Exchanges of every new vhost: name, type, internal.
PREDECLARED: Final = (
    ("amq.direct", "direct", False),
    ("amq.fanout", "fanout", False),
    ("amq.headers", "headers", False),
    ("amq.match", "headers", False),
    ("amq.rabbitmq.trace", "topic", True),
    ("amq.topic", "topic", False),
)
BROKER_USER: Final = "rmq-internal"

# -- exchanges --------------------------------------------------------------------------------------------------------


def declare_default_exchanges(vhost: "VHost") -> None:
    """Give a new vhost its default exchange and the predeclared ones."""
    vhost.exchanges[""] = DefaultExchange(
        vhost, "", durable=True, auto_delete=False, internal=False, arguments=Table(), user=BROKER_USER
    )
    for name, type_name, internal in PREDECLARED:
        vhost.exchanges[name] = EXCHANGE_TYPES[type_name](
            vhost, name, durable=True, auto_delete=False, internal=internal, arguments=Table(), user=BROKER_USER
        )
    vhost.bump()


def find_exchange(vhost: "VHost", name: str) -> Exchange:
    """Return an exchange. Raises NotFound (404): `no exchange 'x' in vhost '/'`."""
    exchange = vhost.exchanges.get(name)
    if exchange is None:
        raise not_found("exchange", name, vhost)
    return exchange


def declare_exchange(
    vhost: "VHost",
    user: "User | None",
    name: str,
    type_name: str,
    *,
    passive: bool,
    durable: bool,
    auto_delete: bool,
    internal: bool,
    arguments: Table,
    cause: "Cause",
) -> int:
    """Make an exchange, or find it and compare; return the commit position to wait for [exchange.declare].

    Raises CommandInvalid (503: unknown type), AccessRefused (403), NotFound (404: passive), PreconditionFailed (406);
    StillLeavingError.
    """
    name = strip_line_ends(name)
    if passive:
        check_not_default(name)
        find_exchange(vhost, name)
        return 0
    exchange_type = EXCHANGE_TYPES.get(type_name)
    if exchange_type is None:
        text = f"unknown exchange type '{type_name}'"
        raise CommandInvalid(text)
    check_not_default(name)
    check(user, vhost.name, CONFIGURE, "exchange", name)
    exchange = vhost.exchanges.get(name)
    if exchange is None:
        if ("exchange", name) in vhost.leaving:
            raise StillLeavingError(vhost.leaving["exchange", name])
        check_reserved("exchange", name)
        check_link(vhost, user, "exchange", name, arguments, ALTERNATE)
        exchange_type.validate(arguments)
        return create_exchange(
            exchange_type,
            vhost,
            user,
            name,
            durable=durable,
            auto_delete=auto_delete,
            internal=internal,
            arguments=arguments,
            cause=cause,
        )
    resource = describe("exchange", name, vhost.name)
    assert_same_field(resource, "type", exchange.TYPE, type_name)
    assert_same_field(resource, "durable", exchange.durable, durable)
    assert_same_field(resource, "auto_delete", exchange.auto_delete, auto_delete)
    assert_same_field(resource, "internal", exchange.internal, internal)
    # The only argument that any of these types compares.
    assert_same_arguments(resource, exchange.arguments, arguments, (ALTERNATE,))
    # A client that declares what another has just declared must not be answered before it is on disk.
    return vhost.broker.definitions.commit_position if exchange.durable else 0


def create_exchange(
    exchange_type: type[Exchange],
    vhost: "VHost",
    user: "User | None",
    name: str,
    *,
    durable: bool,
    auto_delete: bool,
    internal: bool,
    arguments: Table,
    cause: "Cause",
) -> int:
    """Make an exchange that has been checked; a durable one is kept. Return the commit position to wait for."""
    if ("exchange", name) in vhost.leaving:
        vhost.broker.removals.finish()
    exchange = vhost.exchanges[name] = exchange_type(
        vhost,
        name,
        durable=durable,
        auto_delete=auto_delete,
        internal=internal,
        arguments=arguments,
        user=user.name if user is not None else BROKER_USER,
    )
    vhost.broker.policies.apply(exchange)
    commit_position = save_exchange(exchange)
    vhost.bump()
    topology_events.exchange_created(exchange, cause)
    return commit_position


def delete_exchange(vhost: "VHost", user: "User | None", name: str, cause: "Cause", *, if_unused: bool) -> "Removal":
    """Delete an exchange with all its bindings; one that is not there is no fault [exchange.delete].

    The removal has a commit position also if nothing was to be done: another may just have done it.
    Raises AccessRefused (403); PreconditionFailed (406): `exchange 'x' in vhost '/' in use`.
    """
    name = strip_line_ends(name)
    check_not_default(name)
    if name.startswith(RESERVED):
        text = f"deletion of system {describe('exchange', name, vhost.name)} not allowed"
        raise AccessRefused(text)
    check(user, vhost.name, CONFIGURE, "exchange", name)
    exchange = vhost.exchanges.get(name)
    if exchange is not None and if_unused and exchange.in_use:
        text = f"{describe('exchange', name, vhost.name)} in use"
        raise PreconditionFailed(text)
    broker = vhost.broker
    gone = [] if exchange is None else [exchange]
    steps = partial(drop_exchanges, vhost, gone, exchange)
    return broker.removals.start(steps, cause, commit_position=broker.definitions.commit_position)


def drop_transient(vhost: "VHost") -> None:
    """Delete all queues and exchanges that are not durable: the node stops serving, and they end with it."""
    # Differs from RabbitMQ: transient messages in durable queues stay as long as the process does.
    cause = because("transient: the node was stopped")
    for queue in list(vhost.queues.values()):
        if not queue.durable:
            vhost.delete_queue(queue, cause)
    removals = vhost.broker.removals
    for exchange in list(vhost.exchanges.values()):
        if not exchange.durable:
            removals.start(partial(drop_exchanges, vhost, [exchange], exchange), cause)
    removals.finish()


# -- bindings ---------------------------------------------------------------------------------------------------------


def bind(
    vhost: "VHost",
    user: "User | None",
    session: "SessionState | None",
    source_name: str,
    kind: str,
    destination_name: str,
    routing_key: str,
    arguments: Table,
    cause: "Cause",
) -> int:
    """Bind a queue or exchange to an exchange; twice is once [queue.bind], [rmq exchange.bind].

    Return the commit position to wait for, also if nothing was to be done: another may just have done it.
    Raises AccessRefused (403), NotFound (404), ResourceLocked (405), PreconditionFailed (406).
    """
    source_name, destination_name = strip_line_ends(source_name), strip_line_ends(destination_name)
    _check_binding(vhost, user, source_name, kind, destination_name, routing_key)
    source = find_exchange(vhost, source_name)
    destination = _find_destination(vhost, kind, destination_name)
    if destination is None:
        raise not_found(kind, destination_name, vhost)
    source.validate_binding(routing_key, arguments)
    if not isinstance(destination, Exchange):
        check_exclusive_access(destination, session)
    return create_binding(source, destination, routing_key, arguments, cause) or _last_position(vhost, destination)


def create_binding(source: Exchange, destination: "Target", routing_key: str, arguments: Table, cause: "Cause") -> int:
    """Make a binding that has been checked, unless there is an equal one; one of two durable ends is kept.

    Return the commit position to wait for, 0: nothing to.
    """
    vhost = source.vhost
    binding = Binding(source, destination, routing_key, arguments)
    if not source.add(binding):
        return 0
    vhost.bound.setdefault(destination, {})[binding.key] = binding
    commit_position = save_binding(binding)
    vhost.bump()
    source.welcome(binding)
    topology_events.binding_created(binding, cause)
    return commit_position


def unbind(
    vhost: "VHost",
    user: "User | None",
    session: "SessionState | None",
    source_name: str,
    kind: str,
    destination_name: str,
    routing_key: str,
    arguments: Table,
    cause: "Cause",
) -> "Removal":
    """Take a binding away, and what it leaves unused; one that is not there is no fault [queue.unbind].

    The removal has a commit position also if nothing was to be done: another may just have done it.
    Raises AccessRefused (403), ResourceLocked (405).
    """
    source_name, destination_name = strip_line_ends(source_name), strip_line_ends(destination_name)
    _check_binding(vhost, user, source_name, kind, destination_name, routing_key)
    source = vhost.exchanges.get(source_name)
    destination = _find_destination(vhost, kind, destination_name)
    binding = None
    if source is not None and destination is not None:
        binding = vhost.bound.get(destination, {}).get(Binding(source, destination, routing_key, arguments).key)
    if binding is not None and not isinstance(destination, Exchange):
        assert destination is not None
        check_exclusive_access(destination, session)
    broker = vhost.broker
    gone = [] if binding is None else [binding]
    steps = partial(drop_bindings, vhost, gone)
    return broker.removals.start(steps, cause, commit_position=_last_position(vhost, destination))


def _last_position(vhost: "VHost", destination: "Target | None") -> int:
    """Return the commit position of the last change; 0 for a transient queue: no binding of it is ever kept."""
    if destination is not None and destination.kind == "queue" and not destination.durable:
        return 0
    return vhost.broker.definitions.commit_position


def binding_count(destination: "Target") -> int:
    """Return the number of bindings that lead to a queue or exchange, without the default exchange's implicit ones."""
    return len(destination.vhost.bound.get(destination, ()))


def _check_binding(
    vhost: "VHost", user: "User | None", source_name: str, kind: str, destination_name: str, routing_key: str
) -> None:
    """Check permissions for a binding, made or taken away (rabbit_channel:binding_action)."""
    check(user, vhost.name, WRITE, kind, destination_name)
    if kind == "exchange":
        check_not_default(destination_name)
    check_not_default(source_name)
    check(user, vhost.name, READ, "exchange", source_name)
    source = vhost.exchanges.get(source_name)
    if source is not None and source.TYPE == "topic":
        check_topic(user, vhost.name, source_name, READ, routing_key)


def _find_destination(vhost: "VHost", kind: str, name: str) -> "Exchange | Queue | None":
    return vhost.queues.get(name) if kind == "queue" else vhost.exchanges.get(name)
