import pytest
from hypothesis import given, strategies as st
from pamqp import frame as pamqp_frame, heartbeat

from pybroker.errors import FrameError
from pybroker.wire.frame import (
    BODY,
    HEARTBEAT,
    HEARTBEAT_FRAME,
    METHOD,
    PROTOCOL_HEADER,
    frame,
    split_frame,
    unexpected_frame,
)

MAX = 131_072


def refused(octets: bytes, frame_octets_max: int = MAX) -> FrameError:
    with pytest.raises(FrameError) as caught:
        split_frame(octets, 0, frame_octets_max)
    assert (501, True) == (caught.value.reply_code, caught.value.hard)
    return caught.value


def test_a_frame_is_its_type_channel_length_payload_and_end():
    assert bytes.fromhex("03 0102 00000003 616263 ce") == frame(BODY, 0x0102, b"abc")
    assert bytes.fromhex("08 0000 00000000 ce") == HEARTBEAT_FRAME == frame(HEARTBEAT, 0, b"")
    assert b"AMQP\x00\x00\x09\x01" == PROTOCOL_HEADER


def test_the_heartbeat_is_pamqps():
    assert heartbeat.Heartbeat().marshal() == HEARTBEAT_FRAME


@given(st.binary(max_size=300), st.integers(0, 65_535), st.binary(max_size=20), st.binary(max_size=20))
def test_a_frame_is_found_wherever_it_stands(body, channel, before, after):
    octets = before + frame(BODY, channel, body) + after
    start = len(before) + 7
    assert (BODY, channel, start, start + len(body)) == split_frame(octets, len(before), MAX)


@given(st.binary(min_size=1, max_size=50))
def test_pamqp_reads_our_body_frames(body):
    octets = frame(BODY, 7, body)
    consumed, channel, read = pamqp_frame.unmarshal(octets)
    assert (len(octets), 7, body) == (consumed, channel, read.value)


def test_no_prefix_of_a_frame_is_a_frame():
    octets = frame(METHOD, 1, b"\x00\x3c\x00\x50" + bytes(9))
    assert [None] * len(octets) == [split_frame(octets[:n], 0, MAX) for n in range(len(octets))]


def test_a_length_above_frame_max_is_refused_before_the_payload_comes():
    """Texts and the eight octets of indulgence are RabbitMQ's (rabbit_reader:handle_input)."""
    huge = b"\x01\x00\x00\xff\xff\xff\xff"
    assert "type 1, all octets = <<>>: {frame_too_large,4294967295,131064}" == refused(huge).text
    assert "type 71, all octets = <<>>: {frame_too_large,539959368,4088}" == refused(b"GET / HTTP/1.1", 4096).text
    assert split_frame(frame(BODY, 1, bytes(MAX)), 0, MAX) == (BODY, 1, 7, 7 + MAX)
    assert "{frame_too_large,131073,131064}" in refused(frame(BODY, 1, bytes(MAX + 1))).text


def test_frame_max_zero_means_no_limit():
    assert (BODY, 1, 7, 7 + 200_000) == split_frame(frame(BODY, 1, bytes(200_000)), 0, 0)
    assert split_frame(b"\x03\x00\x01\xff\xff\xff\xff", 0, 0) is None


def test_a_wrong_frame_end_is_refused_with_what_came():
    octets = frame(METHOD, 1, b"\x00\x0a\x00\x0b")[:-1]
    assert "type 1, all octets = <<0,10,0,11>>: {invalid_frame_end_marker,0}" == refused(octets + b"\x00").text
    octets = frame(BODY, 1, b"abcdefghijklmnopqrstuvwxyz")[:-1]
    text = 'type 3, first 16 octets = <<"abcdefghijklmnop">>: {invalid_frame_end_marker,205}'
    assert text == refused(octets + b"\xcd").text


@pytest.mark.parametrize("kind", [0, 4, 7, 9, 65, 255])
def test_an_unknown_type_is_refused(kind):
    assert f"type {kind}, all octets = <<1,2>>: unknown_frame" == refused(frame(kind, 1, b"\x01\x02")).text


@pytest.mark.parametrize(("kind", "payload"), [(METHOD, b"\x00\x0a\x00"), (2, b"\x00" * 11), (HEARTBEAT, b"\x00")])
def test_a_payload_too_short_or_long_for_its_type_is_an_unknown_frame(kind, payload):
    assert refused(frame(kind, 0, payload)).text.endswith(": unknown_frame")


def test_an_unexpected_frame_is_505():
    fault = unexpected_frame(HEARTBEAT, b"")
    assert (505, "type 8, all octets = <<>>") == (fault.reply_code, fault.text)
    assert 'type 3, first 16 octets = <<"aaaaaaaaaaaaaaaa">>' == unexpected_frame(BODY, b"a" * 100).text
