"""Bodies that are late, too long, or none, with real sockets."""

import pytest

from pybroker.http.door import body as request_body
from pybroker.http.door.access_log import AccessLog
from pybroker.http.door.server import Server
from tests.http.conftest import Api
from tests.http.sockets import HEAD, NEXT, talk


def test_a_small_body_that_nobody_wants_is_passed_over(server):
    found = talk(server, HEAD + b"Content-Length: 5\r\n\r\nhello" + NEXT)
    assert [part[:4] for part in found.split(b"HTTP/1.1")[1:]] == [b" 405", b" 200"]
    found = talk(server, HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + NEXT)
    assert [part[:4] for part in found.split(b"HTTP/1.1")[1:]] == [b" 405", b" 200"]


@pytest.mark.parametrize("body", [b"5\r\nhell0\n", b"zz\r\n", b"-1\r\n", b"0\r\n\x01: x\r\n\r\n", b"f" * 17])
def test_behind_a_body_that_is_none_nothing_is_read(server, body, capfd):
    found = talk(server, HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body + NEXT)
    assert b"HTTP/1.1 200" not in found
    assert capfd.readouterr().err == ""


def test_a_large_body_that_nobody_wants_ends_the_connection(server, monkeypatch):
    monkeypatch.setattr(request_body, "DISCARD_OCTETS_MAX", 32_768)
    found = talk(server, HEAD + b"Content-Length: 100000\r\n\r\n" + bytes(100_000) + NEXT)
    assert found.count(b"HTTP/1.1") <= 1


def test_a_body_that_dribbles_is_not_waited_for(server, monkeypatch):
    monkeypatch.setattr(request_body, "DISCARD_S", 0.1)
    found = talk(server, HEAD + b"Content-Length: 100000\r\n\r\nx")
    assert found.count(b"HTTP/1.1 405") == 1


@pytest.mark.parametrize("framing", [b"Content-Length: 100\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n64\r\n"])
def test_a_body_that_is_wanted_and_late_is_told_so(node, monkeypatch, framing):
    monkeypatch.setattr(request_body, "BODY_S", 0.1)
    server = Server(("127.0.0.1", 0), Api(node).client.application, AccessLog(print))
    server.start()
    found = talk(server, b"POST /api/pybroker/session HTTP/1.1\r\nHost: x\r\n" + framing + b"{")
    assert found.startswith(b"HTTP/1.1 408")
    server.stop()
