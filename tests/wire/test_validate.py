import struct

import pytest
from hypothesis import given, strategies as st
from pamqp import commands

from pybroker.errors import AmqpError, CommandInvalid, FrameError, MethodNotImplemented, ProtocolSyntaxError
from pybroker.wire.table import encode_table
from pybroker.wire.validate import GROWN, MALFORMED_UTF8, PEER, Limits, check_table, check_utf8, guard_method, value_end
from tests import strategies

QUEUE_DECLARE = bytes.fromhex("0032 000a 0000 01 71 00 00000000")


def nested(letters: str, core: bytes = b"") -> bytes:
    """Return a table around a value of each letter, each around the next."""
    fields = core
    for outer, letter in reversed(list(zip("F" + letters[:-1], letters, strict=True))):
        key = b"\x01k" if outer == "F" else b""
        fields = key + letter.encode() + struct.pack(">I", len(fields)) + fields
    return struct.pack(">I", len(fields)) + fields


def table_of(fields: bytes) -> bytes:
    return struct.pack(">I", len(fields)) + fields


def refused(octets: bytes, limits: Limits = PEER) -> AmqpError:
    with pytest.raises(AmqpError) as caught:
        check_table(octets, 0, len(octets), limits)
    return caught.value


@strategies.few
@given(strategies.tables, st.binary(max_size=5), st.binary(max_size=5))
def test_a_valid_table_is_walked_to_its_end(table, before, after):
    octets = encode_table(table)
    assert len(before) + len(octets) == check_table(before + octets + after, len(before), len(before) + len(octets))


@strategies.few
@given(strategies.tables, st.integers(0, 1 << 16))
def test_no_prefix_of_a_table_is_a_table(table, n):
    octets = encode_table(table)
    assert "table is cut short" == refused(octets[: n % len(octets)]).text


@pytest.mark.parametrize("letters", ["F" * 31, "A" * 31, ("FA" * 16)[:31]])
def test_depth_32_passes_and_33_is_501(letters):
    assert check_table(nested(letters), 0, len(nested(letters))) == len(nested(letters))
    fault = refused(nested(letters + "F"))
    assert (FrameError, "table nested deeper than 32 levels") == (type(fault), fault.text)


@pytest.mark.parametrize("depth", [500, 10_000])
def test_thousands_of_levels_are_501(depth):
    """Java CVE-2026-69220, and pamqp's RecursionError at 500 levels = 3.5 KB."""
    assert "table nested deeper than 32 levels" == refused(nested("F" * depth)).text
    assert "table nested deeper than 32 levels" == refused(nested("A" * depth)).text


def test_entries_of_all_levels_count_together():
    flat = table_of(b"\x00V" * 1_024)
    assert len(flat) == check_table(flat, 0, len(flat))
    assert "table of more than 1024 entries" == refused(table_of(b"\x00V" * 1_025)).text
    array = table_of(b"\x00A" + table_of(b"V" * 1_023))
    assert len(array) == check_table(array, 0, len(array))
    fault = refused(table_of(b"\x00A" + table_of(b"V" * 1_024)))
    assert (501, "table of more than 1024 entries") == (fault.reply_code, fault.text)


def test_empty_arrays_count_as_entries():
    """RabbitMQ CVE-2026-66079: arrays of no width."""
    assert "table of more than 1024 entries" == refused(table_of(b"\x00A" + table_of(b"A\0\0\0\0" * 1_024))).text


def test_headers_grown_by_the_broker_have_room():
    octets = nested("F" * 39)
    assert len(octets) == check_table(octets, 0, len(octets), GROWN)
    octets = table_of(b"\x00V" * 16_000)
    assert len(octets) == check_table(octets, 0, len(octets), GROWN)
    assert "table nested deeper than 40 levels" == refused(nested("F" * 40), GROWN).text


def test_keys_of_128_octets_pass_and_129_are_501():
    octets = table_of(b"\x80" + b"k" * 128 + b"V")
    assert len(octets) == check_table(octets, 0, len(octets))
    fault = refused(table_of(b"\x81" + b"k" * 129 + b"V"))
    assert (501, "table key of more than 128 octets") == (fault.reply_code, fault.text)


@pytest.mark.parametrize("key", [b"\xff", b"\xc3", b"a\xed\xa0\x80", b"\xc0\x80"])
def test_keys_that_are_not_utf8_are_501(key):
    fault = refused(table_of(bytes([len(key)]) + key + b"V"))
    assert (501, MALFORMED_UTF8) == (fault.reply_code, fault.text)


@pytest.mark.parametrize("letter", [0, ord("q"), ord("U"), 255])
def test_unknown_types_are_502(letter):
    for fields in (b"\x01k" + bytes([letter]), b"\x01kA\x00\x00\x00\x01" + bytes([letter])):
        fault = refused(table_of(fields))
        assert (502, f"unknown type {letter} in table") == (fault.reply_code, fault.text)


@pytest.mark.parametrize(
    "fields",
    [
        b"\x05k",  # a key longer than the table
        b"\x01k",  # no type
        b"\x01kI\x00\x00\x00",  # a number cut short
        b"\x01kS\x00\x00\x00\x01",  # a string without its octet
        b"\x01kS\x00\x00",  # a length cut short
        b"\x01kS\xff\xff\xff\xff",
        b"\x01kF\x00\x00\x00\x01",
        b"\x01kA\xff\xff\xff\xff",
        b"\x01kF\x00\x00\x00\x02\x01k\x01jV",  # an entry that reaches over its own table
    ],
)
def test_lengths_that_reach_over_the_table_are_502(fields):
    for octets in (table_of(fields), table_of(fields) + b"after"):
        with pytest.raises(ProtocolSyntaxError) as caught:
            check_table(octets, 0, 4 + len(fields))
        assert "table is cut short" == caught.value.text


def test_a_table_that_reaches_over_its_field_is_502():
    octets = table_of(b"\x01kt\x01")
    with pytest.raises(ProtocolSyntaxError):
        check_table(octets, 0, len(octets) - 1)


def test_a_declared_length_of_4_gib_costs_nothing():
    assert "table is cut short" == refused(b"\xff\xff\xff\xff\x01kV").text


@given(strategies.scalars)
def test_value_end_is_the_end_of_the_value(typed):
    octets = encode_table(strategies.as_table({"k": typed}))
    assert len(octets) == value_end(octets, 6, len(octets))
    with pytest.raises(ProtocolSyntaxError):
        value_end(octets, 6, len(octets) - 1)


def test_value_end_refuses_unknown_types():
    with pytest.raises(ProtocolSyntaxError):
        value_end(b"q", 0, 1)


def test_utf8_is_checked_as_rabbitmq_says_it():
    check_utf8("Grüße 🐇".encode())
    with pytest.raises(FrameError) as caught:
        check_utf8(b"\xff")
    assert "FRAME_ERROR - Malformed UTF-8 in shortstr" == caught.value.reply_text


def test_a_method_passes_only_at_its_full_length():
    guard_method(QUEUE_DECLARE)
    for n in range(4, len(QUEUE_DECLARE)):
        with pytest.raises(FrameError) as caught:
            guard_method(QUEUE_DECLARE[:n])
        assert caught.value.text == f"cannot decode <<{','.join(map(str, QUEUE_DECLARE[4:n]))}>>"
        assert (50, 10) == caught.value.method
    with pytest.raises(FrameError) as caught:
        guard_method(QUEUE_DECLARE + b"\x00")
    assert "cannot decode <<0,0,1,113,0,0,0,0,0,0>>" == caught.value.text


def test_less_than_class_and_method_is_an_unknown_frame():
    with pytest.raises(FrameError) as caught:
        guard_method(b"\x00\x32\x00")
    assert "type 1, all octets = <<0,50,0>>: unknown_frame" == caught.value.text


def test_names_of_a_method_must_be_utf8():
    """F2."""
    with pytest.raises(FrameError) as caught:
        guard_method(QUEUE_DECLARE.replace(b"q", b"\xff"))
    assert (MALFORMED_UTF8, (50, 10)) == (caught.value.text, caught.value.method)


def test_tables_of_a_method_are_walked():
    with pytest.raises(FrameError) as caught:
        guard_method(QUEUE_DECLARE[:-4] + nested("F" * 40))
    assert ("table nested deeper than 32 levels", (50, 10)) == (caught.value.text, caught.value.method)


def test_the_text_of_a_huge_method_fits_a_reply():
    with pytest.raises(FrameError) as caught:
        guard_method(QUEUE_DECLARE + b"\x00" * 100_000)
    assert 255 == len(caught.value.reply_text)


def test_unknown_methods_are_503_and_rabbitmqs_own_540():
    with pytest.raises(CommandInvalid) as caught:
        guard_method(bytes.fromhex("0032 03e7"))
    assert ("unknown method 50,999", (50, 999)) == (caught.value.text, caught.value.method)
    with pytest.raises(MethodNotImplemented):
        guard_method(bytes.fromhex("001e 000a 00 00"))


def test_every_method_of_pamqp_is_known():
    for index, kind in commands.INDEX_MAPPING.items():
        if not kind.attributes():
            guard_method(index.to_bytes(4))
        else:
            with pytest.raises(FrameError):
                guard_method(index.to_bytes(4))
