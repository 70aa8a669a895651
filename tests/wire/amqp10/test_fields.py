"""Values of headers in both protocols: each type, what is left out, and nothing else is lost."""

from decimal import Decimal
from struct import pack

import pytest
from hypothesis import given, strategies as st

from pybroker.wire.amqp10.encoding import read
from pybroker.wire.amqp10.fields import field_of, timestamp, value_of
from pybroker.wire.table import encode_value
from tests.strategies import SCALARS, is_not_utf8

MAX_SECONDS = ((1 << 63) - 1) // 1000


def field(octets: bytes) -> bytes | None:
    code, start, stop = read(octets, 0, len(octets))
    assert stop == len(octets)
    return field_of(code, octets[start:stop])


@given(
    st.sampled_from(sorted(set(SCALARS) - {"D"})).flatmap(lambda letter: st.tuples(st.just(letter), SCALARS[letter]))
)
def test_what_becomes_a_value_comes_back(typed):
    letter, value = typed
    octets = encode_value(value, letter)
    made = value_of(octets)
    if letter == "T" and int.from_bytes(octets[1:]) > MAX_SECONDS:
        assert made is None
        return
    assert made is not None
    if letter == "S" and is_not_utf8(octets[5:]):
        octets = b"x" + octets[1:]
    assert field(made) == octets


def test_a_decimal_becomes_text():
    assert value_of(encode_value(Decimal("-3.14"), "D")) == b"\xa1\x05-3.14"
    assert value_of(encode_value(Decimal(1).scaleb(-255), "D"))[:1] == b"\xb1"


@pytest.mark.parametrize(("value", "letter"), [({"a": 1}, "F"), ([1], "A")])
def test_tables_and_arrays_are_left_out(value, letter):
    assert value_of(encode_value(value, letter)) is None


@pytest.mark.parametrize(
    ("octets", "expected"),
    [
        (b"\x44", b"l" + bytes(8)),
        (b"\x53\xff", b"l" + pack(">q", 255)),
        (b"\x80" + pack(">Q", (1 << 63) - 1), b"l" + pack(">q", (1 << 63) - 1)),
        (b"\x80" + pack(">Q", 1 << 63), b"S\0\0\0\x139223372036854775808"),
        (b"\xa3\x01v", b"S\0\0\0\x01v"),
        (b"\x73\0\0\0A", b"S\0\0\0\x01A"),
        (b"\x73\0\0\xd8\0", None),
        (b"\x73\0\x11\0\0", None),
        (b"\x98" + bytes(15) + b"\1", b"S\0\0\0\x2400000000-0000-0000-0000-000000000001"),
        (b"\x83" + pack(">q", -1), None),
        (b"\x83" + pack(">q", 1_999), b"T" + pack(">Q", 1)),
        (b"\x74" + bytes(4), None),
        (b"\x84" + bytes(8), None),
        (b"\x94" + bytes(16), None),
        (b"\x45", None),
        (b"\xc1\x01\0", None),
        (b"\xe0\x02\0\x50", None),
    ],
)
def test_types_that_only_amqp_1_0_has(octets, expected):
    assert field(octets) == expected


def test_times_are_in_milliseconds():
    assert timestamp(1) == b"\x83" + pack(">q", 1000)
    assert timestamp(MAX_SECONDS + 1) is None
