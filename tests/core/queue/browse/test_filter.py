"""Filters: messages that pass, and others."""

import gzip
from datetime import UTC, datetime

import pytest

from pybroker.core.queue.browse import filter as module
from pybroker.core.queue.browse.browsed import Browsed
from pybroker.core.queue.browse.filter import Filter, as_text
from pybroker.run import PLAIN_ATTRIBUTES, Run
from pybroker.text import body_text
from tests.contents import NAMES, content


def browsed(body=b"hello", arrived_ms=50, **properties):
    octets = content(body, **properties)
    run = Run(NAMES, PLAIN_ATTRIBUTES, 1, [octets], len(octets), len(body), len(body), arrived_ms)
    return Browsed(0, run, 0, 0)


def test_an_empty_one_lets_everything_through():
    assert Filter().matches(browsed())


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("kind", "order", True),
        ("kind", "orders", False),
        ("number", "5", True),
        ("number", "50", False),
        ("flag", "true", True),
        ("ratio", "0.5", True),
        ("nothing", "", True),
        ("missing", "", False),
        ("order", "kind", False),
    ],
)
def test_headers_are_compared_as_people_write_them(name, value, expected):
    message = browsed(headers={"kind": "order", "number": 5, "flag": True, "ratio": 0.5, "nothing": None})
    assert expected is Filter([(name, value)]).matches(message)
    assert not Filter([(name, value)]).matches(browsed())
    assert expected is Filter([(name, value), ("kind", "order")]).matches(message)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("ell", True), ("Ell", False), ("m-17", True), ("x", True), ("blue", True), ("red", False), ("", True)],
)
def test_a_text_may_be_anywhere(text, expected):
    message = browsed(message_id="m-17", headers={"colour": "blue"})
    assert expected is Filter(text=text).matches(message)


def test_a_text_is_found_in_what_is_compressed_and_across_frames():
    assert Filter(text="needle").matches(browsed(gzip.compress(b"hay " * 99 + b"needle"), content_encoding="gzip"))
    assert not Filter(text="needle").matches(browsed(gzip.compress(b"hay"), content_encoding="gzip"))
    octets = content(b"x" * 4_080 + b"abcdefghabcdefgh" + b"x" * 900, frame_octets_max=4_096)
    run = Run(NAMES, PLAIN_ATTRIBUTES, 1, [octets], len(octets), 4_996, 4_996, 0)
    assert b"habcdefgh" not in octets
    assert Filter(text="habcdefgh").matches(Browsed(0, run, 0, 0))


def test_only_what_came_before_is_wanted():
    assert Filter(arrived_before_ms=51).matches(browsed())
    assert not Filter(arrived_before_ms=50).matches(browsed())


@pytest.mark.parametrize(
    ("value", "text"),
    [(b"a\xff", "a\udcff"), (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"), ([1], "[1]")],
)
def test_other_values_have_a_text(value, text):
    assert text == as_text(value)


@pytest.mark.parametrize("make", [bytes, gzip.compress])
def test_a_long_body_is_searched_in_steps_and_across_their_ends(monkeypatch, make):
    monkeypatch.setattr(module, "STEP_OCTETS", 1_000)
    monkeypatch.setattr(body_text, "PIECE_OCTETS", 1_000)
    text = b"".join(b"%07d" % n for n in range(2_000))
    message = browsed(make(text), content_encoding=None if make is bytes else "gzip")
    pauses = []
    assert Filter(text="0000142000").matches(message, pauses.append)
    seen = len(pauses)
    assert Filter(text="0001999").matches(message, pauses.append)
    assert not Filter(text="nowhere").matches(message, pauses.append)
    assert set(pauses) == {0}
    assert len(pauses) >= seen + 2 * 13
