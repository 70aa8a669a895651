from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from pybroker.core.delayed.due import FAR_MS, Due, due_in, due_of, waited
from pybroker.wire.properties import Properties, decode_properties, encode_properties
from pybroker.wire.table import Table
from tests.topology import typed, wired


def octets_of(headers, **properties):
    return encode_properties(Properties(headers=headers, **properties))


@given(st.sampled_from("bBsuIil"), st.integers(-(1 << 63), (1 << 63) - 1), st.booleans())
def test_integers_of_all_types_are_delays(letter, number, alone):
    bits = {"b": 8, "B": 8, "s": 16, "u": 16, "I": 32, "i": 32, "l": 64}[letter]
    number %= 1 << bits
    if letter not in "Bui" and number >= 1 << (bits - 1):
        number -= 1 << bits
    headers = typed("x-delay", letter, number)
    if not alone:
        headers = Table({"a": 1, **headers}, {"a": "I", **headers.types})
    expected = Due(time=False, ms=min(number, FAR_MS)) if number > 0 else None
    assert expected == due_of(headers) == due_in(octets_of(headers))


@pytest.mark.parametrize(
    ("value", "ms"),
    [("1500", 1_500), (1_500.9, 1_500), (Decimal("1.5"), 1), ("1e3", None), ("", None), (True, None), ([1], None)],
)
def test_other_values_are_what_the_plugin_takes_them_for(value, ms):
    assert (None if ms is None else Due(time=False, ms=ms)) == due_of({"x-delay": value})


@pytest.mark.parametrize("value", [float("inf"), float("nan"), Decimal("NaN"), "9" * 30, None, b"5"])
def test_what_is_no_number_is_no_delay(value):
    assert due_of({"x-delay": value}) is None


def test_a_time_is_milliseconds_or_a_timestamp():
    at = datetime(2030, 1, 1, tzinfo=UTC)
    ms = int(at.timestamp()) * 1_000
    assert Due(time=True, ms=ms) == due_of(wired(x_deliver_at=at)) == due_of(wired(x_deliver_at=ms))
    assert Due(time=True, ms=ms) == due_of({"x-deliver-at": str(ms), "x-delay": 5})
    # Behind the year 9999 a timestamp is a number of seconds.
    assert Due(time=True, ms=300_000_000_000_000) == due_of(typed("x-deliver-at", "T", 300_000_000_000))


def test_what_has_waited_is_due():
    assert due_of({"x-delay": -5, "x-deliver-at": 1 << 60}) is None
    assert due_of({}) is due_of(None) is due_in(octets_of(None)) is None


def test_both_headers_in_octets():
    headers = wired(x_delay=5, x_deliver_at=77)
    assert Due(time=True, ms=77) == due_of(headers) == due_in(octets_of(headers))


def test_a_name_inside_a_value_is_none():
    headers = wired(a={"x-delay": 5}, b="\x07x-delayI")
    assert due_in(octets_of(headers)) is None


def test_it_has_waited_what_was_asked_for_or_what_it_took():
    octets, keys = waited(octets_of(wired(x_delay=5, a=1), message_id="m"), 7)
    found = decode_properties(octets)
    assert ("m", wired(a=1, x_delay=-5), []) == (found.message_id, found.headers, keys)
    octets, _ = waited(octets_of(wired(x_deliver_at=5)), 7)
    assert wired(x_deliver_at=5, x_delay=-7) == decode_properties(octets).headers
    octets, _ = waited(octets_of(typed("x-delay", "l", 1 << 40)), 7)
    assert typed("x-delay", "l", -(1 << 40)) == decode_properties(octets).headers


def test_bcc_goes_and_counts_as_cc_does():
    octets, keys = waited(octets_of(wired(CC=["a", "b"], BCC=["c"], x_delay="5")), 1)
    assert (["a", "b", "c"], {"CC": ["a", "b"], "x-delay": -5}) == (keys, decode_properties(octets).headers)
    assert [] == waited(octets_of(wired(CC="a", x_delay=5)), 1)[1]
