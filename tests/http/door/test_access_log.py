"""The line of a request: what it has, and what it never has."""

import base64
import json

import pytest

from pybroker.http.door.access_log import PATH_CHARACTERS_MAX, AccessLog, request_id
from pybroker.http.door.server import Server
from tests.http.conftest import Api
from tests.http.sockets import talk

GUEST = base64.b64encode(b"guest:guest").decode()


@pytest.fixture
def told():
    return []


@pytest.fixture
def access_log(told):
    return AccessLog(told.append, "json")


@pytest.fixture
def ask(node, access_log):
    """Return a function that asks the HTTP API for a path, with some headers."""
    server = Server(("127.0.0.1", 0), Api(node).client.application, access_log)
    server.start()

    def ask(path, *headers):
        lines = (f"GET {path} HTTP/1.1", "Host: localhost", *headers, "Connection: close", "", "")
        return talk(server, "\r\n".join(lines).encode()).decode()

    yield ask
    server.stop()


def test_a_request_is_one_line(ask, told):
    answer = ask("/api/whoami?a=secret", f"Authorization: Basic {GUEST}", "X-Request-ID: from-proxy.1")
    assert "\r\nX-Request-ID: from-proxy.1\r\n" in answer
    (line,) = told
    facts = json.loads(line)
    assert facts.pop("time").endswith("+00:00")
    assert facts.pop("ms") > 0
    assert facts.pop("octets") == len(answer)
    assert facts == {
        "request": "from-proxy.1",
        "peer": "127.0.0.1",
        "user": "guest",
        "method": "GET",
        "path": "/api/whoami",
        "status": 200,
    }


@pytest.mark.parametrize("path", ["/api/auth/hash_password/secret", "/api/auth/hash_password/secret/x", "/x?y=secret"])
def test_no_secret_is_in_a_line(ask, told, path):
    ask(path, "Authorization: Basic c2VjcmV0OnNlY3JldA==", "Cookie: pybroker-session=secret", "X-CSRF-Token: secret")
    assert "secret" not in told[0]
    assert "c2Vjc" not in told[0]


def test_a_request_that_cannot_be_read_has_a_line(ask, told):
    ask("/\x80")
    assert [json.loads(line)["status"] for line in told] == [400]
    assert json.loads(told[0])["path"] == "-"


def test_a_line_of_text_is_one_line_of_words(access_log, told):
    access_log.form = "text"
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/a\x01" + "b" * 1_000, "pybroker.user": 'a "b"\n'}
    access_log.note("::1", environ, 200, 5, 0.0)
    (line,) = told
    assert line.isprintable()
    assert ' - ::1 "a \\"b\\"\\n" GET "/a\\u0001bbb' in line
    assert len(line) < PATH_CHARACTERS_MAX + 150


def test_without_a_form_there_is_no_line(ask, access_log, told):
    access_log.form = ""
    ask("/api/version")
    assert told == []


def test_ids_are_those_given_if_they_are_harmless():
    assert request_id("a-b_c.1") == "a-b_c.1"
    for given in ("", "a b", "a\n", "ä", "a" * 65):
        assert len(request_id(given)) == 16
