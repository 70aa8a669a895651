"""The address by which clients are told to connect to this node."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pybroker.stream.session import StreamSession


def advertised(session: "StreamSession") -> tuple[str, int]:
    """Return host and port for a client: those that are configured, for TLS if it uses that, or those that it reached.

    A client that came over a Unix socket is told the name and the port that are configured, or empty ones.
    """
    settings = session.broker.settings
    host, port = settings.stream_advertised_host, settings.stream_advertised_port
    if session.tls is not None:
        host = settings.stream_advertised_tls_host or host
        port = settings.stream_advertised_tls_port
    # Differs from RabbitMQ: it tells the name of its host, which clients elsewhere may not be able to resolve.
    return host or session.host, port or session.port
