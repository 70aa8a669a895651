"""Bodies around every peer's frame_max, in frames of any size, to peers with other limits: byte by byte the same."""

import pytest
from pamqp import commands

BODY = bytes(range(251)) * 550
LIMITS = (4_096, 8_192, 131_072)


def fan_out(broker, limits):
    """Return one consumer a limit, each with its own queue bound to amq.fanout."""
    peers = [broker.peer(frame_octets_max=limit) for limit in limits]
    for peer in peers:
        queue = peer.call(commands.Queue.Declare(exclusive=True), commands.Queue.DeclareOk).queue
        peer.call(commands.Queue.Bind(queue=queue, exchange="amq.fanout"), commands.Queue.BindOk)
        peer.call(commands.Basic.Consume(queue=queue, no_ack=True), commands.Basic.ConsumeOk)
    return peers


@pytest.mark.parametrize("limit", LIMITS)
def test_bodies_of_frame_max_minus_9_to_plus_9_reach_three_queues_unchanged(broker, limit):
    consumers = fan_out(broker, (limit, limit, limit))
    with broker.peer(frame_octets_max=limit) as publisher:
        for octets in range(limit - 9, limit + 10):
            publisher.publish("amq.fanout", "", BODY[:octets])
            for consumer in consumers:
                got = consumer.read_delivery()
                assert BODY[:octets] == got.body
                assert -(-octets // (limit - 8)) == len(got.frame_octets)
        publisher.close()
    for consumer in consumers:
        consumer.close()


@pytest.mark.parametrize("publisher_limit", LIMITS)
@pytest.mark.parametrize("piece_octets", [1_000, 4_088, 8_184, 131_064])
def test_every_peer_gets_frames_within_its_own_limit(broker, publisher_limit, piece_octets):
    if piece_octets > publisher_limit - 8:
        pytest.skip("the publisher may not send such frames")
    consumers = fan_out(broker, LIMITS)
    with broker.peer(frame_octets_max=publisher_limit) as publisher:
        for octets in (0, 1, 4_087, 4_088, 4_089, 8_184, 8_185, 130_000, 131_064, 131_065, 138_000):
            publisher.publish("amq.fanout", "", BODY[:octets], piece_octets=piece_octets)
            for consumer in consumers:
                assert BODY[:octets] == consumer.read_delivery().body  # read_delivery checks the frames' sizes
        publisher.close()
    for consumer in consumers:
        consumer.close()


@pytest.mark.parametrize("channel", [2, 255, 256, 2_047])
def test_a_delivery_on_another_channel_carries_that_channels_number(broker, channel):
    with broker.peer() as peer:
        queue = peer.call(commands.Queue.Declare(exclusive=True), commands.Queue.DeclareOk).queue
        peer.call(commands.Channel.Open(), commands.Channel.OpenOk, channel=channel)
        peer.publish("", queue, BODY)
        peer.publish("", queue, b"")
        peer.send(commands.Basic.Consume(queue=queue, no_ack=True), channel)
        frames = [peer.read_frame() for _ in range(1 + 2 + 2 + 2)]
        peer.close()
    assert {channel} == {got.channel for got in frames}
    assert b"".join(got.payload for got in frames if got.type == 3) == BODY


def test_a_frame_declared_longer_than_agreed_is_refused_before_it_is_sent(broker):
    """The length alone decides, no octet of the payload follows. As in RabbitMQ a payload may be as long as a frame."""
    with broker.peer(frame_octets_max=4_096) as peer:
        peer.socket.sendall(b"\x01\0\x01" + (4_097).to_bytes(4))
        closed = peer.expect(commands.Connection.Close)
    assert closed.reply_code == 501
