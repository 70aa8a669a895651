"""One request, and the node as its user sees it."""

import contextlib
import io

import pytest
from werkzeug.test import EnvironBuilder, run_wsgi_app
from werkzeug.wrappers import Request

from pybroker.http import call as call_module
from pybroker.http.call import Call
from pybroker.http.errors import HttpError
from pybroker.http.logins import Logins
from pybroker.http.order import Indexes
from pybroker.http.samples.samples import Samples


def of(request, node, identity=None):
    return Call(request, node, identity, Logins(node, 100), Samples(node), Indexes(lambda: 0))


def call(node, identity=None, **more):
    return of(Request(EnvironBuilder(**more).get_environ()), node, identity)


def chunked(node, octets_max):
    """Return a call whose body has no known length, only a bound."""
    environ = EnvironBuilder(data=b"[1]", headers={"Transfer-Encoding": "chunked"}).get_environ()
    request = Request(environ | {"wsgi.input_terminated": True})
    request.max_content_length = octets_max
    return of(request, node)


@pytest.mark.parametrize("octets", [b"", b" ", b"null", b"undefined", b"{}"])
def test_no_body_is_an_empty_object(node, octets):
    assert call(node, data=octets).document() == {}


@pytest.mark.parametrize("octets", [b"{", b"\xff", b"[" * 100_000])
def test_bodies_are_json(node, octets):
    with pytest.raises(HttpError, match="not_json") as caught:
        call(node, data=octets).document()
    assert caught.value.status == 400


def test_a_body_of_brackets_alone_is_refused(node, monkeypatch):
    monkeypatch.setattr(call_module, "BRACKETS_MAX", 10)
    assert len(call(node, data=b"[" + b"{}," * 8 + b"{}]").document()) == 9
    with pytest.raises(HttpError, match="more than 10 brackets") as caught:
        call(node, data=b"[" + b"{}," * 10 + b"{}]").document()
    assert caught.value.status == 413


def test_only_so_many_large_bodies_are_read_at_once(node, monkeypatch):
    monkeypatch.setattr(call_module, "LARGE_OCTETS", 5)
    monkeypatch.setattr(call_module, "LARGE_WAIT_S", 0.01)
    with contextlib.ExitStack() as stack:
        for _ in range(call_module.LARGE_MAX):
            stack.enter_context(call_module._LARGE)
        assert call(node, data=b"[1]").document() == [1]
        with pytest.raises(HttpError, match="other requests") as caught:
            call(node, data=b"[1,2,3]").document()
        assert caught.value.status == 503
        with pytest.raises(HttpError, match="other requests"):
            chunked(node, 6).document()
        assert chunked(node, 5).document() == [1]
    assert call(node, data=b"[1,2,3]").document() == [1, 2, 3]


def test_a_body_without_an_end_is_told_so(api):
    more = {"CONTENT_LENGTH": "100", "wsgi.input": io.BytesIO(b"{")}
    environ = EnvironBuilder("/api/pybroker/session", method="POST").get_environ() | more
    assert run_wsgi_app(api.client.application, environ)[1].startswith("400")


def test_a_connection_that_breaks_is_told_so(node):
    class Broken(io.BytesIO):
        def read(self, *_):
            raise OSError("unexpected end of file")

    environ = EnvironBuilder(method="POST").get_environ() | {"wsgi.input": Broken(), "wsgi.input_terminated": True}
    with pytest.raises(HttpError, match="the body of the request has no end"):
        of(Request(environ), node).document()


def test_fields_are_those_of_an_object(node):
    assert call(node, data=b'{"a":1}').fields() == {"a": 1}
    with pytest.raises(HttpError, match="not_json"):
        call(node, data=b"[1]").fields()


def test_the_reason_is_bounded(node):
    assert call(node).reason == "Closed via management plugin"
    assert call(node, headers={"X-Reason": "update"}).reason == "update"
    for text in ("x" * 256, "a\tb", "a\x1b[31m"):
        with pytest.raises(HttpError, match="X-Reason"):
            _ = call(node, headers={"X-Reason": text}).reason


def test_a_session_that_has_ended_is_begun_anew_by_the_password(api, node, world):
    assert api.get("/api/queues") == []
    world.advance(121_000)
    assert api.get("/api/queues") == []
    assert node.asked.count("login") == 2
    world.broker.users.clear_password("guest")
    api.get("/api/queues", status=401)
