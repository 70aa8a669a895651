"""A beginning waits for its rest exactly while it is right so far, known, and short."""

import pytest
from hypothesis import given, settings

from pybroker.wire.content import scan
from pybroker.wire.partial_publish import UNFINISHED_OCTETS_MAX, is_unfinished
from tests.streams import ack, content_frames, frame, good_streams, props, publish, publish_frame, split

OCTETS_MAX, MESSAGE_MAX = 4_096, 60_000
METHOD = publish_frame(1, "", "k")
ROUTES = {METHOD: ("route",)}
HEADER, BODY = content_frames(1, b"body", props(message_id="m"))


def waits(octets: bytes, position: int = 0) -> bool:
    return is_unfinished(octets, position, ROUTES, OCTETS_MAX, MESSAGE_MAX)


@pytest.mark.parametrize("piece", [1, 2, 4_088])
def test_a_publish_waits_from_its_first_frame_to_its_last_octet(piece):
    whole = publish(1, "", "k", b"body", props(headers={"k": "v"}), piece=piece)
    assert [waits(whole[:end]) for end in range(len(whole) + 1)] == [
        len(METHOD) <= end < len(whole) for end in range(len(whole) + 1)
    ]
    before = ack(1, 1) + whole
    assert waits((before + whole)[:-1], len(before))


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        ack(1, 1),
        publish_frame(1, "", "other"),
        publish_frame(2, "", "k"),
        METHOD + METHOD,
        METHOD + ack(1, 1)[:9],
        METHOD + b"\1",
        METHOD + content_frames(2, b"body")[0],
        METHOD + HEADER[:-1] + b"\0",
        METHOD + frame(2, 1, b"\0\x3c\0\1" + HEADER[11:19] + b"\0\0"),
        METHOD + frame(2, 1, b"\0\x3d\0\0" + HEADER[11:19] + b"\0\0"),
        METHOD + frame(2, 1, b"\0\x3c\0\0")[:9],
        METHOD + frame(2, 1, b"x" * (OCTETS_MAX + 1))[:9],
        METHOD + frame(2, 1, b"\0\x3c\0\0" + (MESSAGE_MAX + 1).to_bytes(8) + b"\0\0"),
        METHOD + HEADER + b"\1",
        METHOD + HEADER + frame(3, 2, b"body")[:-1],
        METHOD + HEADER + frame(3, 1, b"body5")[:-1],
        METHOD + HEADER + frame(3, 1, b"")[:-1],
        METHOD + HEADER + frame(3, 1, b"bo")[:-1] + b"\0",
        METHOD + HEADER + frame(3, 1, b"bo") + METHOD[:10],
        METHOD + content_frames(1, b"")[0],
        METHOD + HEADER + BODY,
    ],
)
def test_what_is_whole_or_wrong_or_something_else_does_not_wait(octets):
    assert not waits(octets)


def test_a_long_one_does_not_wait():
    octets = publish(1, "", "k", b"x" * 40_000, piece=4_000)
    assert waits(octets[:UNFINISHED_OCTETS_MAX])
    assert not waits(octets[: UNFINISHED_OCTETS_MAX + 1])


@settings(deadline=None, max_examples=40)
@given(good_streams)
def test_what_waits_is_read_by_scan_once_the_rest_is_there(octets):
    routes = {f: ("route",) for f in split(octets) if f[0] == 1 and f[7:11] == b"\0\x3c\0\x28"}
    for end in range(min(len(octets), 600)):
        position = scan(octets[:end], 0, routes, OCTETS_MAX, MESSAGE_MAX, [])
        if is_unfinished(octets[:end], position, routes, OCTETS_MAX, MESSAGE_MAX):
            later = scan(octets, position, routes, OCTETS_MAX, MESSAGE_MAX, [])
            # Or it is one that the frame path has to refuse, or another channel's frames come between its own.
            assert later > position or not is_unfinished(octets, position, routes, OCTETS_MAX, MESSAGE_MAX)
