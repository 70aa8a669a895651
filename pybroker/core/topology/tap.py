"""Taps: a stream that is bound to an exchange and keeps a copy of what goes through, for operators and pipelines.

A tap is no noun of its own, but a stream and its bindings. It gets what the exchange's type routes to one binding more,
so types that send each message over one binding alone have none: a tap would take messages from the others.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.auth.access import strip_line_ends
from pybroker.core.auth.permissions import READ, WRITE, check, check_topic
from pybroker.core.policy.argument_values import QUEUE_TYPE
from pybroker.core.reply_text import describe
from pybroker.core.routing.partitions import SUPER_STREAM_ARGUMENT
from pybroker.core.stream.make import STREAM
from pybroker.core.topology.exchange_declare import create_binding, find_exchange, unbind
from pybroker.core.topology.queue_declare import QueueProperties, check_queue_declare, create_queue
from pybroker.core.topology.removal import check_leaving
from pybroker.errors import PreconditionFailed
from pybroker.wire.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pybroker.core.auth.users import User
    from pybroker.core.events.cause import Cause
    from pybroker.core.routing.exchange import Exchange
    from pybroker.core.topology.removal import Removal
    from pybroker.core.topology.vhost import VHost

# By which key a binding gets everything; no key does of a direct exchange.
EVERYTHING: Final = {"topic": "#", "fanout": "", "headers": "", "x-recent-history": ""}
DIRECT: Final = "direct"
# Keys that a reply text names: it has 255 octets at most.
KEYS_TOLD_MAX: Final = 4


def open_tap(
    vhost: "VHost",
    user: "User | None",
    exchange: str,
    stream: str,
    routing_keys: "Sequence[str]",
    arguments: Table | None,
    cause: "Cause",
) -> tuple[int, bool]:
    """Bind a stream to an exchange, by keys or for everything; make the stream if it is missing.

    It is made with the `arguments`; one that exists is compared with them, unless they are None. Return the commit
    position to wait for, and whether the stream was made. Nothing is done if it fails.

    Raises NotFound (404), AccessRefused (403), PreconditionFailed (406): an exchange that has no taps, a direct one
    without keys, a queue that is no stream; StillLeavingError.
    """
    source = find_exchange(vhost, exchange)
    routing_keys = _keys(source, routing_keys)
    stream = strip_line_ends(stream)
    _check(user, source, stream, routing_keys)
    for key in routing_keys:
        source.validate_binding(key, Table())
    check_leaving(vhost, "queue", stream)
    found = vhost.queues.get(stream)
    if found is not None and found.type != STREAM:
        raise PreconditionFailed(f"{describe('queue', stream, vhost.name)} is of type {found.type}, not a stream")
    if found is None or arguments is not None:
        wanted = Table({QUEUE_TYPE: STREAM, **(arguments or {})})
        properties = QueueProperties(durable=True, exclusive=False, auto_delete=False, arguments=wanted)
        stream, found = check_queue_declare(vhost, user, None, stream, properties)
        if found is None:
            create_queue(vhost, user, None, stream, properties, cause)
    for key in routing_keys:
        create_binding(source, vhost.queues[stream], key, Table(), cause)
    return vhost.broker.definitions.commit_position, found is None


def close_tap(
    vhost: "VHost", user: "User | None", exchange: str, stream: str, routing_keys: "Sequence[str]", cause: "Cause"
) -> "list[Removal]":
    """Take the bindings of a tap away, those of some keys or all; the stream stays with what it has.

    Nothing is done if it fails. Raises NotFound (404): there is no such exchange; PreconditionFailed (406): the stream
    is not bound to it, or not by each of the keys; AccessRefused (403).
    """
    source, destination = find_exchange(vhost, exchange), vhost.queues.get(stream)
    bound = list(vhost.bound.get(destination, {}).values()) if destination is not None else []
    there = [each.routing_key for each in bound if each.source is source and not each.arguments]
    missing = [key for key in routing_keys if key not in there]
    if missing or not there:
        text = f"{describe('queue', stream, vhost.name)} is no tap of {describe('exchange', exchange, vhost.name)}"
        if missing and there:
            text = f"{text} by {_quoted(missing)}, but by {_quoted(there)}"
        raise PreconditionFailed(text)
    gone = [key for key in there if key in routing_keys] if routing_keys else there
    _check(user, source, stream, gone)
    return [unbind(vhost, user, None, exchange, "queue", stream, key, Table(), cause) for key in gone]


def _check(user: "User | None", source: "Exchange", stream: str, routing_keys: "Sequence[str]") -> None:
    """Check permissions for bindings, made or taken away. Raises AccessRefused (403)."""
    vhost = source.vhost.name
    check(user, vhost, WRITE, "queue", stream)
    check(user, vhost, READ, "exchange", source.name)
    if source.TYPE == "topic":
        for key in routing_keys:
            check_topic(user, vhost, source.name, READ, key)


def _quoted(keys: "Sequence[str]") -> str:
    """Return keys for a reply text, the first few."""
    more = f" and {len(keys) - KEYS_TOLD_MAX} more" if len(keys) > KEYS_TOLD_MAX else ""
    return ", ".join(f"'{key}'" for key in keys[:KEYS_TOLD_MAX]) + more


def _keys(source: "Exchange", routing_keys: "Sequence[str]") -> "Sequence[str]":
    """Return the keys to bind by. Raises PreconditionFailed (406)."""
    resource, inner = describe("exchange", source.name, source.vhost.name), source.inner_type
    if source.arguments.get(SUPER_STREAM_ARGUMENT) is True:
        raise PreconditionFailed(f"{resource} is a super stream: its partitions keep its messages already")
    if inner.TYPE == DIRECT and source.name:
        if not routing_keys:
            raise PreconditionFailed(f"{resource} is direct, so a tap needs the routing keys that it is to get")
        return routing_keys
    if inner.TYPE not in EVERYTHING:
        what = "the default exchange" if not source.name else f"{resource} of type {inner.TYPE}"
        raise PreconditionFailed(f"a tap of {what} is not possible: it would change where messages go")
    return routing_keys or (EVERYTHING[inner.TYPE],)
