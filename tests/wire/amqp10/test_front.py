"""Fronts: property octets are in order, whatever order the sections have; test_to_content.py has the rest."""

import pytest

from pybroker.wire.amqp10.encoding import list_of, map_of, symbol, text
from pybroker.wire.amqp10.front import HEADERS_OCTETS_MAX, NO_FRONT, PAIRS_MAX, Front, read_front
from pybroker.wire.amqp10.sections import (
    APPLICATION_PROPERTIES,
    DELIVERY_ANNOTATIONS,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
    section,
    sections_of,
)
from pybroker.wire.properties import Properties, decode_properties


def front(*sections: bytes, encoded: bool = False) -> Front:
    octets = b"".join(sections)
    return read_front(octets, list(sections_of(octets)), encoded=encoded)


def test_nothing_says_nothing():
    assert front() == NO_FRONT
    assert front(section(DELIVERY_ANNOTATIONS, map_of([]))) == NO_FRONT
    assert decode_properties(front(encoded=True).properties) == Properties(type="amqp-1.0")


def test_properties_are_in_their_order():
    fields = map_of([(text(b"x-basic-app-id"), text(b"a")), (text(b"x-basic-type"), text(b"t")), (text(b"k"), b"\x41")])
    annotations = map_of([(symbol(b"x-exchange"), text(b"x")), (symbol(b"x-basic-priority"), b"\x50\x03")])
    given = list_of(
        [text(b"id"), b"\x40", b"\x40", b"\x40", text(b"r"), text(b"c"), symbol(b"text/plain"), symbol(b"gzip")]
    )
    found = front(
        section(APPLICATION_PROPERTIES, fields), section(PROPERTIES, given), section(MESSAGE_ANNOTATIONS, annotations)
    )
    assert found.origin == ("x", None)
    assert decode_properties(found.properties) == Properties(
        "text/plain", "gzip", {"k": True}, None, 3, "c", "r", None, "id", None, "t", None, "a"
    )


def test_the_type_of_an_encoded_body_counts():
    fields = section(APPLICATION_PROPERTIES, map_of([(text(b"x-basic-type"), text(b"t"))]))
    assert decode_properties(front(fields, encoded=True).properties) == Properties(type="amqp-1.0")
    assert decode_properties(front(fields).properties) == Properties(type="t")


def test_no_more_is_read_than_a_message_may_have():
    pairs = [(text(b"x-basic-type"), text(b"t"))] + [(b"\x54\x01", b"\x40")] * PAIRS_MAX + [(text(b"k"), b"\x41")]
    found = front(section(PROPERTIES, list_of([b"\x40"] * 20)), section(APPLICATION_PROPERTIES, map_of(pairs)))
    assert decode_properties(found.properties) == Properties(type="t")


def test_what_is_malformed_is_refused():
    with pytest.raises(ValueError, match="no list"):
        front(section(PROPERTIES, map_of([])))


@pytest.mark.parametrize(("sizes", "kept"), [((90_000, 90_000), 1), ((200_000, 300), 1), ((300, 400), 2)])
def test_ids_that_fit_no_frame_are_left_out(sizes, kept):
    message, correlation = (text(b"m" * size) for size in sizes)
    null = b"\x40"
    ids = section(PROPERTIES, list_of([message, null, null, null, null, correlation]))
    fields = section(APPLICATION_PROPERTIES, map_of([(text(b"k"), text(b"v" * 20_000))]))
    octets = front(ids, fields).properties
    headers = decode_properties(octets).headers
    assert len(octets) <= HEADERS_OCTETS_MAX + 100
    assert len([name for name in headers if name.endswith("-id")]) == kept
