"""Fronts that are remembered: common ones, and not too many."""

from pybroker.wire.amqp10.known_fronts import FRONT_OCTETS_MAX, FRONTS_MAX, KnownFronts

PLAIN, UNIQUE = b"\x10\x00", b"\x00\x40"


def test_common_ones_are_kept():
    fronts = KnownFronts()
    fronts.remember("a", 1, bytes(FRONT_OCTETS_MAX), PLAIN)
    fronts.remember("b", 2, bytes(FRONT_OCTETS_MAX + 1), PLAIN)
    fronts.remember("c", 3, b"", UNIQUE)
    assert fronts == {"a": 1}


def test_very_many_begin_anew():
    fronts = KnownFronts()
    for number in range(FRONTS_MAX + 1):
        fronts.remember(number, number, b"", PLAIN)
    assert fronts == {FRONTS_MAX: FRONTS_MAX}
