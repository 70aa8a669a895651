"""Blooms: a value that was put in is always found, others seldom, and the bits do not change."""

import pytest

from pybroker.entries_run import UNFILTERED, bits_of_bloom
from pybroker.wire.stream.bloom import bits_of, bloom_of


def places(value, octets):
    bits = bits_of(value, octets)
    return [bit for bit in range(bits.bit_length()) if bits >> bit & 1]


def test_bits_of_a_value_do_not_change():
    assert places(b"", 16) == [76, 82]
    assert places(b"apples", 16) == [27, 84]
    assert places(b"apples", 255) == [1073, 1700]


def test_a_long_value_counts_with_its_first_octets():
    assert bits_of(b"a" * 256 + b"b", 16) == bits_of(b"a" * 9_000, 16) != bits_of(b"a" * 255 + b"b", 16)


def test_a_bloom_without_values_is_empty():
    assert bloom_of([], 16) == bloom_of([None, None], 16) == b""
    assert bits_of_bloom(b"") == UNFILTERED


def test_the_lowest_bit_says_that_there_are_messages_without_a_value():
    assert not bloom_of([b"a", b"b"], 16)[0] & 1
    assert bloom_of([b"a", None], 16)[0] & 1


@pytest.mark.parametrize("octets", [16, 17, 255])
def test_values_are_found_again_and_others_seldom(octets):
    values = [b"value %d" % number for number in range(10)]
    bits = bits_of_bloom(bloom_of(values, octets))
    assert len(bloom_of(values, octets)) == octets
    assert all(bits_of(value, octets) & ~bits == 0 for value in values)
    others = [b"other %d" % number for number in range(1_000)]
    assert sum([bits_of(other, octets) & ~bits == 0 for other in others]) < 60
