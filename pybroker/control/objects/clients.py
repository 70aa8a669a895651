"""Connections, channels and consumers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from pybroker.control.commands.listings import list_channels, list_connections, list_consumers
from pybroker.control.objects.kind import Key, Kind, View, readers, seen
from pybroker.core.stats.metrics import CHANNEL, CONNECTION, CONSUMER
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel
    from pybroker.amqp.consumer import AmqpConsumer
    from pybroker.amqp.session import AmqpSession


def _connections(view: View) -> "Iterator[AmqpSession]":
    shown = {vhost.name for vhost in view.vhosts}
    for session in cast("Iterator[AmqpSession]", as_they_were(view.broker.sessions.values())):
        if _is_seen(view, session, shown):
            yield session


def _is_seen(view: View, session: "AmqpSession", shown: set[str]) -> bool:
    """Tell whether a connection has entered a virtual host of the view, and is of its user."""
    if session.vhost is None or session.user is None or session.state in {"header", "closed"}:
        return False
    return session.vhost.name in shown and view.user in {None, session.user.name}


def _by_name(view: View, names: Iterable[str]) -> "dict[str, AmqpSession]":
    wanted = set(names)
    return {session.name: session for session in _connections(view) if session.name in wanted}


def _get_connections(view: View, keys: Sequence[Key]) -> "Iterable[AmqpSession]":
    found = _by_name(view, [name for (name,) in keys])
    return [found[name] for (name,) in keys if name in found]


def _channels(view: View) -> "Iterator[AmqpChannel]":
    for session in _connections(view):
        for number in sorted(session.channels):
            # Between two slices a channel may have been closed.
            channel = session.channels.get(number)
            if channel is not None and not channel.starting:
                yield channel


def _get_channels(view: View, keys: Sequence[Key]) -> "Iterator[AmqpChannel]":
    """Yield channels by name: `CONNECTION (NUMBER)`."""
    parts = [name.removesuffix(")").rpartition(" (") for (name,) in keys]
    sessions = _by_name(view, [connection for connection, _, _ in parts])
    for connection, _, number in parts:
        session = sessions.get(connection)
        channel = session.channels.get(int(number)) if session is not None and number.isdecimal() else None
        if channel is not None and not channel.starting:
            yield channel


def _consumers(view: View) -> "Iterator[AmqpConsumer]":
    for vhost in seen(view, "queues"):
        for queue in as_they_were(vhost.queues.values()):
            yield from cast("Iterator[AmqpConsumer]", list(queue.consumers))


def _get_consumers(view: View, keys: Sequence[Key]) -> "Iterator[AmqpConsumer]":
    """Yield the consumers of queues, by keys `("queue", VHOST, NAME)`, or of channels, by `("channel", NAME)`."""
    vhosts = {vhost.name: vhost for vhost in view.vhosts}
    for key in keys:
        match key:
            case ("queue", vhost, name) if vhost in vhosts and name in vhosts[vhost].queues:
                yield from cast("Iterator[AmqpConsumer]", list(vhosts[vhost].queues[name].consumers))
            case ("channel", name):
                for channel in _get_channels(view, [(name,)]):
                    yield from cast("Iterator[AmqpConsumer]", list(channel.consumers.values()))


def connection_details(session: "AmqpSession") -> dict[str, Any]:
    """Return the connection that a channel, a consumer or an exclusive queue belongs to."""
    return {"name": session.name, "peer_host": session.peer_host, "peer_port": session.peer_port}


def channel_details(channel: "AmqpChannel") -> dict[str, Any]:
    """Return the channel that a consumer belongs to; the connection has the name if its protocol has no channels."""
    session = channel.session
    assert session.user is not None
    return {
        "connection_name": session.name,
        "name": f"{session.name} ({channel.number})" if channel.number else "",
        "node": session.broker.settings.node_name,
        "number": channel.number,
        "peer_host": session.peer_host,
        "peer_port": session.peer_port,
        "user": session.user.name,
    }


def _stream(consumer: "AmqpConsumer") -> dict[str, Any] | None:
    """Return where a consumer of a stream is; None for a queue's."""
    reader = list_consumers.reader_of(consumer)
    return None if reader is None else {"next_offset": reader.next_offset, "lag": reader.lag}


CONNECTIONS: Final = Kind(
    _connections,
    readers(list_connections.COLUMNS, CONNECTION, protocol=lambda s: s.protocol, type=lambda _: "network"),
    _get_connections,
)
CHANNELS: Final = Kind(
    _channels,
    readers(
        list_channels.COLUMNS,
        CHANNEL,
        # The counter has the name of the column.
        confirm_mode=lambda c: c.confirms is not None,
        node=lambda c: c.session.broker.settings.node_name,
        connection_details=lambda c: connection_details(c.session),
    ),
    _get_channels,
)
CONSUMERS: Final = Kind(
    _consumers,
    readers(
        list_consumers.COLUMNS,
        CONSUMER,
        vhost=lambda c: c.queue.vhost.name,
        exclusive=lambda c: c.exclusive,
        queue=lambda c: {"name": c.queue.name, "vhost": c.queue.vhost.name},
        channel_details=lambda c: channel_details(c.channel),
        stream=_stream,
    ),
    _get_consumers,
)
