"""The C codec against its reference: which one runs, the same events, objects shared, parts and numbers."""

import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pybroker.errors import AmqpError
from pybroker.run import Run
from pybroker.wire import content
from pybroker.wire.content import JOIN_OCTETS_MAX, attributes_for
from pybroker.wire.properties import encode_properties
from tests import strategies, wire_grammar
from tests.codecs_compared import C, check_sharing, needs_c, same_encode, same_on_channel, same_scan
from tests.streams import ack, content_frames, frame, good_streams, props, publish, publish_frame, split

pytestmark = needs_c

OCTETS_MAX, MESSAGE_MAX = 4_096, 60_000


def routes_of(octets: bytes) -> dict[bytes, Any]:
    return {f: ("route", f) for f in split(octets) if f[0] == 1 and f[7:11] == b"\0\x3c\0\x28"}


def both(octets: bytes, start: int = 0) -> tuple[int, list[Any]]:
    return same_scan(octets, start, routes_of(octets), OCTETS_MAX, MESSAGE_MAX)


# -- which one runs ---------------------------------------------------------------------------------------------------


def chosen(**environment: str) -> str:
    code = "from pybroker.wire.content import CODEC; print(CODEC)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environment
    )
    return done.stdout.strip()


def test_pure_is_what_the_environment_asks_for():
    assert chosen(PYBROKER_PURE="1") == "pure Python"


@pytest.mark.skipif("PYBROKER_CODEC" in os.environ, reason="another one than the installed is tested")
def test_c_runs_where_it_was_built():
    assert {chosen(PYBROKER_PURE=value) for value in ("", "0")} == {"C"}


def test_a_codec_built_for_another_seam_is_not_used(monkeypatch):
    assert C.SEAM == content.SEAM
    monkeypatch.delenv("PYBROKER_PURE", raising=False)
    monkeypatch.setattr(content, "SEAM", C.SEAM + 1)
    assert content._choose() == ("pure Python", content.pure_scan, content.pure_encode, content.pure_on_channel)


def test_without_a_codec_pure_runs(monkeypatch):
    monkeypatch.delenv("PYBROKER_PURE", raising=False)
    monkeypatch.setitem(sys.modules, "pybroker.wire._codec", None)
    monkeypatch.delattr("pybroker.wire._codec", raising=False)
    assert content._choose()[0] == "pure Python"


# -- scan -------------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(good_streams, st.integers(0, 400))
def test_good_streams_give_the_same_events_wherever_they_begin(octets, start):
    both(octets)
    both(octets, min(start, len(octets)))


@settings(deadline=None, max_examples=30)
@given(good_streams)
def test_streams_cut_at_every_octet_give_the_same_events(octets):
    routes = routes_of(octets)
    for place in range(min(len(octets), 1_500) + 1):
        same_scan(octets[:place], 0, routes, OCTETS_MAX, MESSAGE_MAX)


BEGUN = publish_frame(1, "", "k") + content_frames(1, b"x")[0]
EDGES = {
    "nothing": b"",
    "a route that is not known": publish(9, "", "k", b"x"),
    "another channel's header": publish_frame(1, "", "k") + b"".join(content_frames(2, b"x")),
    "an empty body frame": publish_frame(1, "", "k")
    + content_frames(1, b"x")[0]
    + frame(3, 1, b"")
    + frame(3, 1, b"x"),
    "a body frame too long": BEGUN + frame(3, 1, b"xy"),
    "an empty frame for no body": publish(1, "", "k") + frame(3, 1, b""),
    "a weight": publish_frame(1, "", "k") + frame(2, 1, b"\0\x3c\0\1" + b"\0" * 10),
    "a header without flags": publish_frame(1, "", "k") + frame(2, 1, b"\0\x3c\0\0" + b"\0" * 8) + publish(1, "", "k"),
    "a header of one octet": publish_frame(1, "", "k") + frame(2, 1, b"\0") + publish(1, "", "k"),
    "a body above 63 bits": publish_frame(1, "", "k") + frame(2, 1, b"\0\x3c\0\0" + b"\xff" * 8 + b"\0\0") + b"x" * 99,
    "an ack of channel 0": ack(0, 1),
    "acks around 2**64": b"".join(ack(1, tag % 2**64) for tag in range(2**64 - 3, 2**64 + 3)),
    "acks of two channels": ack(1, 1) + ack(2, 2) + ack(2, 3),
    "an ack that is too long": frame(1, 1, b"\0\x3c\0\x50" + b"\0" * 10),
    "an ack without its end": ack(1, 1) + ack(1, 2)[:-1] + b"\0",
    "the largest body frame": publish(1, "", "k", b"x" * OCTETS_MAX, piece=OCTETS_MAX) * 2,
    "one octet more": publish(1, "", "k", b"x" * (OCTETS_MAX + 1), piece=OCTETS_MAX + 1),
    "many pieces": publish(1, "", "k", b"x" * 300, piece=1) * 3,
    "more than fit on the stack": publish(1, "", "k", b"x") * 5_000,
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_give_the_same_events_at_every_cut(name):
    octets = EDGES[name]
    for place in {0, len(octets), *range(max(0, len(octets) - 200), len(octets))}:
        routes = {f: ("route", f) for f in (publish_frame(1, "", "k"), publish_frame(2, "", "k"))}
        same_scan(octets[:place], 0, routes, OCTETS_MAX, MESSAGE_MAX)


@pytest.mark.parametrize("start", [5, 100, 2**62])
def test_a_start_behind_the_end_is_where_it_stops(start):
    assert same_scan(b"abcde", start, {}, OCTETS_MAX, MESSAGE_MAX) == (start, [])


def test_one_route_under_two_names_is_two_events():
    frames = [publish_frame(1, "", "a"), publish_frame(1, "", "b")]
    octets = b"".join(f + b"".join(content_frames(1, b"x")) for f in frames)
    _, events = same_scan(octets, 0, dict.fromkeys(frames, "route"), OCTETS_MAX, MESSAGE_MAX)
    assert [event[0] for event in events] == ["route", "route"]


@pytest.mark.parametrize("size", [0, 1, 4_000, JOIN_OCTETS_MAX, 20_000])
def test_equal_neighbours_are_one_object_and_are_not_packed(size):
    octets = publish(1, "", "k", b"e" * size) * 20
    _, ((_, attributes, contents, whole, body_octets, body_size),) = both(octets)
    assert len({id(one) for one in contents}) == 1
    run = Run(None, attributes, 0, contents, whole, body_octets, body_size, 0)
    run.pack()
    assert run.contents is not None


def test_equal_ones_that_are_not_neighbours_are_packed():
    octets = publish(1, "", "k", b"one") + publish(1, "", "k", b"two") + publish(1, "", "k", b"one")
    _, ((_, _, contents, _, _, _),) = both(octets)
    assert contents[0] is not contents[2]


def test_headers_that_differ_are_one_event():
    octets = b"".join(
        publish(1, "", "k", b"b" * i, props(message_id=str(i), timestamp=i, headers={"n": i, "id": str(i)}))
        for i in range(500)
    )
    assert [len(event[2]) for event in both(octets)[1]] == [500]


@given(strategies.properties.map(encode_properties))
@settings(deadline=None)
def test_any_properties_have_the_attributes_that_python_finds(octets):
    stream = publish(1, "", "k", b"b", octets)
    try:
        expected = attributes_for(octets)
    except AmqpError:
        assert both(stream) == (0, [])
        return
    position, events = same_scan(stream, 0, routes_of(publish(1, "", "k")), 2**20, MESSAGE_MAX)
    assert (position, [expected]) == (len(stream), [event[1] for event in events])


def test_ten_thousand_properties_of_the_grammar_have_the_attributes_that_python_finds():
    routes = routes_of(publish(1, "", "k"))
    grammar = wire_grammar.Grammar(7)
    read = 0
    for number in range(10_000):
        octets = grammar.make_properties(number % 2 == 0)
        if number % 3 == 0:
            octets = grammar.broken(octets)
        stream = publish(1, "", "k", b"b", octets)
        read += same_scan(stream, 0, routes, 2**20, MESSAGE_MAX)[0] == len(stream)
    assert 2_000 < read < 8_000


# -- encode -----------------------------------------------------------------------------------------------------------

contents_lists = st.lists(st.sampled_from([0, 1, 30, 4_095, 4_096, 4_097, 20_000]), max_size=40).map(
    lambda sizes: [bytes([i % 256]) * size for i, size in enumerate(sizes)]
)


@settings(deadline=None)
@given(contents_lists, st.integers(0, 2**64 - 1_000), st.binary(max_size=40), st.booleans())
def test_encode_writes_the_same_parts(contents, tag, head, exact):
    about = sum(map(len, contents)) if exact else 3_000 * len(contents)
    found = same_encode(head, tag, head[:7], contents, about)
    copied = {id(one) for one in found}
    assert all(id(one) in copied for one in contents if about > JOIN_OCTETS_MAX * len(contents))


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), max_size=300))
def test_encode_writes_a_flood_that_is_one_object(picks):
    different = [b"", b"a" * 30, b"a" * 29 + b"b", b"c" * 5_000]
    same_encode(b"head", 255, b"tail", [different[pick] for pick in picks], 0)


@pytest.mark.parametrize("about", [0, 1, 5])
def test_encode_of_nothing_is_the_same(about):
    same_encode(b"h", 1, b"t", [], about)


def test_tags_end_at_64_bits():
    same_encode(b"h", 2**64 - 2, b"t", [b"a", b"b"], 2)
    with pytest.raises(OverflowError):
        C.encode([], b"h", 2**64 - 2, b"t", [b"a", b"b", b"c"], 3)
    with pytest.raises(OverflowError):
        C.encode([], b"h", 2**64, b"t", [b"a"], 1)


# -- on_channel -------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 100)), max_size=5), st.integers(0, 65_535))
def test_on_channel_writes_the_same_number_into_each_frame(shapes, channel):
    contents = [b"".join(content_frames(5, b"x" * size, props(app_id="a"), piece)) for size, piece in shapes]
    same_on_channel(contents + contents[:1] * 3 + [b""], channel)


def test_on_channel_keeps_a_flood_one_object():
    one = b"".join(content_frames(5, b"x" * 20))
    assert len({id(content) for content in same_on_channel([one] * 50, 7)}) == 1


@pytest.mark.parametrize("channel", [-1, 65_536, 2**70])
def test_a_channel_number_has_16_bits(channel):
    for on_channel in (C.on_channel, content.pure_on_channel):
        with pytest.raises(OverflowError):
            on_channel([b"".join(content_frames(5, b"x"))], channel)


def test_what_is_not_whole_frames_is_refused():
    whole = b"".join(content_frames(5, b"body"))
    for end in range(1, len(whole)):
        if end != len(whole) - 12:  # where the header frame ends
            with pytest.raises(ValueError, match="whole frames"):
                C.on_channel([whole, whole[:end]], 1)


def test_sharing_is_checked_by_these_tests():
    a, b = [b"x"] * 3, [b"x", bytes(bytearray(b"x" * 2))[:1]]
    check_sharing(a, a)
    with pytest.raises(AssertionError):
        check_sharing([a[0], a[0]], [bytes(bytearray(b"yy")), bytes(bytearray(b"yy"))])
    check_sharing(b, b)
