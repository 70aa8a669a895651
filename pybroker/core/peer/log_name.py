"""A connection in the log: its addresses, its client's name for it, user and virtual host, as text and as fields."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pybroker.core.peer.session import PeerSession


def called(session: "PeerSession") -> str:
    """Return `127.0.0.1:1 -> 127.0.0.1:2 - NAME`, as RabbitMQ writes it; without a name the addresses alone."""
    name = session.client_name
    return f"{session.name} - {name:.256}" if name else session.name


def described(session: "PeerSession") -> str:
    """Return that with virtual host and user, as far as they are known: for its end."""
    text = called(session)
    if session.vhost is not None:
        text += f", vhost: '{session.vhost.name}'"
    return text if session.user is None else f"{text}, user: '{session.user.name}'"


def fields(session: "PeerSession") -> dict[str, object]:
    """Return that by the names of the log's fields, as far as it is known."""
    found: dict[str, object] = {"connection": session.name, "connection_pid": session.pid}
    if name := session.client_name:
        found["client_name"] = name
    if session.user is not None:
        found["user"] = session.user.name
    if session.vhost is not None:
        found["vhost"] = session.vhost.name
    return found
