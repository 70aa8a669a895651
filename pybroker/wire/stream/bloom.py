"""Blooms: small Bloom filters of the filter values of messages, by which readers pass over chunks.

A bloom is a number of octets as entries_run.py tells. Each value sets two bits. How these are found is known to files,
and does not change; pybroker-store(5) has it.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from pybroker.entries_run import UNFILTERED

_OFFSET_BASIS: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_MIX: Final = 0xFF51AFD7ED558CCD
_U64: Final = (1 << 64) - 1
# Of a value; two that differ behind these are alike. Peers choose values of any length.
HASHED_OCTETS_MAX: Final = 256


def bits_of(value: bytes, octets: int) -> int:
    """Return the bits that a value sets in a bloom of so many octets."""
    return _bits_of(value[:HASHED_OCTETS_MAX], octets)


@lru_cache(1_024)
def _bits_of(value: bytes, octets: int) -> int:
    number = _OFFSET_BASIS
    for octet in value:
        number = (number ^ octet) * _PRIME & _U64
    number ^= number >> 33
    number = number * _MIX & _U64
    number ^= number >> 33
    count = 8 * octets - 1
    return 2 << (number & 0xFFFFFFFF) % count | 2 << (number >> 32) % count


def bloom_of(values: Iterable[bytes | None], octets: int) -> bytes:
    """Return the bloom of messages with these values; None: a message has none."""
    bits, has_values = 0, False
    for value in values:
        if value is None:
            bits |= UNFILTERED
        else:
            bits |= bits_of(value, octets)
            has_values = True
    return bits.to_bytes(octets, "little") if has_values else b""
