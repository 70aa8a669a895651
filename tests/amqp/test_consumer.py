"""Deliveries as octets: which frames a peer gets for a run."""

import pytest
from fakes import Basic, Content, Queue

from pybroker.amqp.consumer import HEADS_MAX


@pytest.mark.parametrize("tag", ["t", "x" * 255, "é" * 100])
@pytest.mark.parametrize("key", ["q", "k" * 255])
def test_every_delivery_says_who_and_from_where(world, peer, tag, key):
    from fakes import Queue

    peer.declare("q")
    peer.call(Queue.Bind(queue="q", exchange="amq.fanout"))
    reader = world.connect()
    reader.send(Basic.Consume(queue="q", consumer_tag=tag, no_ack=True))
    reader.take()
    for i in range(3):
        peer.publish("amq.fanout", key, b"%d" % i)
    methods = [content.method for content in reader.take()]
    assert [(m.consumer_tag, m.delivery_tag, m.exchange, m.routing_key, m.redelivered) for m in methods] == [
        (tag, i + 1, "amq.fanout", key, False) for i in range(3)
    ]


def test_names_of_different_length_in_turn(peer):
    peer.declare("q")
    peer.consume("q", no_ack=True)
    from fakes import Queue

    peer.call(Queue.Bind(queue="q", exchange="amq.topic", routing_key="#"))
    keys = ["a", "longer.key", "a", "", "x" * 200]
    peer.send(*[f for key in keys for f in peer.publish_frames("amq.topic", key, key.encode())])
    assert [(m.method.routing_key, m.body.decode()) for m in peer.take()] == [(key, key) for key in keys]


@pytest.mark.parametrize("size", [0, 100, 4_088, 4_089, 9_000, 50_000])
def test_contents_are_cut_anew_for_a_smaller_frame_max(world, peer, size):
    reader = world.connect(frame_octets_max=4_096)
    peer.declare("q")
    reader.consume("q", no_ack=True)
    octets = bytes(i % 251 for i in range(size))
    peer.publish("", "q", octets, headers={"h": "v"})
    (content,) = reader.take()  # FakePeer refuses frames above what it negotiated
    assert (content.body, content.headers) == (octets, {"h": "v"})


def test_a_delivery_carries_the_channel_it_goes_to(peer):
    peer.declare("q")
    for number in (300, 65_000 % 2_047):
        peer.open(number)
        peer.publish("", "q", b"m")
        content = peer.get("q", channel=number)
        assert isinstance(content, Content)
        assert content.body == b"m"


def test_a_quorum_queue_tells_how_often_it_delivered(peer):
    peer.declare("q", {"x-queue-type": "quorum"}, durable=True)
    peer.publish("", "q", b"m", headers={"mine": 1})
    for expected in ({"mine": 1}, {"mine": 1, "x-delivery-count": 1}, {"mine": 1, "x-delivery-count": 2}):
        content = peer.get("q", no_ack=False)
        assert content.headers == expected
        peer.send(Basic.Nack(content.method.delivery_tag, requeue=True))


def test_a_classic_queue_does_not(peer):
    peer.declare("q")
    peer.publish("", "q", b"m")
    peer.get("q", no_ack=False)
    peer.send(Basic.Nack(1, requeue=True))
    again = peer.get("q")
    assert (again.method.redelivered, again.headers) == (True, {})


def test_heads_of_very_many_lengths_of_names_are_not_all_kept(world, peer):
    peer.declare("q")
    peer.call(Queue.Bind(queue="q", exchange="amq.fanout", routing_key=""))
    peer.consume("q", no_ack=True)
    for length in range(200):
        peer.publish("amq.fanout", "k" * length)
    (consumer,) = peer.session.channels[1].consumers.values()
    assert len(consumer._heads) <= HEADS_MAX
    assert ["k" * length for length in range(200)] == [message.method.routing_key for message in peer.take()]
