"""Fields of commands: each as it is written, and refused when it is cut."""

import pytest

from pybroker.wire.stream.codes import OffsetType
from pybroker.wire.stream.fields import (
    FORMS,
    FieldReader,
    Offset,
    Versions,
    numbers_octets,
    pairs_octets,
    pairs_of,
    texts_octets,
    texts_of,
    versions_octets,
    versions_of,
)
from pybroker.wire.stream.frame import MalformedFrameError

VALUES = {
    "correlation_id": (7, b"\0\0\0\x07"),
    "publisher_id": (255, b"\xff"),
    "credit": (65_535, b"\xff\xff"),
    "offset": (1 << 63, b"\x80" + bytes(7)),
    "stream": ("ü", b"\0\x02\xc3\xbc"),
    "streams": (("a", "bc"), b"\0\0\0\x02\0\x01a\0\x02bc"),
    "properties": ({"a": "b"}, b"\0\0\0\x01\0\x01a\0\x01b"),
    "arguments": ({}, b"\0\0\0\0"),
    "response": (b"xy", b"\0\0\0\x02xy"),
    "versions": ((Versions(8, 1, 2),), b"\0\0\0\x01\0\x08\0\x01\0\x02"),
}
OFFSETS = [
    (Offset(OffsetType.FIRST), b"\0\x01"),
    (Offset(OffsetType.OFFSET, (1 << 64) - 1), b"\0\x04" + b"\xff" * 8),
    (Offset(OffsetType.TIMESTAMP, -1), b"\0\x05" + b"\xff" * 8),
]
CASES = [(name, *case) for name, case in VALUES.items()] + [("begin", *case) for case in OFFSETS]


@pytest.mark.parametrize(("name", "value", "octets"), CASES)
def test_a_field_is_read_as_it_is_written(name, value, octets):
    read, write = FORMS[name]
    assert octets == write(value)
    reader = FieldReader(b"x" + octets + b"y", 1, 1 + len(octets))
    assert value == read(reader)
    assert reader.at_end


@pytest.mark.parametrize(("name", "value", "octets"), CASES)
def test_a_field_that_is_cut_is_refused(name, value, octets):
    read, _ = FORMS[name]
    for stop in range(1, len(octets)):
        try:
            found = read(FieldReader(octets, 0, stop))
        except MalformedFrameError:
            continue
        assert found != value  # a list that ends between two of its parts


def test_octets_may_be_null_and_properties_left_out():
    assert b"" == FORMS["response"][0](FieldReader(b"\xff\xff\xff\xff", 0, 4))
    assert b"\xff\xff\xff\xff" == FORMS["response"][1](b"")
    assert {} == FORMS["properties"][0](FieldReader(b"", 0, 0))
    assert b"" == FORMS["properties"][1]({})


def test_an_unknown_type_of_offset_and_text_that_is_no_utf_8_are_refused():
    for name, octets in (("begin", b"\0\x06"), ("stream", b"\0\x01\xff")):
        with pytest.raises(ValueError):
            FORMS[name][0](FieldReader(octets, 0, len(octets)))


def test_figures_are_signed():
    assert b"\0\0\0\x01\0\x01a" + b"\xff" * 8 == numbers_octets({"a": -1})


def test_lists_are_read_as_they_are_written():
    assert texts_of(texts_octets(["a", "bc"])) == ("a", "bc")
    assert pairs_of(pairs_octets({"a": "b"})) == {"a": "b"}
    assert versions_of(versions_octets([Versions(8, 1, 2)])) == (Versions(8, 1, 2),)
