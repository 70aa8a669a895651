"""The limits of the HTTP server, with real sockets."""

import contextlib
import re

import gevent
import pytest
from gevent import socket

from pybroker.http.door import server as server_module
from pybroker.http.door.access_log import AccessLog
from pybroker.http.door.server import Server
from pybroker.http.metrics.application import Application
from tests.http.sockets import HEAD, NEXT, talk


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
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: +0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length : 0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n Content-Length: 0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nno header\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nA\0: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
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
    found = talk(server, octets)
    assert found[:12] in {b"HTTP/1.1 400", b"HTTP/1.1 431", b""}
    assert len(re.findall(rb"HTTP/1.1 \d", found)) <= 1
    assert "Traceback" not in capfd.readouterr().err


def test_a_head_that_dribbles_is_not_waited_for(server, monkeypatch, capfd):
    monkeypatch.setattr(server_module, "HEAD_S", 0.1)
    for octets in (b"GET / HTTP/1.1\r\nHost", b"GE"):
        assert talk(server, octets, more=b": x", pause_s=0.2).startswith(b"HTTP/1.1 408")
    assert "Traceback" not in capfd.readouterr().err


def test_a_connection_that_says_nothing_ends(node, monkeypatch):
    monkeypatch.setattr(server_module, "IDLE_S", 0.1)
    server = Server(("127.0.0.1", 0), Application(node, 1_000), AccessLog(print))
    server.start()
    assert talk(server, b"") == b""
    server.stop()


def test_more_connections_than_allowed_wait(node, monkeypatch):
    monkeypatch.setattr(server_module, "CONNECTIONS_MAX", 2)
    monkeypatch.setattr(server_module, "SPARE", 0)
    server = Server(("127.0.0.1", 0), Application(node, 1_000), AccessLog(print))
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


def test_to_let_one_in_the_longest_idle_ends(node, monkeypatch):
    monkeypatch.setattr(server_module, "CONNECTIONS_MAX", 4)
    monkeypatch.setattr(server_module, "SPARE", 1)
    server = Server(("127.0.0.1", 0), Application(node, 1_000), AccessLog(print))
    server.start()
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(server.address, timeout=10)) for _ in range(20)]
        request = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        assert talk(server, request).startswith(b"HTTP/1.1 200")
        assert held[0].recv(1) == b""
        held[-1].sendall(request)
        assert held[-1].recv(12) == b"HTTP/1.1 200"
    server.stop()


@pytest.mark.parametrize("coding", [b"gzip, chunked", b"chunked, identity", b"xchunked", b"chunked\x0b", b"identity"])
def test_other_codings_are_not_taken_for_none(server, coding):
    found = talk(server, HEAD + b"Transfer-Encoding: " + coding + b"\r\n\r\n" + NEXT)
    assert found.startswith(b"HTTP/1.1 501")
    assert found.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("upgrade", [b"Connection: upgrade\r\n", b"Upgrade: websocket\r\n"])
def test_there_is_nothing_to_upgrade_to(server, upgrade):
    # RabbitMQ's advisory CVE-2026-67405: WebSockets of any origin. There are none here.
    found = talk(server, HEAD + upgrade + b"Content-Length: 5\r\n\r\nhello" + NEXT)
    assert [part[:4] for part in found.split(b"HTTP/1.1")[1:]] == [b" 405", b" 200"]
