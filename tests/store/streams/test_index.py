"""Index: the nearest place before what is wanted; damage makes it farther, never wrong."""

import errno
import random

from pybroker.store.streams import format as fmt
from pybroker.store.streams.format import Point
from pybroker.store.streams.index import Index
from tests.store.faulty_disk import FaultyDisk

SEED = fmt.point_seed(1, 7, 300)
SYNCED = Point(500, 2_000, 9_000, fmt.SYNCED)
POINTS = [Point(300 + 10 * number, 1_000 + 10 * number, 64 + 100 * number) for number in range(20)]
OCTETS = b"".join(point.encode(SEED) for point in (SYNCED, *POINTS))


def index(octets=OCTETS):
    return Index(octets, SEED, 300)


def test_the_first_point_says_what_is_synced():
    assert index().synced() == SYNCED
    assert index(OCTETS[32:]).synced() is None
    assert index(b"").synced() is None


def test_places_have_numbers():
    assert index().count == 21
    assert index().point(1) == POINTS[0]
    assert index().point(20) == POINTS[19]
    assert index().point(21) is None
    assert index().point(0) is None


def test_the_last_place_that_is_wanted():
    for wanted in range(299, 520):
        number, point = index().last(lambda point, wanted=wanted: point.offset <= wanted)
        best = max([each for each in POINTS if each.offset <= wanted], default=None)
        assert point == best if best else number == 0, wanted


def test_without_a_place_it_is_the_start():
    assert index(b"").last(lambda point: True) == (0, Point(300, 0, fmt.HEADER_OCTETS))


def test_damage_leads_to_an_earlier_place():
    rng = random.Random(1)
    for _ in range(300):
        octets = bytearray(OCTETS)
        for _ in range(rng.randrange(1, 8)):
            octets[rng.randrange(len(octets))] ^= 1 << rng.randrange(8)
        wanted = rng.randrange(300, 500)
        _, point = index(bytes(octets)).last(lambda point, wanted=wanted: point.offset <= wanted)
        assert point.offset <= wanted
        assert point in (*POINTS, Point(300, 0, fmt.HEADER_OCTETS))


def test_an_index_that_cannot_be_read_is_empty():
    disk = FaultyDisk()
    assert Index.read(disk, SEED, 300).count == 0
    disk.write_file(fmt.index_name(300), OCTETS)
    assert Index.read(disk, SEED, 300).count == 21
    assert Index.read(disk, SEED, 300, 64).count == 2
    disk.fail_next("read_at", errno.EIO)
    assert Index.read(disk, SEED, 300).count == 0
