"""Contents become messages octet by octet as RabbitMQ 3.10.8 makes them, and come back with what it keeps."""

import json

import pytest
from hypothesis import given

from pybroker.content_view import body, property_octets
from pybroker.wire.amqp10 import to_message
from pybroker.wire.amqp10.encoding import binary
from pybroker.wire.amqp10.known_fronts import FRONT_OCTETS_MAX, FRONTS_MAX
from pybroker.wire.amqp10.sections import DATA, VALUE, section, sections_of
from pybroker.wire.amqp10.to_content import framed, pure_entry
from pybroker.wire.properties import Properties, decode_properties, encode_properties
from pybroker.wire.table import Table
from tests.amqp10 import content_of, message_of, parts_of
from tests.sources import ROOT
from tests.strategies import few, is_not_utf8, properties

ROWS = json.loads((ROOT / "tests/wire/amqp10/rabbitmq_3_10_8.json").read_text())["contents"]
MS_MAX = (1 << 63) - 1


@pytest.fixture
def pure(monkeypatch):
    """Have Python convert everything."""
    monkeypatch.setattr(to_message, "common_entry", pure_entry)


@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in ROWS])
@pytest.mark.parametrize("codec", ["C", "pure Python"])
def test_a_message_is_as_rabbitmq_stores_it(row, codec, monkeypatch):
    if codec != "C":
        monkeypatch.setattr(to_message, "common_entry", pure_entry)
    content = framed(bytes.fromhex(row["properties"]), bytes.fromhex(row["body"]))
    for _ in range(2):
        assert message_of(content, row["exchange"], row["routing_key"]).hex() == row["message"]


def kept(given: Properties) -> Properties:
    """Return what is left after both conversions: what is lost is this, and nothing else."""
    given.cluster_id = None
    if given.timestamp is not None and given.timestamp * 1000 > MS_MAX:
        given.timestamp = None
    headers = Table()
    for key, value in (given.headers or {}).items():
        letter = given.headers.type_of(key)
        if letter == "D":
            value, letter = format(value, "f"), "S"
        elif letter == "S" and isinstance(value, bytes):
            letter = "x"
        elif letter == "T" and timestamp_of(value) * 1000 > MS_MAX:
            continue
        if letter not in "FA":
            headers[key] = value
            headers.types[key] = letter
    given.headers = headers or None
    return given


def timestamp_of(value) -> int:
    return value if isinstance(value, int) else int(value.timestamp())


@few
@given(properties)
def test_contents_come_back_with_all_that_both_protocols_have(given):
    octets = encode_properties(given)
    back = content_of(message_of(framed(octets, b"body"), "exchange", "key"))
    assert body(back) == b"body"
    wanted = kept(decode_properties(octets))
    if wanted.type == "amqp-1.0":
        wanted.type = None
    assert repr(decode_properties(property_octets(back))) == repr(wanted)


def test_names_come_back():
    front, _ = parts_of(message_of(framed(b"\0\0", b""), "ä", ""))
    assert (front.origin.exchange, front.origin.routing_key) == ("ä", "")


def test_an_encoded_body_comes_back_as_it_was():
    encoded = section(VALUE, b"\x54\x01") + section(DATA, binary(b"x"))
    content = framed(encode_properties(Properties(type="amqp-1.0", app_id="a")), encoded)
    message = message_of(content, "", "k")
    assert [each.kind for each in sections_of(message)][-2:] == [VALUE, DATA]
    assert property_octets(content_of(message)) == property_octets(content)
    assert body(content_of(message)) == encoded


def test_a_body_that_only_claims_to_be_encoded_is_data():
    content = framed(encode_properties(Properties(type="amqp-1.0")), b"no section")
    assert body(content_of(message_of(content, "", "k"))) == b"no section"


def test_a_body_of_many_frames_is_one_section():
    head = framed(b"\0\0", b"abcd")[:22]
    content = head + b"\3\0\1\0\0\0\2ab\xce\3\0\1\0\0\0\2cd\xce"
    assert message_of(content, "", "k")[-6:] == binary(b"abcd")


def test_fronts_are_remembered_in_a_bounded_number(pure):
    for i in range(FRONTS_MAX + 5):
        message_of(framed(b"\0\0", b""), "", str(i))
    assert len(to_message._fronts) <= FRONTS_MAX
    long = framed(encode_properties(Properties(headers={"k": "v" * 600})), b"")
    assert message_of(long, "", "k") == message_of(long, "", "k")
    assert max(len(octets) for octets, _, _ in to_message._fronts) <= FRONT_OCTETS_MAX


def test_the_octets_of_texts_are_not_judged():
    assert is_not_utf8(b"\xff")
    octets = b"\x80\0" + b"\1\xff"
    assert property_octets(content_of(message_of(framed(octets, b"x"), "", "k"))) == octets
