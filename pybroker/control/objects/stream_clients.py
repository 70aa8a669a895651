"""Publishers and consumers of the stream protocol."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pybroker.control.objects.clients import connection_details
from pybroker.control.objects.kind import Key, Kind, View, plain
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from pybroker.core.stream.stream import Stream

    # Publishers or consumers of a stream.
    Of = Callable[[Stream], Iterable[Any]]


def _publishers(stream: "Stream") -> Iterable[Any]:
    return list(stream.publishers)


def _consumers(stream: "Stream") -> Iterable[Any]:
    return [consumer for consumer in stream.consumers if consumer.takes_chunks]


def _find(clients_of: "Of", session_of: Callable[[Any], Any], view: View) -> Iterator[Any]:
    """Yield the clients of all streams of a view, of its user."""
    shown = set(view.vhosts)
    for stream in as_they_were(view.broker.streams.known):
        if stream.vhost in shown and not stream.deleted:
            yield from _seen(view, clients_of(stream), session_of)


def _get(clients_of: "Of", session_of: Callable[[Any], Any], view: View, keys: Sequence[Key]) -> Iterator[Any]:
    """Yield clients by keys `("stream", VHOST, NAME)` or `("connection", VHOST, NAME)`."""
    vhosts = {vhost.name: vhost for vhost in view.vhosts}
    for key in keys:
        match key:
            case ("stream", vhost, name) if vhost in vhosts and name in vhosts[vhost].queues:
                queue = vhosts[vhost].queues[name]
                if queue.retains:
                    yield from _seen(view, clients_of(queue), session_of)  # type: ignore[arg-type]  # it is a stream
            case ("connection", vhost, name) if vhost in vhosts:
                found = _find(clients_of, session_of, view._replace(vhosts=(vhosts[vhost],)))
                yield from (each for each in found if session_of(each).name == name)


def _seen(view: View, clients: Iterable[Any], session_of: Callable[[Any], Any]) -> Iterator[Any]:
    for client in clients:
        user = session_of(client).user
        if user is not None and view.user in {None, user.name}:
            yield client


def _details(session: Any) -> dict[str, Any]:
    return {**connection_details(session), "node": session.broker.settings.node_name, "user": session.user.name}


def _name(stream: Any) -> dict[str, str]:
    return {"name": stream.name, "vhost": stream.vhost.name}


def _kind(clients_of: "Of", session_of: Callable[[Any], Any], readers: dict[str, Callable[[Any], Any]]) -> Kind:
    details = {"connection_details": lambda client: _details(session_of(client))}
    return Kind(partial(_find, clients_of, session_of), readers | details, partial(_get, clients_of, session_of))


PUBLISHERS: Final = _kind(
    _publishers,
    lambda p: p.session,
    {
        "queue": lambda p: _name(p.stream),
        "publisher_id": lambda p: p.id,
        "reference": lambda p: p.name,
        "published": lambda p: p.published,
        "confirmed": lambda p: p.confirmed,
        "errored": lambda p: p.refused,
    },
)
CONSUMERS: Final = _kind(
    _consumers,
    lambda c: c.channel.session,
    {
        "queue": lambda c: _name(c.queue),
        "subscription_id": lambda c: c.id,
        "credits": lambda c: c.chunks,
        "consumed": lambda c: c.delivered,
        "offset": lambda c: c.queue.last_offset_of(c) or 0,
        "offset_lag": lambda c: c.queue.lag_of(c) or 0,
        "properties": plain(lambda c: c.arguments),
    },
)
