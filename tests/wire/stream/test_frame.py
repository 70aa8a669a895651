"""Frames: split as they come, and made."""

import pytest

from pybroker.wire.stream.codes import Code, Key
from pybroker.wire.stream.frame import (
    Frame,
    FrameTooLargeError,
    MalformedFrameError,
    announced_octets,
    credit_error,
    deliver,
    frame,
    publish_confirm,
    publish_error,
    response,
    split_frame,
    tune,
)


def test_frames_are_split_where_they_are_whole():
    octets = frame(Key.HEARTBEAT) + frame(Key.OPEN, b"abc", 2)
    assert b"\0\0\0\x04\0\x17\0\x01\0\0\0\x07\0\x15\0\x02abc" == octets
    assert Frame(23, 1, 8, 8) == split_frame(octets, 0, 100)
    assert Frame(21, 2, 16, 19) == split_frame(octets, 8, 7)
    for stop in range(8, 19):
        assert split_frame(octets[:stop], 8, 7) is None
    assert (11, 0, 11) == tuple(announced_octets(octets[:stop], 8) for stop in (19, 11, 12))


def test_one_that_is_too_large_or_too_short_is_refused():
    with pytest.raises(FrameTooLargeError, match=r"Frame size \(9 bytes\) exceeds maximum \(8 bytes\)"):
        split_frame(b"\0\0\0\x09", 0, 8)
    assert split_frame(b"\xff\xff\xff\xff", 0, 0) is None
    with pytest.raises(MalformedFrameError):
        split_frame(b"\0\0\0\x03\0\x17\0", 0, 8)


def test_answers():
    assert b"\0\0\0\x0b\x80\x0b\0\x01\0\0\0\x05\0\x13x" == response(Key.QUERY_OFFSET, 5, Code.NO_OFFSET, b"x")
    assert b"\0\0\0\x07\x80\x09\0\x01\0\x04\x02" == credit_error(2, Code.SUBSCRIPTION_ID_DOES_NOT_EXIST)
    assert b"\0\0\0\x0c\0\x14\0\x01\0\x10\0\0\0\0\0\x3c" == tune(1_048_576, 60)


def test_what_publishers_are_told():
    ids = (1).to_bytes(8) + (2).to_bytes(8)
    assert b"\0\0\0\x19\0\x03\0\x01\x09\0\0\0\x02" + ids == b"".join(publish_confirm(9, ids))
    told = ids[:8] + b"\0\x12" + ids[8:] + b"\0\x12"
    assert b"\0\0\0\x1d\0\x04\0\x01\x09\0\0\0\x02" + told == b"".join(
        publish_error(9, ids, Code.PUBLISHER_DOES_NOT_EXIST)
    )


@pytest.mark.parametrize("octets_max", [0, 1, 29, 1_000])
def test_they_are_told_in_frames_that_have_room(octets_max):
    ids = [number.to_bytes(8) for number in range(1_000)]
    for frames, each in (
        (publish_confirm(9, b"".join(ids), octets_max), 8),
        (publish_error(9, b"".join(ids), Code.INTERNAL_ERROR, octets_max), 10),
    ):
        assert all(len(octets) - 4 <= max(octets_max or 1 << 20, 9 + each) for octets in frames)
        told = [octets[at : at + 8] for octets in frames for at in range(13, len(octets), each)]
        assert ids == told
        counts = [int.from_bytes(octets[9:13]) for octets in frames]
        assert sum(counts) == 1_000


def test_what_is_in_front_of_a_chunk():
    assert b"\0\0\0\x0f\0\x08\0\x01\x07" == deliver(7, 10, None)
    assert b"\0\0\0\x17\0\x08\0\x02\x07" + (3).to_bytes(8) == deliver(7, 10, 3)
