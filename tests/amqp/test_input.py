"""Octets in: limits before memory is spent, frames at the wrong time, and what is still understood after an error."""

import random

import pytest
from pamqp import frame as pamqp_frame

from tests.fakes import PROTOCOL_HEADER, Channel, Connection, FakePeer, World
from tests.streams import BODY, HEADER, METHOD, ack, content_frames, frame, publish, publish_frame

CLOSE_OK = frame(METHOD, 0, b"\0\x0a\0\x33")
START_OK = pamqp_frame.marshal(Connection.StartOk({"capabilities": {}}, "PLAIN", "\0guest\0guest"), 0)
TUNE_OK = pamqp_frame.marshal(Connection.TuneOk(2_047, 131_072, 0), 0)
STATES = {
    "header": b"",
    "starting": PROTOCOL_HEADER,
    "tuning": PROTOCOL_HEADER + START_OK,
    "opening": PROTOCOL_HEADER + START_OK + TUNE_OK,
}


def closed_with(peer: FakePeer) -> tuple[int, str]:
    """Return code and text of the connection.close, which is the last thing that came."""
    peer.world.run()
    close = peer.take(0)[-1]
    assert isinstance(close, Connection.Close), close
    return close.reply_code, close.reply_text


def in_state(world: World, state: str) -> FakePeer:
    peer = world.peer()
    if STATES[state]:
        peer.send_octets(STATES[state])
    world.run()
    assert state == peer.session.state
    return peer


# -- before the handshake is over -------------------------------------------------------------------------------------


@pytest.mark.parametrize("octets", [b"GET / HTTP/1.1\r\n", b"X", b"AMQP\0\0\x09\x00", b"AMQX", b"\x16\x03\x01"])
def test_a_wrong_header_is_answered_at_its_first_wrong_octet(world, octets):
    peer = world.peer()
    peer.send_octets(octets)
    world.run()
    assert ([PROTOCOL_HEADER], True) == (peer.take(0), peer.session.finished)


def test_a_handshake_that_comes_at_once_is_read_frame_by_frame(world):
    peer = world.peer()
    peer.send_octets(STATES["opening"])
    seen = [str(peer.session.state)]
    while peer.session.input_pending:
        peer.session.receive(b"")
        seen.append(str(peer.session.state))
    assert seen == ["starting", "tuning", "opening"]


def test_half_a_header_waits_for_the_other_half(world):
    peer = world.peer()
    for octet in PROTOCOL_HEADER[:-1]:
        peer.send_octets(bytes([octet]))
    world.run()
    assert ([], "header") == (peer.take(0), peer.session.state)
    peer.send_octets(PROTOCOL_HEADER[-1:])
    world.run()
    assert isinstance(peer.next(0), Connection.Start)


@pytest.mark.parametrize("state", ["starting", "tuning"])
def test_a_frame_above_4_kib_is_refused_by_its_head_before_tune_ok(world, state):
    # RabbitMQ 3.13, rabbit_reader.erl: application:get_env(rabbit, initial_frame_max, ?FRAME_MIN_SIZE), which is 4096.
    peer = in_state(world, state)
    peer.send_octets(b"\x01\0\0" + (4_097).to_bytes(4))
    assert (501, "FRAME_ERROR - type 1, all octets = <<>>: {frame_too_large,4097,4088}") == closed_with(peer)


def test_a_frame_of_4_kib_is_read(world):
    peer = in_state(world, "starting")
    head = frame(METHOD, 0, b"\0\x0a\0\x0b" + b"\0" * 4_092)[:-1]
    peer.send_octets(head)
    world.run()
    assert "starting" == peer.session.state
    assert len(head) == len(peer.session.rest)


@pytest.mark.parametrize("state", ["starting", "tuning", "opening"])
def test_nothing_but_channel_0_before_open(world, state):
    peer = in_state(world, state)
    peer.send_octets(frame(METHOD, 1, b"\0\x14\0\x0a\0"))
    assert (505, "UNEXPECTED_FRAME - type 1, all octets = <<0,20,0,10,0>>") == closed_with(peer)


@pytest.mark.parametrize("state", ["starting", "tuning", "opening"])
def test_methods_come_in_their_order(world, state):
    peer = in_state(world, state)
    wrong = TUNE_OK if state != "tuning" else pamqp_frame.marshal(Connection.Open("/"), 0)
    peer.send_octets(wrong)
    assert (504, f"CHANNEL_ERROR - unexpected method in connection state {state}") == closed_with(peer)


def test_after_tune_ok_the_agreed_limit_counts(world):
    peer = world.connect(frame_octets_max=4_096)
    peer.send_octets(b"\x03\0\x01" + (4_097).to_bytes(4))
    assert (501, "FRAME_ERROR - type 3, all octets = <<>>: {frame_too_large,4097,4088}") == closed_with(peer)


def test_no_input_in_any_state_raises(world):
    dice = random.Random(4)
    for _ in range(600):
        state = dice.choice([*STATES, "running"])
        peer = world.connect() if state == "running" else in_state(world, state)
        octets = dice.choice(
            [dice.randbytes(40), frame(dice.choice([1, 2, 3, 8, 9]), dice.choice([0, 1]), dice.randbytes(30))]
        )
        for _ in range(3):
            peer.session.receive(octets)
        world.run()
        peer.disconnect()
    assert {} == world.broker.sessions


# -- contents ---------------------------------------------------------------------------------------------------------


def test_a_body_above_the_maximum_is_refused_by_its_header_and_no_octet_kept(world):
    world.broker.settings.message_octets_max = 1_000
    peer = world.connect()
    peer.declare("q")
    method, header = publish_frame(1, "", "q"), content_frames(1, b"x" * 1_001)[0]
    peer.send_octets(method + header)
    world.run()
    close = peer.next()
    assert (406, "PRECONDITION_FAILED - message size 1001 is larger than configured max size 1000") == (
        close.reply_code,
        close.reply_text,
    )
    assert peer.session.channels[1].assembly is None
    for _ in range(5):
        peer.send_octets(frame(BODY, 1, b"x" * 100_000))
    assert b"" == peer.session.rest
    assert 0 == peer.session.assembling


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (b"H", "expected method frame, got non method frame instead"),
        (b"B", "expected method frame, got non method frame instead"),
        (b"MM", "expected content header for class 60, got non content header frame instead"),
        (b"MB", "expected content header for class 60, got non content header frame instead"),
        (b"MHM", "expected content body, got non content body frame instead"),
        (b"MHH", "expected content body, got non content body frame instead"),
        (b"MHL", "content body is longer than its header announced"),
    ],
)
def test_frames_of_a_content_come_in_their_order(world, peer, octets, text):
    header, body = content_frames(1, b"1234")
    kinds = {"M": publish_frame(1, "", "q"), "H": header, "B": body, "L": frame(BODY, 1, b"12345")}
    peer.send_octets(b"".join(kinds[chr(octet)] for octet in octets))
    assert (505, f"UNEXPECTED_FRAME - {text}") == closed_with(peer)


@pytest.mark.parametrize(
    ("octets", "method"), [(b"H", (0, 0)), (b"B", (0, 0)), (b"MM", (60, 40)), (b"MHH", (60, 40)), (b"MHM", (60, 40))]
)
@pytest.mark.parametrize("channel", [1, 5])
def test_a_frame_out_of_turn_is_told_with_the_method_it_belongs_to(peer, octets, method, channel):
    # Compared with RabbitMQ 3.10.8: a content without a method belongs to none, on an open channel and another.
    if octets[0] == 77 and channel == 5:
        peer.open(5)
    header, body = content_frames(channel, b"1234")
    kinds = {"M": publish_frame(channel, "", "q"), "H": header, "B": body}
    peer.send_octets(b"".join(kinds[chr(octet)] for octet in octets))
    peer.world.run()
    close = peer.next(0)
    assert (505, *method) == (close.reply_code, close.class_id, close.method_id)


def test_a_content_header_of_another_class_is_505(peer):
    peer.send_octets(publish_frame(1, "", "q") + frame(HEADER, 1, b"\0\x3d\0\0" + b"\0" * 10))
    text = "UNEXPECTED_FRAME - expected content header for class 60, got one for class 61 instead"
    assert (505, text) == closed_with(peer)


def test_contents_of_two_channels_may_interleave(world, peer):
    peer.open(2)
    peer.declare("q")
    frames = [
        [publish_frame(channel, "", "q"), *content_frames(channel, b"%d" % channel * 6, piece=2)] for channel in (1, 2)
    ]
    peer.send_octets(b"".join(one + other for one, other in zip(*frames, strict=True)))
    world.run()
    assert {b"111111", b"222222"} == {message.body for message in peer.drain("q")}


def test_a_publish_that_a_chunk_cuts_is_one_of_the_run(world, peer):
    peer.declare("q")
    one = publish(1, "", "q", b"body")
    peer.send_octets(one)
    for cut in range(len(publish_frame(1, "", "q")), len(one)):
        peer.send_octets(one * 3 + one[:cut])
        assert (0, cut) == (peer.session.assembling, len(peer.session.rest))
        peer.send_octets(one[cut:])
        assert not peer.session.rest
    queue = world.vhost.queues["q"]
    assert [4 * (len(one) - len(publish_frame(1, "", "q"))) + 1] == [len(entry) for entry in queue.backlog.levels[0]]


def test_a_channel_that_failed_in_the_middle_of_a_content_leaves_the_scanner_to_the_others(world, peer):
    peer.open(2)
    peer.declare("q")
    peer.send_octets(publish_frame(2, "missing", "") + content_frames(2, b"x" * 10, piece=5)[0])
    assert 1 == peer.session.assembling
    peer.send_octets(frame(BODY, 2, b"x" * 10) + publish(1, "", "q", b"a") * 3)
    world.run()
    assert isinstance(peer.next(2), Channel.Close)
    assert (0, 3) == (peer.session.assembling, world.vhost.queues["q"].messages_ready)


# -- channels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("octets", [ack(2, 1), publish_frame(2, "", "q")])
def test_what_comes_on_a_channel_that_is_not_open_is_504(peer, octets):
    peer.send_octets(octets)
    assert (504, "CHANNEL_ERROR - expected 'channel.open'") == closed_with(peer)


def test_g9_one_channel_above_the_agreed_number_is_530(world):
    peer = world.connect(channel_max=3)
    peer.open(7)
    peer.open(3)
    peer.send(Channel.Open(), channel=4)
    text = "NOT_ALLOWED - number of channels opened (3) has reached the negotiated channel_max (3)"
    assert (530, text) == closed_with(peer)


def test_heartbeats_belong_on_channel_0(peer):
    peer.send_octets(frame(8, 0, b""))
    peer.world.run()
    assert [] == peer.take(0)
    peer.send_octets(frame(8, 1, b""))
    assert (505, "UNEXPECTED_FRAME - type 8, all octets = <<>>") == closed_with(peer)


@pytest.mark.parametrize("kind", [HEADER, BODY])
def test_contents_do_not_belong_on_channel_0(peer, kind):
    peer.send_octets(frame(kind, 0, b"\0\x3c" + b"\0" * 12))
    text = "UNEXPECTED_FRAME - type {}, all octets = <<0,60,0,0,0,0,0,0,0,0,0,0,0,0>>"
    assert (505, text.format(kind)) == closed_with(peer)


def test_what_comes_after_our_channel_close_is_ignored_until_its_answer(world, peer):
    peer.declare("q")
    peer.send_octets(publish(1, "missing", "", b"x"))
    world.run()
    assert isinstance(peer.next(), Channel.Close)
    peer.send_octets(publish(1, "", "q", b"a") * 3 + ack(1, 5) + publish_frame(1, "", "q"))
    peer.send_octets(content_frames(1, b"12")[1] + frame(METHOD, 1, b"\0\x14\0\x29"))
    world.run()
    assert ([], 0) == (peer.take(), world.vhost.queues["q"].published)
    peer.open(1)
    peer.publish("", "q", b"b")
    assert [b"b"] == [message.body for message in peer.drain("q")]


# -- after a hard error -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [0, 1, 5, 11, 30, 60])
def test_close_ok_is_understood_whatever_the_peer_had_sent_before_it_knew(world, peer, cut):
    # A flooding publisher is in the middle of a frame when our connection.close reaches it.
    flood = publish(1, "", "q", b"x" * 20) * 4
    octets = ack(9, 1) + flood + CLOSE_OK
    peer.send_octets(octets[: 21 + cut])
    world.run()
    assert 504 == peer.take(0)[-1].reply_code
    assert ("closing", False) == (peer.session.state, peer.session.finished)
    peer.send_octets(octets[21 + cut :])
    assert ("closed", True) == (peer.session.state, peer.session.finished)


@pytest.mark.parametrize("cut", [0, 1, 5, 11, 30])
def test_close_ok_is_understood_after_an_operators_close(world, peer, cut):
    octets = publish(1, "", "q", b"x" * 20) + CLOSE_OK
    peer.send_octets(octets[:cut])
    peer.session.close(320, "bye")
    world.run()
    assert (320, "CONNECTION_FORCED - bye") == closed_with(peer)
    peer.send_octets(octets[cut:])
    assert peer.session.finished


def test_while_closing_errors_are_no_news(world, peer):
    peer.send_octets(ack(9, 1) + ack(8, 1) + frame(8, 1, b"") + frame(METHOD, 0, b"\0\x0a\0\x63") + frame(BODY, 0, b""))
    world.run()
    assert [504] == [close.reply_code for close in peer.take(0)]
    peer.send_octets(CLOSE_OK)
    assert peer.session.finished


def test_after_octets_that_are_no_frames_nothing_is_read_any_more(world, peer):
    peer.send_octets(b"\xff" * 8)
    assert 501 == closed_with(peer)[0]
    for _ in range(3):
        peer.send_octets(b"\xff" * 1_000)
    world.run()
    assert (b"", False, []) == (peer.session.rest, peer.session.finished, peer.take(0))
    world.advance(10_000)
    assert peer.session.finished


def test_nothing_is_done_for_a_connection_that_is_closing(world, peer):
    peer.declare("q", durable=True)
    peer.send_octets(ack(9, 1) + publish(1, "", "q", b"late"))
    peer.send_octets(publish(1, "", "q", b"later"))
    assert 0 == world.vhost.queues["q"].published


def test_a_connection_close_may_follow_anything_in_one_chunk(world, peer):
    peer.declare("q", durable=True)
    close = pamqp_frame.marshal(Connection.Close(200, "", 0, 0), 0)
    peer.send_octets(publish(1, "", "q", b"a") * 3 + close + publish(1, "", "q", b"no more"))
    world.run()
    assert isinstance(peer.take(0)[-1], Connection.CloseOk)
    assert (3, True) == (world.vhost.queues["q"].published, peer.session.finished)


@pytest.mark.parametrize(
    ("octets", "name"), [(b"\x16\x03\x01\x02\x00\x01\x00\x01", "a TLS handshake"), (b"GET / HT", "plain HTTP")]
)
def test_another_protocol_is_named_once_a_minute_for_each_address(octets, name, caplog):
    world = World()
    for address in ("192.0.2.1", "192.0.2.1", "192.0.2.2"):
        peer = FakePeer(world, peer=(address, 7))
        peer.send_octets(octets)
        world.run()
        assert peer.session.finished
    lines = [line for line in caplog.messages if f": {name} instead of the header of AMQP 0-9-1" in line]
    assert [line.partition("(")[2].partition(":")[0] for line in lines] == ["192.0.2.1", "192.0.2.2"]
