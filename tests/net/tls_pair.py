"""A transport with TLS whose socket is a fake, and the peer's end, which is OpenSSL in memory.

The socket takes a few octets, or none, and gives a few, or none.
"""

import socket
import ssl

from pybroker.net.tls_transport import TlsTransport
from pybroker.net.transport import Transport
from tests.net.tls import client_context, server_context


class FakeSocket:
    """`room` is how much the kernel still takes, `portion` how much at a call; `came` is what can be received."""

    def __init__(self) -> None:
        self.room = 1 << 30
        self.portion = 1 << 30
        self.came = bytearray()
        self.sent = bytearray()
        self.ended = False
        self.shut = False
        self.gone = False

    def send(self, octets) -> int:
        if self.gone:
            raise BrokenPipeError(32, "Broken pipe")
        count = min(len(octets), self.room, self.portion)
        if not count:
            raise BlockingIOError
        self.sent += octets[:count]
        self.room -= count
        return count

    def recv_into(self, buffer, octets_max: int) -> int:
        if not self.came and not self.ended:
            raise BlockingIOError
        found = bytes(self.came[:octets_max])
        del self.came[:octets_max]
        buffer[: len(found)] = found
        return len(found)

    def shutdown(self, how: int) -> None:
        assert how == socket.SHUT_WR
        self.shut = True

    def fileno(self) -> int:
        return 99

    def close(self) -> None:
        pass


class FakeWatcher:
    def __init__(self) -> None:
        self.call_back = None

    @property
    def active(self) -> bool:
        return self.call_back is not None

    def start(self, call_back, *_) -> None:
        self.call_back = call_back

    def stop(self) -> None:
        self.call_back = None

    def close(self) -> None:
        pass


class FakeLoop:
    def io(self, fileno: int, event: int) -> FakeWatcher:
        return FakeWatcher()


class Pair:
    """A transport, its socket, and the peer's end."""

    def __init__(self, made, version=None) -> None:
        context = server_context(made.server)
        self.sock = FakeSocket()
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        client = client_context(made.authority, gevents=False, version=version)
        self.peer = client.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        server = context.wrap_bio(to_server, to_client, server_side=True)
        left = [self.peer, server]
        while left:
            for end in list(left):
                try:
                    end.do_handshake()
                    left.remove(end)
                except ssl.SSLWantReadError:
                    pass
            to_server.write(self.outgoing.read())
            self.incoming.write(to_client.read())
        self.transport = TlsTransport(Transport(self.sock, FakeLoop()), server, to_server, to_client)

    @property
    def writer(self):
        return self.transport._writer

    def peer_sends(self, octets: bytes) -> None:
        at = 0
        while at < len(octets):
            at += self.peer.write(octets[at:])
        self.sock.came += self.outgoing.read()

    def peer_received(self) -> bytes:
        self.incoming.write(bytes(self.sock.sent))
        self.sock.sent.clear()
        found = b""
        while True:
            try:
                octets = self.peer.read(1 << 20)
            except ssl.SSLWantReadError:
                return found
            if not octets:
                return found
            found += octets


def begin_large_transfer(pair) -> None:
    """Have the transport read as much at a time as it ever does, and all that came."""
    for _ in range(4):
        pair.peer_sends(b"b" * 600_000)
        while pair.sock.came or pair.transport.buffered:
            pair.transport.receive(131_072)
