"""Contents that come frame by frame, and what a channel does with acks."""

import pytest
from pamqp import body, frame, header

from tests.fakes import Basic, Channel, Connection, Queue

EXPECTED_HEADER = "UNEXPECTED_FRAME - expected content header for class 60, got non content header frame instead"
EXPECTED_BODY = "UNEXPECTED_FRAME - expected content body, got non content body frame instead"
EXPECTED_METHOD = "UNEXPECTED_FRAME - expected method frame, got non method frame instead"
PUBLISH = Basic.Publish(0, "", "q")


def closed(peer) -> tuple[int, str, int, int]:
    close = peer.next(0)
    assert isinstance(close, Connection.Close), close
    return close.reply_code, close.reply_text, close.class_id, close.method_id


def test_a_content_may_come_in_any_number_of_pieces(world, peer):
    peer.declare("q")
    octets = b"".join(frame.marshal(f, 1) for f in peer.publish_frames("", "q", b"0123456789" * 100))
    for at in range(0, len(octets), 7):
        peer.send_octets(octets[at : at + 7])
    assert peer.get("q").body == b"0123456789" * 100


def test_contents_of_two_channels_may_be_interleaved(peer):
    peer.declare("q")
    peer.open(2)
    frames = {number: peer.publish_frames("", "q", b"of %d" % number) for number in (1, 2)}
    for one, two in zip(frames[1], frames[2], strict=True):
        peer.send_octets(frame.marshal(one, 1) + frame.marshal(two, 2))
    assert [m.body for m in peer.drain("q")] == [b"of 1", b"of 2"]


def test_methods_of_another_channel_may_come_between(peer):
    peer.declare("q")
    peer.open(2)
    head, *rest = [frame.marshal(f, 1) for f in peer.publish_frames("", "q", b"m")]
    peer.send_octets(head)
    assert isinstance(peer.call(Queue.Declare(queue="other"), 2), Queue.DeclareOk)
    peer.send_octets(b"".join(rest))
    assert peer.get("q").body == b"m"


def test_bodies_may_be_of_any_size_and_empty(peer):
    peer.declare("q")
    bodies = [body.ContentBody(octets) for octets in (b"ab", b"c", b"", b"def")]
    peer.send(PUBLISH, header.ContentHeader(0, 6, Basic.Properties()), *bodies)
    assert peer.get("q").body == b"abcdef"


@pytest.mark.parametrize(
    ("frames", "text"),
    [
        ([PUBLISH, Basic.Qos()], EXPECTED_HEADER),
        ([PUBLISH, body.ContentBody(b"x")], EXPECTED_HEADER),
        ([PUBLISH, header.ContentHeader(0, 5, Basic.Properties()), Basic.Qos()], EXPECTED_BODY),
        ([PUBLISH, *[header.ContentHeader(0, 5, Basic.Properties())] * 2], EXPECTED_BODY),
        ([body.ContentBody(b"x")], EXPECTED_METHOD),
        ([header.ContentHeader(0, 5, Basic.Properties())], EXPECTED_METHOD),
    ],
)
def test_frames_out_of_turn_are_505(peer, frames, text):
    peer.declare("q")
    peer.send(*frames)
    assert closed(peer)[:2] == (505, text)


@pytest.mark.parametrize("extra", [1, 1_000])
def test_a_body_longer_than_announced_is_505(world, peer, extra):
    peer.declare("q")
    peer.send(PUBLISH, header.ContentHeader(0, 5, Basic.Properties()), body.ContentBody(bytes(5 + extra)))
    assert closed(peer)[0] == 505
    assert world.vhost.queues["q"].messages_ready == 0


def test_a_header_of_another_class_is_505(peer):
    octets = bytearray(frame.marshal(header.ContentHeader(0, 0, Basic.Properties()), 1))
    octets[7:9] = (50).to_bytes(2)
    peer.send_octets(frame.marshal(PUBLISH, 1) + bytes(octets))
    peer.world.run()
    text = "UNEXPECTED_FRAME - expected content header for class 60, got one for class 50 instead"
    assert closed(peer) == (505, text, 60, 40)


def test_a_body_above_the_maximum_is_not_kept(world, peer):
    world.broker.settings.message_octets_max = 100
    peer.declare("q")
    peer.send(PUBLISH, header.ContentHeader(0, 101, Basic.Properties()))
    close = peer.next(1)
    assert isinstance(close, Channel.Close)
    assert close.reply_code == 406
    peer.send(body.ContentBody(bytes(101)))
    assert peer.take(1) == peer.take(0) == []


def test_a_channel_closed_in_the_middle_of_a_content_forgets_it(world, peer):
    peer.declare("q")
    peer.send_octets(frame.marshal(PUBLISH, 1))
    peer.disconnect()
    assert world.vhost.queues["q"].messages_ready == 0
    assert peer.session.assembling == 0


def test_acks_that_come_together_settle_a_range_and_report_the_first_unknown(world, peer):
    peer.declare("q")
    peer.send(*(peer.publish_frames("", "q", b"m") * 5))
    peer.consume("q")
    peer.take()
    peer.send(*[Basic.Ack(tag) for tag in (1, 2, 3, 4, 5, 6)])
    assert peer.next(1).reply_text == "PRECONDITION_FAILED - unknown delivery tag 6"
    assert world.vhost.queues["q"].messages == 0


def test_a_channel_is_called_after_its_connection(peer):
    assert repr(peer.session.channels[1]) == f"channel 1 of {peer.session.name}"


def test_the_heir_of_a_single_active_consumer_is_served_when_its_channel_goes(world, peer):
    peer.declare("q", {"x-single-active-consumer": True})
    heir = world.connect()
    peer.consume("q", no_ack=True)
    heir.consume("q", no_ack=True)
    assert peer.call(Channel.Flow(active=False)).active is False
    heir.publish("", "q", b"m")
    assert peer.take() == heir.take() == []
    assert isinstance(peer.call(Channel.Close(200, "", 0, 0)), Channel.CloseOk)
    assert heir.bodies() == [b"m"]
