"""Segments: what is known of each, in little memory."""

import sys

from pybroker.store.streams.segments import Place, Segments
from pybroker.store.streams.writer import Written


def three():
    segments = Segments()
    segments.put(Written(0, 100, 1_000, 1_010))
    segments.put(Written(10, 64, 0, 1_010))
    segments.put(Written(10, 200, 1_020, 1_030))
    segments.put(Written(25, 300, 1_040, 1_050))
    return segments


def test_the_newest_is_put_again():
    segments = three()
    assert (len(segments), segments.octets, list(segments.firsts)) == (3, 600, [0, 10, 25])


def test_the_first_chunk_of_all_has_a_time():
    segments = three()
    assert segments.first_ms == 1_000
    segments.remove(1)
    assert segments.first_ms == 1_020
    assert Segments().first_ms == 0


def test_a_place_ends_where_the_next_one_begins():
    segments = three()
    assert segments.place(0, 40) == Place(0, 100, 10)
    assert segments.place(2, 40) == Place(25, 300, 40)


def test_the_one_that_has_an_offset():
    segments = three()
    segments.remove(1)
    assert [segments.holding(offset) for offset in (0, 10, 24, 25, 99)] == [0, 0, 0, 1, 1]
    assert (segments.octets, len(segments)) == (500, 2)


def test_those_below_an_offset():
    assert three().below(24) == [0]
    assert three().below(25) == [0, 10]
    assert three().below(99) == [0, 10]


def test_the_first_that_is_not_older():
    segments = three()
    assert [segments.not_older(at) for at in (0, 1_010, 1_011, 1_030, 1_050, 1_051)] == [0, 0, 1, 1, 2, 3]
    assert segments.begins_later(1, 1_020)
    assert not segments.begins_later(1, 1_021)


def test_what_is_too_much_goes_but_for_the_newest():
    assert [three().too_much(octets) for octets in (600, 599, 500, 499, 0)] == [0, 1, 1, 2, 2]
    assert Segments().too_much(0) == 0


def test_times_ascend_also_if_one_is_not_known():
    segments = three()
    segments.put(Written(40, 100, 0, 0))
    assert [segments.not_older(at) for at in (1_030, 1_050, 1_051)] == [1, 2, 4]


def test_a_segment_takes_32_octets():
    segments = Segments()
    for number in range(2_000):
        segments.put(Written(number, 64, number, number))
    assert sys.getsizeof(segments._rows) < 36 * 2_000
