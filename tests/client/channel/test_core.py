"""The input of a channel, from a broker that may send anything."""

import queue as queues

import pytest
from pamqp import commands

from pybroker.client.errors import (
    ChannelClosed,
    ConnectionLost,
    PreconditionFailed,
    PublishUnconfirmed,
)
from pybroker.wire.frame import BODY, HEADER, frame
from tests.client.scripted import WAIT_S, in_thread


def content(body, channel=1, pieces=1):
    octets = frame(HEADER, channel, b"\0\x3c\0\0" + len(body).to_bytes(8) + b"\0\0")
    step = -(-len(body) // pieces) or 1
    return octets + b"".join(frame(BODY, channel, body[at : at + step]) for at in range(0, len(body), step))


@pytest.fixture
def ends(scripted):
    connection, peer = scripted.connect()
    return scripted.open_channel(connection, peer), peer


def consume(channel, peer, on_message):
    future = in_thread(channel.basic_consume, "q", on_message)
    tag = peer.expect(commands.Basic.Consume).consumer_tag
    peer.say(commands.Basic.ConsumeOk, consumer_tag=tag)
    return future.result(WAIT_S)


def test_g13_a_delivery_in_any_number_of_frames_and_pieces(ends):
    channel, peer = ends
    got = queues.Queue()
    tag = consume(channel, peer, got.put)
    peer.say(commands.Basic.Deliver, consumer_tag=tag, delivery_tag=1, exchange="e", routing_key="k")
    octets = content(b"abcdef", pieces=3)
    for at in range(len(octets)):  # half frames: octet by octet
        peer.socket.sendall(octets[at : at + 1])
    assert got.get(timeout=WAIT_S).body == b"abcdef"


def test_g5_a_delivery_right_behind_consume_ok_finds_its_consumer(ends):
    channel, peer = ends
    got = queues.Queue()
    future = in_thread(channel.basic_consume, "q", got.put)
    tag = peer.expect(commands.Basic.Consume).consumer_tag
    peer.say(commands.Basic.ConsumeOk, consumer_tag=tag)
    peer.say(commands.Basic.Deliver, consumer_tag=tag, delivery_tag=1)
    peer.socket.sendall(content(b"x"))
    assert got.get(timeout=WAIT_S).body == b"x"
    assert future.result(WAIT_S) == tag


def test_deliveries_to_a_consumer_that_is_gone_are_left_to_the_broker(ends):
    channel, peer = ends
    peer.say(commands.Basic.Deliver, consumer_tag="unknown", delivery_tag=1)
    peer.socket.sendall(content(b"x"))
    declaring = in_thread(channel.queue_declare, "q")
    peer.expect(commands.Queue.Declare)
    peer.say(commands.Queue.DeclareOk, queue="q")
    assert declaring.result(WAIT_S).queue == "q"


def test_g27_a_close_by_the_broker_in_the_middle_of_a_call_is_what_it_raises(ends):
    channel, peer = ends
    closed = queues.Queue()
    channel.on_close(closed.put)
    waiting = in_thread(channel.queue_declare, "q")
    declare = peer.expect(commands.Queue.Declare)
    peer.say(
        commands.Channel.Close,
        reply_code=406,
        reply_text="PRECONDITION_FAILED - inequivalent",
        class_id=declare.index >> 16,
        method_id=declare.index & 0xFFFF,
    )
    with pytest.raises(PreconditionFailed, match=r"^inequivalent$") as caught:
        waiting.result(WAIT_S)
    assert caught.value.method == (50, 10)
    peer.expect(commands.Channel.CloseOk)
    assert closed.get(timeout=WAIT_S).reply_code == 406
    with pytest.raises(ChannelClosed, match="PRECONDITION_FAILED - inequivalent"):
        channel.basic_publish("", "", b"")


def test_g27_the_end_of_the_connection_wakes_calls_and_confirms(ends):
    channel, peer = ends
    select = in_thread(channel.confirm_select)
    peer.expect(commands.Confirm.Select)
    peer.say(commands.Confirm.SelectOk)
    select.result(WAIT_S)
    confirmation = channel.publish_future("", "q", b"x")
    confirming = in_thread(channel.wait_for_confirms)
    calling = in_thread(channel.queue_declare, "q")
    peer.expect(commands.Queue.Declare)
    peer.close()
    with pytest.raises(ConnectionLost):
        calling.result(WAIT_S)
    assert confirming.exception(WAIT_S) is None  # the one open publish has a handle, which tells of it
    with pytest.raises(PublishUnconfirmed):
        confirmation.result(WAIT_S)


@pytest.mark.parametrize(
    ("octets", "code"),
    [
        (b"\x01\0\x01\0\0\0\x04\0\x32\0\x0b\xcf", 501),  # frame-end
        (b"\x01\0\x01\xff\0\0\0", 501),  # longer than agreed
        (b"\x07\0\x01\0\0\0\0\xce", 501),  # no such frame type
        (frame(BODY, 1, b"x"), 505),  # a body without a header
        (content(b"x"), 505),  # a header without a method
        (frame(BODY, 9, b"x"), 504),  # a channel that is not open
        (frame(1, 1, b"\0\x3c\0\x50\0\0"), 502),  # half an ack
        (frame(1, 1, b"\0\x32\0\x0b\x01q\0\0\0\0\0\0\0\0"), 505),  # a declare-ok that nobody waits for
        (frame(1, 0, b"\0\x14\0\x0b\0\0\0\0"), 505),  # a channel's method on channel 0
        (frame(1, 1, b"\x03\xe7\0\x0b"), 503),  # no such method
    ],
)
def test_wrong_frames_end_the_connection_with_their_code(scripted, octets, code):
    connection, peer = scripted.connect(recovery=False)
    channel = scripted.open_channel(connection, peer)
    closed = queues.Queue()
    connection.on_close(closed.put)
    if code == 502:
        select = in_thread(channel.confirm_select)
        peer.expect(commands.Confirm.Select)
        peer.say(commands.Confirm.SelectOk)
        select.result(WAIT_S)
    peer.socket.sendall(octets)
    assert closed.get(timeout=WAIT_S).reply_code == code
    assert peer.expect(commands.Connection.Close).reply_code == code
    assert connection.is_closed
