"""Queues, exchanges, bindings and virtual hosts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, cast

from pybroker.control.commands.access_control import list_vhosts
from pybroker.control.commands.listings import list_bindings, list_exchanges, list_queues
from pybroker.control.objects.clients import connection_details
from pybroker.control.objects.kind import Key, Kind, View, readers, seen
from pybroker.control.objects.lengths import LENGTHS, lengths_of
from pybroker.core.stats.metrics import EXCHANGE, QUEUE, VHOST
from pybroker.listing import as_they_were
from pybroker.text.properties_key import properties_key

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.binding import Binding
    from pybroker.core.routing.exchange import Exchange
    from pybroker.core.stream.stream import Stream
    from pybroker.core.topology.vhost import VHost


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


def _get_bindings(view: View, keys: Sequence[Key]) -> "Iterator[Binding]":
    """Yield the bindings of one end or between two, by keys such as these.

    `("from", VHOST, EXCHANGE)`, `("to", VHOST, KIND, NAME)`, `("between", VHOST, EXCHANGE, KIND, NAME)`
    """
    vhosts = {vhost.name: vhost for vhost in view.vhosts}
    for key in keys:
        match key:
            case ("from", vhost, source) if vhost in vhosts:
                exchange = vhosts[vhost].exchanges.get(source)
                yield from () if exchange is None else list_bindings.of_exchange(exchange)
            case ("to", vhost, kind, name) if vhost in vhosts:
                yield from _bindings_to(vhosts[vhost], kind, name)
            case ("between", vhost, source, kind, name) if vhost in vhosts:
                for binding in _bindings_to(vhosts[vhost], kind, name):
                    if binding.source.name == source:
                        yield binding


def _bindings_to(vhost: "VHost", kind: str, name: str) -> "Iterator[Binding]":
    """Yield the bindings to a queue, with that of the default exchange, or to an exchange."""
    nouns: Any = vhost.queues if kind == "queue" else vhost.exchanges
    if kind == "queue":
        yield from vhost.exchanges[""].candidates([name], None, None)
    yield from as_they_were(vhost.bound.get(nouns.get(name), {}).values())


def key_of(binding: "Binding") -> str:
    """Return the binding's properties_key."""
    return properties_key(binding.routing_key, binding.key[-1])


class _VHost:
    """A virtual host, whose queues are gone over when its lengths are asked for."""

    def __init__(self, vhost: "VHost", view: View) -> None:
        self.vhost = vhost
        self._view = view

    @cached_property
    def lengths(self) -> dict[str, int]:
        """Return how many messages it has, by the names of LENGTHS."""
        return lengths_of((self.vhost,), self._view.pause)


def _vhosts(view: View, names: Iterable[str] | None = None) -> Iterator[_VHost]:
    for vhost in view.vhosts:
        if names is None or vhost.name in names:
            yield _VHost(vhost, view)


def _of_vhost(read: "Callable[[VHost], Any]") -> Callable[[_VHost], Any]:
    return lambda row: read(row.vhost)


def _length(name: str) -> Callable[[_VHost], int]:
    return lambda row: row.lengths[name]


def _stream(queue: "Queue") -> dict[str, Any] | None:
    """Return the members that only a stream has; None for other queues."""
    if not queue.retains:
        return None
    stream, node = cast("Stream", queue), queue.vhost.broker.settings.node_name
    files = stream.files
    return {
        "members": [node],
        "online": [node],
        "leader": node,
        "readers": {node: len(stream.readers)},
        "first_offset": stream.first_offset,
        "committed_offset": stream.next_offset - 1,
        "segments": files.segment_count,
        "last_chunk_at": files.timestamp_ms or None,
    }


QUEUES: Final = Kind(
    _queues,
    readers(
        list_queues.COLUMNS,
        QUEUE,
        vhost=lambda q: q.vhost.name,
        node=lambda q: q.vhost.broker.settings.node_name,
        owner=lambda q: None if q.owner is None else connection_details(q.owner),
        user=lambda q: q.user,
        idle_since=lambda q: q.vhost.broker.rates.idle_since_ms(q),
        stream=_stream,
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
    readers(list_bindings.COLUMNS, vhost=lambda b: b.source.vhost.name, properties_key=key_of),
    _get_bindings,
)
_VHOST: Final = readers(
    list_vhosts.COLUMNS,
    VHOST,
    recv_oct=lambda v: sum([session.recv_octets for session in v.sessions]),
    send_oct=lambda v: sum([session.send_octets for session in v.sessions]),
)
VHOSTS: Final = Kind(
    _vhosts,
    {name: _of_vhost(read) for name, read in _VHOST.items()} | {name: _length(name) for name in LENGTHS},
    lambda view, keys: _vhosts(view, {name for (name,) in keys}),
)
