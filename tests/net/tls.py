"""TLS in a test's process: contexts made of test certificates, a door with them, and clients on gevent's loop."""

import ssl
from functools import partial

from gevent import ssl as gevent_ssl

from pybroker.daemon.threads import ThreadWorker
from pybroker.net.handshake_line import HandshakeLine
from pybroker.net.server import AMQP
from pybroker.net.tls_context import TlsContexts
from pybroker.net.tls_handshake import TlsHandshake
from tests.net.conftest import Client


def server_context(pair, authority=None, *, required=False) -> ssl.SSLContext:
    """Return a context with a certificate; with an authority clients are verified."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # builds of Python differ
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0
    context.load_cert_chain(*pair)
    if authority is not None:
        context.load_verify_locations(authority.certificate)
        context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
    return context


def client_context(authority, pair=None, *, gevents=True, version=None):
    """Return a client's context that trusts an authority."""
    context = (gevent_ssl if gevents else ssl).SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority.certificate)
    if pair is not None:
        context.load_cert_chain(*pair)
    if version is not None:
        context.minimum_version = context.maximum_version = version
    return context


class Tls:
    """A server's listener with TLS. `current` may be replaced."""

    def __init__(self, server, contexts: TlsContexts, timeout_ms: int = 5_000) -> None:
        self.current = contexts
        self.server = server
        self.workers = [ThreadWorker(f"handshake-{n}", server.turn) for n in range(2)]
        self.line = HandshakeLine(self.workers)
        door = AMQP._replace(protocol="amqp/ssl", steps=(partial(TlsHandshake, self, self.line, timeout_ms),))
        self.listener = server.listen_tcp("127.0.0.1", 0, door=door)
        self.address = (self.listener.interface, self.listener.port)
        self.clients: list[Client] = []

    def connect(self, context=None, name: str = "localhost", **more) -> Client:
        """Return a client; without a context it has not said anything yet."""
        client = Client(self.address)
        self.clients.append(client)
        if context is not None:
            client.sock = context.wrap_socket(client.sock, server_hostname=name, **more)
        return client

    def close(self) -> None:
        for client in self.clients:
            client.close()
        for worker in self.workers:
            worker.stop()
