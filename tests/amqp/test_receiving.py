"""Octets in: what is complete is done, what is not waits, what is wrong is answered."""

import pytest
from fakes import PROTOCOL_HEADER, Basic, Channel, Connection, Queue, World
from pamqp import frame

from pybroker.amqp.receiving import JOIN_OCTETS

HEARTBEAT = b"\x08\x00\x00\x00\x00\x00\x00\xce"


def octets(*frames, channel: int = 1) -> bytes:
    return b"".join(frame.marshal(f, channel) for f in frames)


def close_of(peer) -> tuple[int, str]:
    peer.world.run()
    close = peer.take(0)[-1]
    assert isinstance(close, Connection.Close), close
    return close.reply_code, close.reply_text


def test_half_a_frame_waits_for_the_other_half(world, peer):
    whole = octets(Queue.Declare(queue="q"))
    peer.send_octets(whole[:-1])
    world.run()
    assert peer.take() == []
    peer.send_octets(whole[-1:])
    world.run()
    assert isinstance(peer.next(), Queue.DeclareOk)
    assert peer.session.rest == b""


@pytest.mark.parametrize("cut", [1, 5, 8, 30, 200, JOIN_OCTETS])
def test_a_chunk_may_be_cut_anywhere(world, peer, cut):
    peer.declare("q")
    data = octets(*[f for i in range(40) for f in peer.publish_frames("", "q", b"%d" % i * 5_000)])
    peer.send_octets(data[:cut])
    peer.send_octets(data[cut:])
    world.run()
    assert [m.body for m in peer.drain("q")] == [b"%d" % i * 5_000 for i in range(40)]


def test_a_heartbeat_may_stand_between_any_frames(world, peer):
    peer.declare("q")
    frames = [octets(f) for f in peer.publish_frames("", "q", b"m")]
    peer.send_octets(HEARTBEAT + HEARTBEAT.join(frames) + HEARTBEAT)
    assert peer.get("q").body == b"m"


def test_a_heartbeat_on_a_channel_is_505(peer):
    peer.send_octets(b"\x08\x00\x01\x00\x00\x00\x00\xce")
    assert close_of(peer)[0] == 505


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\x01\x00\x01\x00\x00\x00\x04\x00\x0a\x00\x0a\xcd", 501),  # a wrong frame-end
        (b"\x01\x00\x01\xff\xff\xff\xff", 501),  # a length above frame_max, before a single octet is kept
        (b"\x01\x00\x01\x00\x00\x00\x03\x00\x0a\x00\xce", 501),  # too short for a method
        (b"\x07\x00\x01\x00\x00\x00\x00\xce", 501),  # a type that does not exist
        (b"\x02\x00\x00\x00\x00\x00\x0e\x00\x3c" + bytes(12) + b"\xce", 505),  # a content header on channel 0
    ],
)
def test_octets_that_are_no_amqp_are_answered_with_a_hard_error(peer, data, code):
    peer.send_octets(data)
    assert close_of(peer)[0] == code
    assert peer.session.closing


def test_nothing_above_the_initial_frame_max_is_taken_before_tune(world):
    peer = world.peer()
    peer.send_octets(PROTOCOL_HEADER)
    world.run()
    peer.take(0)
    peer.send_octets(b"\x01\x00\x00" + (8_193).to_bytes(4))
    assert close_of(peer)[0] == 501


def test_a_channel_cannot_be_used_before_the_connection_is_open(world):
    peer = world.peer()
    peer.send_octets(PROTOCOL_HEADER + octets(Channel.Open()))
    assert close_of(peer)[0] == 505


def test_methods_out_of_their_state_are_504(world):
    peer = world.peer()
    peer.send_octets(PROTOCOL_HEADER + octets(Connection.Open("/"), channel=0))
    assert close_of(peer) == (504, "CHANNEL_ERROR - unexpected method in connection state starting")


def test_a_method_that_only_we_may_send_is_refused(peer):
    assert peer.error(Basic.CancelOk("t"))[0] == 503


def test_after_a_framing_error_nothing_more_is_understood(world, peer):
    peer.send_octets(b"\x07\x00\x01\x00\x00\x00\x00\xce" + octets(Queue.Declare(queue="q")))
    world.run()
    assert "q" not in world.vhost.queues
    peer.send_octets(octets(Queue.Declare(queue="q")))
    world.run()
    assert "q" not in world.vhost.queues


@pytest.mark.parametrize("data", [b"A", b"AMQ", PROTOCOL_HEADER[:7]])
def test_a_protocol_header_may_come_in_pieces(data):
    world = World()
    peer = world.peer()
    peer.send_octets(data)
    world.run()
    assert peer.take(0) == []
    peer.send_octets(PROTOCOL_HEADER[len(data) :])
    world.run()
    assert isinstance(peer.next(0), Connection.Start)


def test_a_wrong_first_octet_is_enough_to_refuse(world):
    peer = world.peer()
    peer.send_octets(b"GET")
    world.run()
    assert peer.take(0) == [PROTOCOL_HEADER]
    assert peer.session.finished
