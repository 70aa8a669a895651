from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given

from pybroker.wire.value import FIELD_TYPES, decode_scalar, encode_scalar, letter_of
from tests import strategies

# The octets of each type as RabbitMQ writes them (rabbit_binary_generator).
VECTORS = [
    ("t", True, "74 01"),
    ("t", False, "74 00"),
    ("b", -1, "62 ff"),
    ("B", 255, "42 ff"),
    ("s", -2, "73 fffe"),
    ("u", 65_535, "75 ffff"),
    ("I", -2, "49 fffffffe"),
    ("i", 4_294_967_295, "69 ffffffff"),
    ("l", -2, "6c fffffffffffffffe"),
    ("f", 1.5, "66 3fc00000"),
    ("d", 1.5, "64 3ff8000000000000"),
    ("D", Decimal("-1.23"), "44 02 ffffff85"),
    ("T", datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC), "54 000000003b9aca00"),
    ("S", "é", "53 00000002 c3a9"),
    ("S", b"\xff", "53 00000001 ff"),
    ("x", b"\x00\x01", "78 00000002 0001"),
    ("V", None, "56"),
]


@pytest.mark.parametrize(("letter", "value", "octets"), VECTORS)
def test_each_type_has_its_octets(letter, value, octets):
    octets = bytes.fromhex(octets)
    assert octets == letter.encode() + encode_scalar(value, letter)
    assert (letter, value, len(octets)) == decode_scalar(octets, 0)


def test_all_types_but_the_two_that_nest_have_a_vector():
    assert set(FIELD_TYPES) == {letter for letter, _, _ in VECTORS} | {"F", "A"}


@given(strategies.scalars)
def test_what_is_encoded_comes_back(typed):
    letter, value = typed
    octets = letter.encode() + encode_scalar(value, letter)
    assert (letter, value, len(octets)) == decode_scalar(octets, 0)


@given(strategies.scalars)
def test_every_value_keeps_a_type_that_holds_it(typed):
    letter, value = typed
    assert letter == letter_of(value, letter)


@pytest.mark.parametrize(
    ("value", "letter"),
    [
        (True, "t"),
        (1, "I"),
        (2_147_483_647, "I"),
        (2_147_483_648, "l"),
        (-2_147_483_649, "l"),
        (0.1, "d"),
        ("x", "S"),
        (b"x", "x"),
        (None, "V"),
        ({}, "F"),
        ([], "A"),
        (Decimal(1), "D"),
        (datetime(2020, 1, 1, tzinfo=UTC), "T"),
    ],
)
def test_python_values_have_rabbitmqs_usual_types(value, letter):
    assert letter == letter_of(value)


@pytest.mark.parametrize(
    ("value", "remembered", "letter"),
    [
        (300, "b", "I"),
        (True, "I", "t"),
        (1, "t", "I"),
        ("x", "I", "S"),
        (1e300, "f", "d"),
        (-1, "u", "I"),
        (2, "V", "I"),
    ],
)
def test_a_type_that_no_longer_holds_the_value_is_given_up(value, remembered, letter):
    assert letter == letter_of(value, remembered)


@pytest.mark.parametrize("value", [1 << 63, -(1 << 63) - 1, object(), {1, 2}])
def test_what_no_type_holds_is_a_value_error(value):
    with pytest.raises(ValueError, match="no AMQP type holds"):
        letter_of(value)


@pytest.mark.parametrize(
    "value", [Decimal("NaN"), Decimal("Infinity"), Decimal(1 << 31), Decimal("1e10"), Decimal("1e-256")]
)
def test_decimals_beyond_32_bits_or_255_places_are_value_errors(value):
    with pytest.raises(ValueError, match="does not fit"):
        encode_scalar(value, "D")


def test_positive_exponents_become_digits():
    assert bytes.fromhex("00 000003e8") == encode_scalar(Decimal("1e3"), "D")


def test_l_and_capital_l_are_one_type():
    assert ("l", -2, 9) == decode_scalar(bytes.fromhex("4c fffffffffffffffe"), 0)


def test_any_octet_but_zero_is_true():
    assert ("t", True, 2) == decode_scalar(b"t\x02", 0)


def test_timestamps_beyond_the_year_9999_stay_seconds():
    """Clients that send milliseconds get them back to the octet."""
    assert ("T", 1_700_000_000_000, 9) == decode_scalar(b"T" + (1_700_000_000_000).to_bytes(8), 0)
    assert (1_700_000_000_000).to_bytes(8) == encode_scalar(1_700_000_000_000, "T")
    assert ("T", (1 << 64) - 1, 9) == decode_scalar(b"T" + b"\xff" * 8, 0)


def test_times_of_any_zone_are_sent_as_seconds_since_1970():
    there = datetime(1970, 1, 1, 2, 0, 1, tzinfo=timezone(timedelta(hours=2)))
    assert (1).to_bytes(8) == encode_scalar(there, "T") == encode_scalar(datetime(1970, 1, 1, 0, 0, 1), "T")
    with pytest.raises(ValueError, match="begin in 1970, this one is 86400 seconds before"):
        encode_scalar(datetime(1969, 12, 31, tzinfo=UTC), "T")
