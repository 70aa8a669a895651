"""Queues, exchanges, bindings and virtual hosts."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus

from pybroker.control.commands.access_control import list_vhosts
from pybroker.control.commands.listings import list_bindings, list_exchanges, list_queues
from pybroker.control.objects.clients import connection_details
from pybroker.control.objects.kind import Key, Kind, View, readers, seen
from pybroker.core.stats.metrics import EXCHANGE, QUEUE, VHOST
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.binding import Binding
    from pybroker.core.routing.exchange import Exchange

# Long enough that two sets of arguments do not share one.
HASH_OCTETS: Final = 16


def _queues(view: View) -> "Iterator[Queue]":
    for vhost in seen(view, "queues"):
        yield from as_they_were(vhost.queues.values())


def _get(attribute: str, view: View, keys: Sequence[Key]) -> Iterator[Any]:
    """Yield queues or exchanges by virtual host and name."""
    nouns = {vhost.name: getattr(vhost, attribute) for vhost in view.vhosts}
    for vhost, name in keys:
        noun = nouns.get(vhost, {}).get(name)
        if noun is not None:
            yield noun


def _exchanges(view: View) -> "Iterator[Exchange]":
    for vhost in seen(view, "exchanges"):
        yield from as_they_were(vhost.exchanges.values())


def _bindings(view: View) -> "Iterator[Binding]":
    for vhost in seen(view, "exchanges"):
        yield from list_bindings.of_vhost(vhost)


def properties_key(binding: "Binding") -> str:
    """Return what tells a binding from others between the same two ends, as RabbitMQ forms it: `key~hash`.

    The hash is of the arguments, and is there only with some.
    """
    key = quote_plus(binding.routing_key).replace("~", "%7E")
    octets = binding.key[-1]
    if not octets:
        return key or "~"
    return f"{key}~{urlsafe_b64encode(blake2b(octets, digest_size=HASH_OCTETS).digest()).decode().rstrip('=')}"


def _message_count(name: str) -> Any:
    read = QUEUE[name].read
    return lambda vhost: sum([read(queue) for queue in vhost.queues.values()])


QUEUES: Final = Kind(
    _queues,
    readers(
        list_queues.COLUMNS,
        QUEUE,
        vhost=lambda q: q.vhost.name,
        node=lambda q: q.vhost.broker.settings.node_name,
        owner=lambda q: None if q.owner is None else connection_details(q.owner),
        user=lambda q: q.user,
    ),
    partial(_get, "queues"),
)
EXCHANGES: Final = Kind(
    _exchanges,
    readers(list_exchanges.COLUMNS, EXCHANGE, vhost=lambda x: x.vhost.name, user=lambda x: x.user),
    partial(_get, "exchanges"),
)
BINDINGS: Final = Kind(
    _bindings,
    readers(list_bindings.COLUMNS, vhost=lambda b: b.source.vhost.name, properties_key=properties_key),
)
VHOSTS: Final = Kind(
    lambda view: view.vhosts,
    readers(
        list_vhosts.COLUMNS,
        VHOST,
        recv_oct=lambda v: sum([session.recv_octets for session in v.sessions]),
        send_oct=lambda v: sum([session.send_octets for session in v.sessions]),
        messages=_message_count("messages"),
        messages_ready=_message_count("messages_ready"),
        messages_unacknowledged=_message_count("messages_unacknowledged"),
    ),
    lambda view, keys: [vhost for vhost in view.vhosts if (vhost.name,) in keys],
)
