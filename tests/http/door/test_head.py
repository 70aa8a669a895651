"""Heads of requests, line by line; tests/http/door/test_server.py has them with sockets."""

import io
from http.client import parse_headers

import pytest

from pybroker.http.door.head import HEAD_OCTETS_MAX, BadHead, Head, check_fields


def fields(*lines):
    return parse_headers(Head(io.BytesIO(b"".join(line + b"\r\n" for line in (*lines, b"")))))


@pytest.mark.parametrize(
    "lines", [(), (b"Host: x", b"Content-Length: 5"), (b"Host: x", b"Transfer-Encoding: Chunked"), (b"A:", b"B: \xfc")]
)
def test_clear_heads_are_taken(lines):
    check_fields(fields(*lines), needs_host=False)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((b"Host: x", b"no colon"), 400),
        ((b"A: b", b" folded: x"), 400),
        ((b"A : b",), 400),
        ((b"A\t: b",), 400),
        ((b": b",), 400),
        ((b"A: b\rC: d",), 400),
        ((b"A: \0",), 400),
        ((b"Content-Length: 1", b"Content-Length: 1"), 400),
        ((b"Content-Length: 1, 1",), 400),
        ((b"Content-Length: \xb2",), 400),
        ((b"Content-Length: 1_0",), 400),
        ((b"Content-Length:",), 400),
        ((b"Content-Length: 1", b"Transfer-Encoding: chunked"), 400),
        ((b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"), 501),
        ((b"Transfer-Encoding: chunked ",), 501),
        ((b"Host: a", b"Host: a"), 400),
        ((b"A: " + b"b" * HEAD_OCTETS_MAX,), 431),
        ((b"A: " + b"b" * 60_000, b"C: " + b"d" * 60_000), 431),
    ],
)
def test_others_are_refused(lines, status):
    with pytest.raises(BadHead) as refused:
        check_fields(fields(*lines), needs_host=False)
    assert refused.value.status == status
    head, _, text = refused.value.response.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"Content-Length: %d" % len(text) in head


def test_a_request_needs_a_host_from_version_1_1_on():
    with pytest.raises(BadHead):
        check_fields(fields(b"A: b"), needs_host=True)


def test_a_head_without_an_end_is_refused():
    with pytest.raises(BadHead, match="no end"):
        parse_headers(Head(io.BytesIO(b"A: b\r\n")))
