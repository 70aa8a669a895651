"""PROXY headers before a session: whom they are believed from, and whose addresses count behind them."""

import ipaddress
import struct

import pytest
from gevent import socket
from pamqp import commands

from pybroker.core.peer import login
from pybroker.net.proxy_protocol import SIGNATURE, ProxyHeader
from pybroker.net.proxy_step import introduce
from pybroker.net.server import AMQP
from pybroker.peer import Peer
from tests.loop import until
from tests.net.conftest import PROTOCOL_HEADER, Client

LINE = b"PROXY TCP4 192.0.2.1 192.0.2.2 40000 5672\r\n"
BINARY = SIGNATURE + struct.pack(">BBH4B4BHH", 0x21, 0x11, 15, 192, 0, 2, 1, 192, 0, 2, 2, 40_000, 5_672) + b"\xe0\0\0"
LOCAL = SIGNATURE + b"\x20\0\0\0"
HERE = (ipaddress.ip_network("127.0.0.0/8"),)


@pytest.fixture
def listener(server):
    server.trusted_proxies = HERE
    return server.listen_tcp("127.0.0.1", 0)


@pytest.fixture
def proxy(listener, connect):
    """Return a function that connects as a proxy would, and sends a header."""

    def proxy(header: bytes) -> Client:
        client = connect((listener.interface, listener.port))
        client.sock.sendall(header)
        return client

    return proxy


@pytest.mark.parametrize("header", [LINE, BINARY])
def test_the_clients_addresses_are_the_sessions(server, proxy, header):
    server.broker.settings.loopback_users = frozenset()
    proxy(header).open()
    [session] = server.broker.sessions.values()
    assert session.name == "192.0.2.1:40000 -> 192.0.2.2:5672"
    assert (session.peer_host, session.peer_port, session.host, session.port) == ("192.0.2.1", 40000, "192.0.2.2", 5672)
    assert not session.peer_is_local
    assert sum(server._handshakes.values()) == len(server.preambles) == 0


def test_a_client_elsewhere_is_no_loopback_user_although_the_proxy_is_here(server, proxy, monkeypatch):
    monkeypatch.setattr(login, "REFUSAL_MS_MIN", 20)
    monkeypatch.setattr(login, "REFUSAL_MS_MAX", 21)
    client = proxy(LINE + PROTOCOL_HEADER)
    client.receive()
    client.send(commands.Connection.StartOk({}, "PLAIN", "\0guest\0guest"), channel=0)
    assert client.receive() is None
    assert server.broker.logins.failed == 1


@pytest.mark.parametrize("header", [LOCAL, b"PROXY TCP4 127.0.0.1 127.0.0.1 40000 5672\r\n"])
def test_a_client_here_is_local(server, proxy, header):
    proxy(header).open()
    [session] = server.broker.sessions.values()
    assert session.peer_is_local


@pytest.mark.parametrize("header", [LINE, BINARY, LOCAL, b"PROXY UNKNOWN\r\n"])
def test_a_header_may_come_octet_by_octet_and_the_rest_right_behind_it(server, proxy, header):
    client = proxy(header[:1])
    for octet in header[1:-1]:
        client.sock.sendall(bytes([octet]))
        until(lambda: server.preambles)
    client.sock.sendall(header[-1:] + PROTOCOL_HEADER)
    assert isinstance(client.receive(), commands.Connection.Start)


PROXY = Peer(("10.0.0.5", 40_000), ("10.0.0.9", 5_672), is_local=False, accepted_ms=7)
SAME = Peer(("127.0.0.1", 40_000), ("127.0.0.1", 5_672), is_local=True, accepted_ms=7)
AFAR, NEAR = ("192.0.2.1", 1), ("127.0.0.3", 1)


@pytest.mark.parametrize(
    ("peer", "header", "expected"),
    [
        (PROXY, ProxyHeader(1, relayed=False), PROXY),
        (SAME, ProxyHeader(1, relayed=False), SAME),
        (PROXY, ProxyHeader(1, relayed=True), PROXY),
        (SAME, ProxyHeader(1, relayed=True), SAME._replace(is_local=False)),
        (PROXY, ProxyHeader(1, True, AFAR, ("192.0.2.2", 2)), Peer(AFAR, ("192.0.2.2", 2), False, 7)),
        (SAME, ProxyHeader(1, True, AFAR, ("192.0.2.2", 2)), Peer(AFAR, ("192.0.2.2", 2), False, 7)),
        (SAME, ProxyHeader(1, True, NEAR, NEAR), Peer(NEAR, NEAR, True, 7)),
        # The proxy's machine is another one.
        (PROXY, ProxyHeader(1, True, NEAR, NEAR), Peer(NEAR, NEAR, False, 7)),
        (
            SAME,
            ProxyHeader(1, True, ("::ffff:7f00:3", 1), ("::ffff:c000:202", 2)),
            Peer(NEAR, ("192.0.2.2", 2), True, 7),
        ),
        (SAME, ProxyHeader(1, True, ("::1", 1), ("::1", 2)), Peer(("::1", 1), ("::1", 2), True, 7)),
    ],
)
def test_whose_addresses_count(peer, header, expected):
    assert introduce(peer, header) == expected


def test_a_peer_that_is_no_trusted_proxy_is_closed_with_a_line(server, listener, connect, caplog):
    server.trusted_proxies = (ipaddress.ip_network("10.0.0.0/8"),)
    client = connect((listener.interface, listener.port))
    assert client.sock.recv(10) == b""
    host, port = client.sock.getsockname()
    [line] = caplog.messages
    name, _, reason = line.partition(": ")
    assert name == f"closing amqp connection {host}:{port} -> 127.0.0.1:{listener.port}"
    assert reason == "127.0.0.1 is not one of the trusted proxies (proxy_protocol.trusted)"
    assert sum(server._handshakes.values()) == len(server.preambles) == 0


def test_the_trusted_proxies_may_be_replaced(server, listener, proxy, connect):
    proxy(LOCAL).open()
    server.trusted_proxies = ()
    connect((listener.interface, listener.port)).open()
    server.trusted_proxies = (ipaddress.ip_network("10.0.0.0/8"),)
    assert connect((listener.interface, listener.port)).sock.recv(10) == b""


@pytest.mark.parametrize("octets", [PROTOCOL_HEADER, LINE.replace(b"192", b"999"), SIGNATURE + b"\x31\0\0\0"])
def test_a_malformed_header_ends_it_with_a_line(server, proxy, caplog, octets):
    client = proxy(octets)
    assert client.sock.recv(10) == b""
    assert len(caplog.messages) == 1
    assert ": malformed PROXY header: " in caplog.messages[0]
    assert sum(server._handshakes.values()) == len(server.preambles) == 0


def test_a_peer_that_stalls_within_its_header_is_closed_at_its_deadline(server, proxy, caplog):
    server.broker.settings.handshake_timeout_ms = 50
    client = proxy(LINE[:20])
    assert client.sock.recv(10) == b""
    assert caplog.messages[0].endswith(": timeout waiting for a PROXY header")


def test_health_checks_are_no_faults(server, proxy, caplog):
    for header in (b"", LOCAL, b"PROXY UNKNOWN\r\n"):
        client = proxy(header)
        until(lambda header=header: server.broker.sessions if header else server.preambles)
        client.close()
        until(lambda: not any(server._handshakes.values()))
    assert caplog.messages == []


def test_a_header_cut_off_by_its_peer_is_one(server, proxy, caplog):
    proxy(LINE[:20]).sock.shutdown(socket.SHUT_WR)
    until(lambda: caplog.messages)
    assert caplog.messages[0].endswith(": client unexpectedly closed TCP connection")
    assert sum(server._handshakes.values()) == len(server.preambles) == 0


def test_unix_listeners_expect_no_header(server, connect, tmp_path):
    server.trusted_proxies = HERE
    server.listen_unix(str(tmp_path / "s"))
    connect(str(tmp_path / "s")).open()


def test_the_steps_of_the_door_follow(server, connect):
    seen = []

    def step(preamble):
        seen.append(preamble.peer.address)
        return type("Last", (), {"begin": lambda _: preamble.passed()})()

    server.trusted_proxies = HERE
    listener = server.listen_tcp("127.0.0.1", 0, door=AMQP._replace(steps=(step,)))
    client = connect((listener.interface, listener.port))
    client.sock.sendall(LINE + PROTOCOL_HEADER)
    assert isinstance(client.receive(), commands.Connection.Start)
    assert seen == [("192.0.2.1", 40_000)]
