"""Sections: their kinds by number and by name, and octets that are none."""

import pytest

from pybroker.wire.amqp10.sections import (
    _NAMES,
    DATA,
    FOOTER,
    SECTIONS_MAX,
    VALUE,
    Section,
    is_body,
    section,
    sections_of,
)


def test_sections_are_told_apart():
    octets = section(DATA, b"\xa0\x01x") + b"\0\x80" + bytes(7) + b"\x77\x40" + b"\0\xa3\x0famqp:footer:map\xc1\x01\0"
    assert list(sections_of(octets)) == [Section(DATA, 0, 3, 6), Section(VALUE, 6, 16, 17), Section(FOOTER, 17, 35, 38)]


def test_each_kind_has_a_name():
    for name, kind in _NAMES.items():
        assert next(sections_of(b"\0\xa3" + bytes([len(name)]) + name + b"\x40")).kind == kind


@pytest.mark.parametrize(
    "octets", [b"x", b"\x40", b"\0\x53\x6f\x40", b"\0\x53\x79\x40", b"\0\xa3\x01x\x40", b"\0\x53\x75"]
)
def test_what_is_no_section_is_refused(octets):
    with pytest.raises(ValueError):
        list(sections_of(octets))
    assert not is_body(octets)


def test_sections_are_limited():
    with pytest.raises(ValueError, match="no section"):
        list(sections_of(section(VALUE, b"\x40") * (SECTIONS_MAX + 1)))


def test_a_body_is_nothing_but_parts_of_one():
    part = section(DATA, b"\xa0\x01x")
    assert is_body(part)
    assert is_body(part * 2 + section(VALUE, b"\x40"))
    assert not is_body(b"")
    assert not is_body(part + section(FOOTER, b"\xc1\x01\0"))
