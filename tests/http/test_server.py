"""The limits of the HTTP server, with real sockets."""

import gevent
import pytest
from gevent import socket

from pybroker.http import server as server_module
from pybroker.http.metrics.application import Application
from pybroker.http.server import Server


@pytest.fixture
def server(node):
    server = Server(("127.0.0.1", 0), Application(node, 1_000))
    server.start()
    yield server
    server.stop()


def talk(server, octets, *, more=b"", pause_s=0.0):
    """Send octets, then perhaps more; return all that comes back."""
    with socket.create_connection(server.address, timeout=10) as peer:
        peer.sendall(octets)
        gevent.sleep(pause_s)
        if more:
            peer.sendall(more)
        found = b""
        try:
            while part := peer.recv(65_536):
                found += part
        except ConnectionError:
            pass
        return found


def test_a_connection_serves_several_requests(server):
    request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    found = talk(server, request * 2 + b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert found.count(b"HTTP/1.1 200 OK") == 3


def test_the_path_is_not_decoded(server):
    found = talk(server, b"GET /metrics%2fdetailed HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert found.startswith(b"HTTP/1.1 404")


@pytest.mark.parametrize(
    "octets",
    [
        b"GET /\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1\r\n\r\n",
        b"GET /\xa4 HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: " + b"x" * 70_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: %s\r\n" % (n, b"x" * 1_000) for n in range(90)) + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500) + b"\r\n",
    ],
)
def test_what_is_no_request_is_refused(server, octets, capfd):
    assert talk(server, octets)[:12] in {b"HTTP/1.1 400", b"HTTP/1.1 431", b""}
    assert "Traceback" not in capfd.readouterr().err


def test_a_head_that_dribbles_is_not_waited_for(server, monkeypatch, capfd):
    monkeypatch.setattr(server_module, "HEAD_S", 0.1)
    assert talk(server, b"GET / HTTP/1.1\r\nHost", more=b": x", pause_s=0.2).startswith(b"HTTP/1.1 400")
    assert "Traceback" not in capfd.readouterr().err


def test_a_connection_that_says_nothing_ends(node, monkeypatch):
    monkeypatch.setattr(server_module, "IDLE_S", 0.1)
    server = Server(("127.0.0.1", 0), Application(node, 1_000))
    server.start()
    assert talk(server, b"") == b""
    server.stop()


def test_more_connections_than_allowed_wait(node, monkeypatch):
    monkeypatch.setattr(server_module, "CONNECTIONS_MAX", 2)
    server = Server(("127.0.0.1", 0), Application(node, 1_000))
    server.start()
    held = [socket.create_connection(server.address) for _ in range(2)]
    gevent.sleep(0.05)
    waiting = gevent.spawn(talk, server, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    gevent.sleep(0.1)
    assert not waiting.ready()
    held[0].close()
    assert waiting.get(timeout=10).startswith(b"HTTP/1.1 200")
    held[1].close()
    server.stop()
