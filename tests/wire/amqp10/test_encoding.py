"""Octets of AMQP 1.0: where values end, what is malformed, and what is written in which form."""

import contextlib

import pytest
from hypothesis import given, strategies as st

from pybroker.wire.amqp10 import encoding as amqp
from pybroker.wire.amqp10.encoding import (
    binary,
    binary_head,
    list_items,
    list_of,
    map_items,
    map_of,
    read,
    symbol,
    text,
)


@pytest.mark.parametrize(
    ("octets", "code", "value"),
    [
        (b"\x40", amqp.NULL, b""),
        (b"\x50\x09", amqp.UBYTE, b"\x09"),
        (b"\x61\x01\x02", amqp.SHORT, b"\x01\x02"),
        (b"\x98" + bytes(16), amqp.UUID, bytes(16)),
        (b"\xa1\x02hi", amqp.UTF8_8, b"hi"),
        (b"\xb1\0\0\0\x02hi", amqp.UTF8_32, b"hi"),
        (b"\xc0\x01\x00", amqp.LIST_8, b"\0"),
        (b"\0\x53\x75\xa0\x01x", amqp.BINARY_8, b"x"),
        (b"\0\xa3\x01k\0\x53\x75\x40", amqp.NULL, b""),
    ],
)
def test_a_value_is_found(octets, code, value):
    assert read(b"." + octets + b".", 1, len(octets) + 2)[::2] == (code, len(octets) + 1)
    found, start, stop = read(octets, 0, len(octets))
    assert (found, octets[start:stop]) == (code, value)
    for cut in range(len(octets)):
        with pytest.raises(ValueError, match=r"cut short|descriptor"):
            read(octets, 0, cut)


@pytest.mark.parametrize("octets", [b"\x46", b"\xff", b"\0\0\x53\x75\x40", b"\0\x53\x75" * 9 + b"\x40", b"\0" * 5_000])
def test_no_value_is_refused(octets):
    with pytest.raises(ValueError):
        read(octets, 0, len(octets))


@given(st.binary(max_size=60))
def test_any_octets_are_values_or_refused(octets):
    for step in (lambda: read(octets, 0, len(octets)), lambda: list(list_items(octets, 0, len(octets)))):
        with contextlib.suppress(ValueError):
            step()


def test_lists_and_maps_are_read_as_they_are_written():
    for n in (0, 1, 100, 400):
        made = list_of([text(b"%d" % i) for i in range(n)])
        assert [value for _, value in list_items(made, 0, len(made))] == [b"%d" % i for i in range(n)]
        made = map_of([(symbol(b"%d" % i), binary(b"v")) for i in range(n)])
        pairs = list(map_items(made, 0, len(made)))
        assert pairs == [((amqp.SYMBOL_8, b"%d" % i), (amqp.BINARY_8, b"v")) for i in range(n)]
    assert list(list_items(b"\x45", 0, 1)) == []


@pytest.mark.parametrize(
    "octets", [b"\x40", b"\xc0\0", b"\xc1\x02\x01\x40", b"\xd1\0\0\0\x03\0\0\0", b"\xc1\x01\0"[:2]]
)
def test_what_is_no_map_is_refused(octets):
    with pytest.raises(ValueError):
        list(map_items(octets, 0, len(octets)))
    with pytest.raises(ValueError):
        list(list_items(b"\xc0\0" if octets[0] == 0xC1 else octets, 0, len(octets)))


def test_short_forms_end_at_254_octets():
    assert text(b"x" * 254)[:2] == b"\xa1\xfe"
    assert text(b"x" * 255)[:5] == b"\xb1\0\0\0\xff"
    assert binary_head(254) == b"\xa0\xfe"
    assert binary_head(255) == b"\xb0\0\0\0\xff"
    assert list_of([b"\x40"] * 254)[:3] == b"\xc0\xff\xfe"
    assert list_of([b"\x40"] * 255)[:9] == b"\xd0\0\0\x01\x03\0\0\0\xff"
