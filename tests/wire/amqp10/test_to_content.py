"""Messages become contents as RabbitMQ 3.10.8 makes them, and those at which it gives up are delivered.

rabbitmq_3_10_8.json has, in hexadecimal, what was published to it through one protocol and came out through the other:
`messages` were published as entries and read by AMQP 0-9-1, `contents` the other way round. If it closed the
consumer's connection a row has the reply code as its error. Properties have the offset that it puts into headers.
"""

import json
from struct import pack

import pytest
from hypothesis import given, settings, strategies as st

from pybroker.content_view import body, property_octets
from pybroker.wire.amqp10 import to_content
from pybroker.wire.amqp10.encoding import binary, list_of, map_of, symbol, text
from pybroker.wire.amqp10.front import HEADERS_MAX, HEADERS_OCTETS_MAX
from pybroker.wire.amqp10.known_fronts import FRONT_OCTETS_MAX, FRONTS_MAX
from pybroker.wire.amqp10.sections import (
    APPLICATION_PROPERTIES,
    DATA,
    DELIVERY_ANNOTATIONS,
    FOOTER,
    HEADER,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
    SEQUENCE,
    VALUE,
    section,
)
from pybroker.wire.amqp10.to_content import contents_of, framed, pure_content
from pybroker.wire.properties import Properties, attributes_of, decode_properties
from tests.amqp10 import content_of, parts_of
from tests.sources import ROOT

ROWS = json.loads((ROOT / "tests/wire/amqp10/rabbitmq_3_10_8.json").read_text())["messages"]
GOOD = [bytes.fromhex(row["message"]) for row in ROWS]
# Of two sections of data RabbitMQ delivers the second one; a time before 1970 is one that it is not.
OTHERWISE = {"two data", "negative timestamp"}
BODY = section(DATA, binary(b"x"))


@pytest.fixture
def pure(monkeypatch):
    """Have Python convert everything."""
    monkeypatch.setattr(to_content, "_common", pure_content)


def by_name(rows):
    return [pytest.param(row, id=row["name"]) for row in rows]


def decoded(message: bytes) -> tuple[Properties, bytes]:
    content = content_of(message)
    return decode_properties(property_octets(content)), body(content)


@pytest.mark.parametrize("row", by_name(row for row in ROWS if "error" not in row and row["name"] not in OTHERWISE))
@pytest.mark.parametrize("codec", ["C", "pure Python"])
def test_a_content_is_as_rabbitmq_delivers_it(row, codec, monkeypatch):
    if codec != "C":
        monkeypatch.setattr(to_content, "_common", pure_content)
    front, octets = parts_of(bytes.fromhex(row["message"]))
    assert octets.hex() == row["body"]
    attributes_of(front.properties)
    given, wanted = decode_properties(front.properties), decode_properties(bytes.fromhex(row["properties"]))
    del wanted.headers["x-stream-offset"]
    # Differs in what nobody sees there: the value by which streams are filtered.
    if given.headers is not None:
        given.headers.pop("x-stream-filter-value", None)
    assert (given.headers or {}) == wanted.headers
    given.headers = wanted.headers = None
    assert given == wanted
    assert (front.origin.exchange or "") == row["exchange"]
    if front.origin.routing_key is not None:
        assert front.origin.routing_key == row["routing_key"]
    content = content_of(bytes.fromhex(row["message"]))
    assert (property_octets(content), body(content)) == (front.properties, octets)


def refused(name: str) -> tuple[Properties, bytes]:
    row = next(row for row in ROWS if row["name"] == name)
    assert row.get("error", name in OTHERWISE)
    return decoded(bytes.fromhex(row["message"]))


@pytest.mark.parametrize("name", ["empty", "no message", "cut short", "unknown section"])
def test_octets_that_are_no_message_are_a_body(name):
    row = next(row for row in ROWS if row["name"] == name)
    assert refused(name) == (Properties(), bytes.fromhex(row["message"]))


@pytest.mark.parametrize("name", ["value", "binary value", "map value", "null value", "sequence", "two sequences"])
def test_a_body_of_another_kind_stays_encoded(name):
    row = next(row for row in ROWS if row["name"] == name)
    assert refused(name) == (Properties(type="amqp-1.0"), bytes.fromhex(row["message"]))


def test_two_sections_of_data_stay_encoded():
    assert refused("two data") == (
        Properties(type="amqp-1.0"),
        section(DATA, binary(b"ab")) + section(DATA, binary(b"cd")),
    )
    both = section(SEQUENCE, list_of([text(b"a")])) + section(VALUE, b"\x40")
    assert decoded(both) == (Properties(type="amqp-1.0"), both)


def test_a_header_section_is_read():
    assert refused("header") == (Properties(delivery_mode=2, priority=5, expiration="256"), b"x")
    assert decoded(section(HEADER, list_of([b"\x42", b"\x40", b"\x43"])) + BODY)[0] == Properties(
        delivery_mode=1, expiration="0"
    )
    assert decoded(section(HEADER, b"\x45") + BODY)[0] == Properties()


def test_annotations_count_more_than_a_header_section():
    header = section(HEADER, list_of([b"\x41", b"\x50\x05", b"\x52\x07"]))
    pairs = [(b"x-basic-priority", b"\x50\x06"), (b"x-basic-delivery-mode", b"\x50\x01")]
    pairs.append((b"x-basic-expiration", text(b"8")))
    annotations = section(MESSAGE_ANNOTATIONS, map_of([(symbol(key), value) for key, value in pairs]))
    assert decoded(header + annotations + BODY)[0] == Properties(delivery_mode=1, priority=6, expiration="8")


def test_values_that_a_property_cannot_have_are_left_out():
    pairs = [(b"x-basic-priority", text(b"6")), (b"x-basic-delivery-mode", b"\x50\x07")]
    pairs += [
        (b"x-basic-expiration", text(b"soon")),
        (b"x-exchange", text(b"\xff")),
        (b"x-routing-key", text(b"k" * 256)),
    ]
    annotations = section(MESSAGE_ANNOTATIONS, map_of([(symbol(key), value) for key, value in pairs]))
    given = [
        b"\x40",
        binary(b"\xff"),
        b"\x40",
        b"\x40",
        text(b"r" * 256),
        b"\x41",
        symbol(b"t" * 255),
        text(b"e" * 256),
    ]
    properties = section(PROPERTIES, list_of([*given, b"\x40", b"\x83" + pack(">q", -1)]))
    front, octets = parts_of(annotations + properties + BODY)
    assert decode_properties(front.properties) == Properties(content_type="t" * 255)
    assert (front.origin.exchange, front.origin.routing_key, octets) == (None, None, b"x")


def test_sections_that_say_nothing_to_a_consumer_are_passed_over():
    assert refused("delivery annotations") == (Properties(), b"x")
    assert refused("footer") == (Properties(), b"x")
    assert refused("no body") == (Properties(message_id="id"), b"")
    assert refused("id of 256")[0].headers == {"x-message-id": "m" * 256}
    assert refused("utf8 annotation keys")[0] == Properties(priority=5)


@pytest.mark.parametrize(
    "message",
    [
        BODY + section(DELIVERY_ANNOTATIONS, map_of([])),
        section(FOOTER, map_of([])) + BODY,
        section(PROPERTIES, map_of([])) + BODY,
        section(APPLICATION_PROPERTIES, b"\x45") + BODY,
        section(HEADER, b"\xc0\x00") + BODY,
        section(DATA, text(b"x")),
        section(APPLICATION_PROPERTIES, b"\xc1\x04\x02\xa1\x01k") + BODY,
    ],
)
def test_sections_out_of_place_or_of_the_wrong_type_make_a_body(message):
    assert decoded(message) == (Properties(), message)


def fields(pairs: list[tuple[bytes, bytes]]) -> bytes:
    return section(APPLICATION_PROPERTIES, map_of(pairs)) + BODY


@pytest.mark.parametrize("name", ["decimal", "list", "map", "array"])
def test_values_that_no_header_has_are_left_out(name):
    assert refused(f"{name} property") == (Properties(), b"x")


def test_values_of_other_types_become_what_is_next():
    found = {name: refused(f"{name} property")[0].headers["k"] for name in ("ulong", "symbol", "char")}
    assert found == {"ulong": 5, "symbol": "v", "char": "A"}
    assert refused("negative timestamp")[0] == Properties()
    assert sorted(refused("nan")[0].headers) == ["d", "float"]


def test_keys_that_no_header_has_are_left_out():
    pairs = [(text(key), b"\x41") for key in (b"k" * 129, b"\xff", b"k" * 128)] + [(b"\x54\x01", b"\x41")]
    assert decoded(fields(pairs))[0].headers == {"k" * 128: True}


def test_of_equal_keys_the_first_counts_and_of_headers_a_number():
    pairs = [(text(b"%d" % (i % (HEADERS_MAX + 9))), b"\x54\x01") for i in range(2 * HEADERS_MAX)]
    properties, _ = decoded(fields(pairs))
    assert len(properties.headers) == HEADERS_MAX
    attributes_of(property_octets(content_of(fields(pairs))))


def test_octets_of_headers_are_limited():
    pairs = [(text(b"%d" % i), text(bytes(HEADERS_OCTETS_MAX // 4))) for i in range(9)]
    assert list(decoded(fields(pairs))[0].headers) == ["0", "1", "2"]


def test_the_filter_value_may_be_an_annotation():
    annotations = section(MESSAGE_ANNOTATIONS, map_of([(symbol(b"x-stream-filter-value"), text(b"eu"))]))
    assert decoded(annotations + BODY)[0].headers == {"x-stream-filter-value": "eu"}
    assert decoded(annotations + fields([(text(b"x-stream-filter-value"), text(b"us"))]))[0].headers == {
        "x-stream-filter-value": "us"
    }


def test_a_body_of_any_length_is_one_frame():
    octets = bytes(300_000)
    assert content_of(section(DATA, binary(octets))) == framed(b"\0\0", octets)
    assert body(framed(b"\0\0", octets)) == octets
    assert framed(b"\0\0", b"") == b"\2\0\1\0\0\0\x0e\0\x3c\0\0" + bytes(8) + b"\0\0\xce"


def other_sizes(message: bytes) -> list[bytes]:
    """Return a message of one short section of data last, and others like it."""
    front = message[: -len(binary(b"x"))]
    return [front + binary(octets) for octets in (b"x", b"yz", b"", b"q" * 254, b"q" * 255, b"r" * 300, b"s" * 300)]


@settings(deadline=None)
@given(st.lists(st.sampled_from(GOOD), max_size=4).map(lambda some: some + other_sizes(BODY) + some), st.data())
def test_many_are_what_each_is(several, data):
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):
            patch.setattr(to_content, "_common", pure_content)
        check_many(several, data)


def check_many(several: list[bytes], data) -> None:
    messages = data.draw(st.permutations(several + other_sizes(section(PROPERTIES, list_of([text(b"id")])) + BODY)))
    for message, (origin, content, size) in zip(messages, contents_of(messages), strict=True):
        alone, octets = parts_of(message)
        assert (origin, content, size) == (alone.origin, content_of(message), len(octets))


def test_a_property_that_looks_like_a_body_is_none(pure):
    # both begin with the same octets, up to what the first one's last property ends with
    messages = []
    for octets in (b"\x05", b"\x06"):
        value = section(VALUE, binary(b"x" * (octets[0] - 5)))
        fields = section(APPLICATION_PROPERTIES, map_of([(text(b"k"), binary(b"\0\x53\x75\xa0" + octets))]))
        messages.append(fields + value)
    assert [content for _, content, _ in contents_of(messages)] == [content_of(message) for message in messages]


def test_fronts_are_remembered_in_a_bounded_number(pure):
    for i in range(FRONTS_MAX + 5):
        content_of(section(PROPERTIES, list_of([b"\x40"] * 4 + [text(b"%d" % i)])) + BODY)
        content_of(section(PROPERTIES, list_of([text(b"%d" % i)])) + BODY)
        assert len(to_content._fronts) <= FRONTS_MAX
    assert not any(b"\x80" in front.properties[1:2] for front in to_content._fronts.values())
    long = fields([(text(b"k"), text(b"v" * 600))])
    for _ in range(2):
        assert decoded(long)[0].headers == {"k": "v" * 600}
    assert max(len(octets) for octets, _ in to_content._fronts) <= FRONT_OCTETS_MAX


@settings(deadline=None)
@given(st.sampled_from(GOOD) | st.binary(max_size=80), st.data())
def test_any_octets_become_a_content(octets, data):
    damaged = bytearray(octets)
    for _ in range(data.draw(st.integers(0, 3)) if damaged else 0):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(
            st.sampled_from([0, 1, 0x40, 0x75, 0xC1, 0xFF])
        )
    content = content_of(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))
    attributes_of(property_octets(content))


def test_depth_costs_nothing():
    deep = b"\x40"
    for _ in range(3_000):
        deep = list_of([deep])
    assert decoded(fields([(text(b"k"), deep)])) == (Properties(), b"x")
    assert decoded(section(VALUE, deep))[0].type == "amqp-1.0"
