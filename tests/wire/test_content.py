"""The hot path against naive twins: scan against reading frame by frame, encode against writing one by one."""

import random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pybroker.errors import AmqpError
from pybroker.run import RunAttributes
from pybroker.wire import content
from pybroker.wire.content import ATTRIBUTES_CACHE_MAX, attributes_for, encode, on_channel, pure_scan, reframe, scan
from pybroker.wire.properties import attributes_of, encode_properties
from tests.searches import share
from tests.strategies import few, properties
from tests.streams import (
    ack,
    content_frames,
    frame,
    good_streams,
    props,
    publish,
    publish_frame,
    split,
)

# -- scan alone -------------------------------------------------------------------------------------------------------

OCTETS_MAX = 4_096
MESSAGE_MAX = 60_000


def routes_of(octets: bytes) -> dict[bytes, Any]:
    """Return a route for every basic.publish of a good stream."""
    return {f: ("route", f) for f in split(octets) if f[0] == 1 and f[7:11] == b"\0\x3c\0\x28"}


def flat(events: list[Any]) -> list[Any]:
    """Return one tuple a message, one a single acknowledgement."""
    found: list[Any] = []
    for event in events:
        if event[0] is None:
            _, channel, first, last, multiple = event
            found += [("ack", channel, tag, multiple) for tag in range(first, last + 1)]
            continue
        route, attributes, contents, octets, body_octets, body_size = event
        sizes = [int.from_bytes(one[11:19]) for one in contents]
        assert (octets, body_octets) == (sum(map(len, contents)), sum(sizes))
        assert body_size == (sizes[0] if len(set(sizes)) == 1 else -1)
        found += [("publish", route, attributes, one) for one in contents]
    return found


def read_frames(octets: bytes) -> list[tuple[int, int, bytes, bytes]]:
    """Return (type, channel, payload, octets) of each frame; the octets must be frames to the end."""
    found = []
    at = 0
    while at < len(octets):
        length = int.from_bytes(octets[at + 3 : at + 7])
        end = at + 8 + length
        assert end <= len(octets)
        assert octets[end - 1] == 0xCE
        assert length <= OCTETS_MAX
        found.append((octets[at], int.from_bytes(octets[at + 1 : at + 3]), octets[at + 7 : end - 1], octets[at:end]))
        at = end
    return found


def naive(octets: bytes, routes: dict[bytes, Any]) -> list[Any]:
    """Read what scan says it has read, frame by frame; anything but whole publishes and acks is its mistake."""
    found: list[Any] = []
    frames = read_frames(octets)
    while frames:
        kind, channel, payload, whole = frames.pop(0)
        assert kind == 1
        if payload.startswith(b"\0\x3c\0\x50"):
            assert len(payload) == 13
            found.append(("ack", channel, int.from_bytes(payload[4:12]), bool(payload[12] & 1)))
            continue
        kind, number, header, parts = frames.pop(0)
        assert (kind, number, header[:4]) == (2, channel, b"\0\x3c\0\0")
        size = left = int.from_bytes(header[4:12])
        assert size <= MESSAGE_MAX
        while left:
            kind, number, body, frame_octets = frames.pop(0)
            assert (kind, number) == (3, channel)
            left -= len(body)
            assert left >= 0
            parts += frame_octets
        found.append(("publish", routes[whole], attributes_of(header[12:]), parts))
    return found


def check_scan(octets: bytes, routes: dict[bytes, Any], start: int = 0) -> int:
    events: list[Any] = []
    end = scan(octets, start, routes, OCTETS_MAX, MESSAGE_MAX, events)
    assert start <= end <= len(octets)
    assert naive(octets[start:end], routes) == flat(events)
    return end


@settings(deadline=None)
@given(good_streams)
def test_scan_reads_every_message_as_frames_would_tell_it(octets):
    check_scan(octets, routes_of(octets))


@settings(deadline=None)
@given(good_streams, st.integers(0, 30))
def test_scan_begins_where_it_is_told(octets, start):
    before = ack(1, 1) + b"x" * start
    check_scan(before + octets, routes_of(octets), len(before))


def test_scan_reads_to_the_end_what_is_whole():
    one = publish(1, "", "k", b"body")
    acks = ack(1, 1) + ack(1, 2, multiple=True) + ack(2, 0)
    octets = one * 40 + publish(1, "", "k", b"b" * 20_000, piece=4_000) + acks + publish(1, "", "k", b"")
    assert check_scan(octets, routes_of(octets)) == len(octets)


def test_scan_leaves_what_is_incomplete_where_it_is():
    one = publish(1, "", "k", b"12345678", piece=5)
    routes = routes_of(one)
    for end in range(len(one), 3 * len(one)):
        assert check_scan((one * 3)[:end], routes) == end // len(one) * len(one)


@pytest.mark.search
def test_damaged_streams_never_make_it_raise_or_believe(seed):
    dice = random.Random(seed)
    good = [
        publish(1, "", "k", b"body") * 4,
        publish(1, "", "k", b"12345678", piece=4) * 3,
        publish(1, "", "k", b"1234", piece=2) + publish(1, "", "k", b"", props(message_id="m")) + ack(1, 7),
        b"".join(publish(1, "", "k", b"%d" % i, props(message_id=str(i))) for i in range(4)),
        publish(2, "", "k", b"a") + publish(1, "", "k", b"b") * 2 + ack(2, 1) + ack(2, 2) + ack(2, 3, multiple=True),
        publish(1, "x", "", b"", props(headers={"k": 1})) * 2 + publish(1, "x", "", b"abc", props(priority=4)),
        ack(1, 0) + ack(1, 1) + ack(1, 1) + ack(1, 0, multiple=True) + publish(1, "", "k", b"a") * 2,
    ]
    routes: dict[bytes, Any] = {}
    for octets in good:
        routes.update(routes_of(octets))
    for _ in range(share(30_000, 1_000_000) // len(good)):
        for octets in good:
            bad = bytearray(octets)
            for _ in range(dice.randrange(1, 4)):
                at = dice.randrange(len(bad))
                way = dice.randrange(4)
                if way == 0:
                    bad[at] = dice.randrange(256)
                elif way == 1:
                    bad[at] ^= 1 << dice.randrange(8)
                elif way == 2:
                    bad[at : at + dice.randrange(1, 9)] = b""
                else:
                    bad[at:at] = bad[dice.randrange(len(bad)) :][: dice.randrange(30)]
                if not bad:
                    break
            check_scan(bytes(bad), routes)


def test_octets_that_are_no_frames_stop_scan_at_once():
    dice = random.Random(7)
    routes = routes_of(publish(1, "", "k"))
    for n in range(3_000):
        assert check_scan(dice.randbytes(n % 90), routes) == 0


@pytest.mark.parametrize("length", [OCTETS_MAX + 1, MESSAGE_MAX])
def test_a_body_frame_above_frame_max_is_left_for_the_frame_path(length):
    octets = publish(1, "", "k", b"x" * length, piece=length)
    assert check_scan(octets, routes_of(octets)) == 0
    two = publish(1, "", "k", b"x" * (length + 4), piece=4)[: 23 + 22 + 12] + frame(3, 1, b"x" * length)
    assert check_scan(two, routes_of(publish(1, "", "k"))) == 0


def test_what_stands_between_two_body_frames_is_not_taken_for_body():
    # A close-ok is as long as a body frame of four octets, so the whole looks like its neighbour.
    good = publish(1, "", "k", b"12345678", piece=4)
    method, header, first, last = split(good)
    bad = method + header + first + frame(1, 1, b"\0\x14\0\x29") + last
    assert check_scan(good + bad + good, routes_of(good)) == len(good)


def test_a_message_above_the_maximum_is_left_for_the_frame_path():
    good = publish(1, "", "k", b"x")
    octets = good + publish(1, "", "k", b"x" * (MESSAGE_MAX + 1)) + good
    assert check_scan(octets, routes_of(octets)) == len(good)


def test_neighbours_of_other_attributes_are_other_events():
    kinds = [props(), props(delivery_mode=2), props(priority=1)]
    octets = b"".join(publish(1, "", "k", b"b", kinds[i // 3]) for i in range(9))
    events: list[Any] = []
    scan(octets, 0, routes_of(octets), OCTETS_MAX, MESSAGE_MAX, events)
    assert [(RunAttributes(), 3), (RunAttributes(persistent=True), 3), (RunAttributes(priority=1), 3)] == [
        (e[1], len(e[2])) for e in events
    ]


def test_a_flood_of_equal_messages_is_one_object():
    octets = publish(1, "", "k", b"same") * 500
    events: list[Any] = []
    scan(octets, 0, routes_of(octets), OCTETS_MAX, MESSAGE_MAX, events)
    ((_, _, contents, _, _, body_size),) = events
    assert (500, 4) == (len(contents), body_size)
    assert len({id(one) for one in contents[1:]}) <= 2


def test_single_acks_in_order_are_one_event():
    octets = b"".join(ack(1, tag) for tag in (3, 4, 5, 7)) + ack(1, 9, multiple=True) + ack(1, 10)
    events: list[Any] = []
    scan(octets, 0, {}, OCTETS_MAX, MESSAGE_MAX, events)
    assert [(None, 1, 3, 5, False), (None, 1, 7, 7, False), (None, 1, 9, 9, True), (None, 1, 10, 10, False)] == events


# -- attributes ---------------------------------------------------------------------------------------------------


def test_the_attributes_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(content, "_attributes_cache", {})
    for i in range(ATTRIBUTES_CACHE_MAX + 100):
        attributes_for(props(app_id=str(i)))
        assert len(content._attributes_cache) <= ATTRIBUTES_CACHE_MAX
    assert props(app_id=str(ATTRIBUTES_CACHE_MAX)) in content._attributes_cache
    assert props(app_id="0") not in content._attributes_cache


def test_scan_keeps_the_bound_too(monkeypatch):
    monkeypatch.setattr(content, "_attributes_cache", {})
    octets = b"".join(publish(1, "", "k", b"", props(app_id=str(i))) for i in range(ATTRIBUTES_CACHE_MAX + 100))
    assert pure_scan(octets, 0, routes_of(publish(1, "", "k")), OCTETS_MAX, MESSAGE_MAX, []) == len(octets)
    assert len(content._attributes_cache) == ATTRIBUTES_CACHE_MAX


@pytest.mark.parametrize("name", ["message_id", "correlation_id", "timestamp"])
def test_what_no_two_messages_share_is_not_remembered(monkeypatch, name):
    monkeypatch.setattr(content, "_attributes_cache", {})
    octets = props(**{name: 7 if name == "timestamp" else "7"}, delivery_mode=2)
    assert attributes_for(octets) == RunAttributes(persistent=True)
    assert content._attributes_cache == {}


@given(properties.map(encode_properties))
@few
def test_remembered_or_not_attributes_are_the_same(octets):
    try:
        expected = attributes_of(octets)
    except AmqpError as error:
        with pytest.raises(type(error)):
            attributes_for(octets)
        return
    assert expected == attributes_for(octets) == attributes_for(octets)


# -- encode -----------------------------------------------------------------------------------------------------------


def contents_of(sizes: list[int]) -> list[bytes]:
    return [b"".join(content_frames(5, bytes([i % 256]) * size)) for i, size in enumerate(sizes)]


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 63, 64, 65, 255, 256, 257, 511, 512, 600, 1_234])
@pytest.mark.parametrize("first_tag", [1, 255, 2**32 - 3, 2**63])
def test_encode_writes_what_one_by_one_would(n, first_tag):
    contents = contents_of([i % 50 for i in range(n)])
    out: list[bytes] = []
    head, tail = b"head", b"tail"
    octets = encode(out, head, first_tag, tail, contents, sum(map(len, contents)))
    expected = b"".join(head + (first_tag + i).to_bytes(8) + tail + one for i, one in enumerate(contents))
    assert expected == b"".join(out)
    assert len(expected) == octets


@given(st.lists(st.sampled_from([0, 1, 100, 4_000, 4_096, 5_000, 20_000]), min_size=1, max_size=40), st.booleans())
def test_encode_counts_and_writes_any_mixture_of_sizes(sizes, exact):
    contents = contents_of(sizes)
    # The caller knows the octets of the whole run, and only about how many are in this slice of it.
    about = sum(map(len, contents)) if exact else len(contents) * 3_000
    out: list[bytes] = []
    octets = encode(out, b"h", 9, b"t", contents, about)
    expected = b"".join(b"h" + tag.to_bytes(8) + b"t" + one for tag, one in enumerate(contents, 9))
    assert (expected, len(expected)) == (b"".join(out), octets)


def test_encode_does_not_copy_large_contents():
    contents = contents_of([50_000, 60_000])
    for some in (contents, contents[:1]):
        out: list[bytes] = []
        encode(out, b"h", 1, b"t", some, sum(map(len, some)))
        assert all(any(part is one for part in out) for one in some)


def test_encode_of_nothing_is_nothing():
    out: list[bytes] = []
    assert encode(out, b"h", 1, b"t", [], 0) == len(b"".join(out)) == 0


# -- the same content for another peer --------------------------------------------------------------------------------


def body_of(octets: bytes) -> tuple[bytes, bytes, set[int], int]:
    """Return header payload, body, channels and the longest frame."""
    frames = split(octets)
    body = b"".join(f[7:-1] for f in frames[1:])
    assert [2] + [3] * (len(frames) - 1) == [f[0] for f in frames]
    return frames[0][7:-1], body, {int.from_bytes(f[1:3]) for f in frames}, max(map(len, frames))


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 100)), max_size=5), st.integers(0, 65_535))
def test_on_channel_changes_every_frames_number_and_nothing_else(shapes, channel):
    contents = [b"".join(content_frames(5, b"x" * size, props(app_id="a"), piece)) for size, piece in shapes]
    found = on_channel(contents, channel)
    expected = [b"".join(content_frames(channel, b"x" * size, props(app_id="a"), piece)) for size, piece in shapes]
    assert expected == found


@given(st.integers(0, 400), st.integers(1, 100), st.integers(9, 300), st.integers(0, 65_535))
def test_reframe_keeps_the_content_within_frame_max(size, piece, frame_octets_max, channel):
    body = random.Random(size).randbytes(size)
    octets = reframe(b"".join(content_frames(5, body, props(app_id="a"), piece)), channel, frame_octets_max)
    header, found, channels, _ = body_of(octets)
    assert (body, {channel}) == (found, channels)
    assert content_frames(5, body, props(app_id="a"))[0][7:-1] == header
    frames = split(octets)[1:]
    assert all(len(f) <= frame_octets_max for f in frames)
    assert len(frames) == -(-size // (frame_octets_max - 8))


def test_reframe_without_a_limit_is_one_frame():
    octets = reframe(b"".join(content_frames(5, b"x" * 1_000, piece=10)), 1, 0)
    assert octets == b"".join(content_frames(1, b"x" * 1_000))


def test_reframe_leaves_an_empty_content_without_body_frames():
    (header,) = content_frames(5, b"")
    assert reframe(header, 7, 4_096) == content_frames(7, b"")[0]


def test_large_properties_are_not_remembered(monkeypatch):
    # Headers of 128 KiB that differ would be 128 MiB before the first of them is forgotten.
    monkeypatch.setattr(content, "_attributes_cache", {})
    small, large = props(app_id="x" * 200), props(headers={"h": "x" * 600})
    octets = publish(1, "", "k", b"", small) + publish(1, "", "k", b"", large)
    assert attributes_for(large) == attributes_for(small)
    routes = {publish_frame(1, "", "k"): object()}
    assert len(octets) == pure_scan(octets, 0, routes, 131_072, 1_000, [])
    assert [small] == list(content._attributes_cache)
