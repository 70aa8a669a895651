"""Deliveries as octets: which frames a peer gets for a run."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from pybroker.amqp.consumer import HEADS_MAX, with_delivery_count
from pybroker.content_view import property_octets, with_properties
from pybroker.wire import properties
from pybroker.wire.table import Table, encode_table
from tests.fakes import Basic, Content, Queue
from tests.streams import content_frames, props


@pytest.mark.parametrize("tag", ["t", "x" * 255, "é" * 100])
@pytest.mark.parametrize("key", ["q", "k" * 255])
def test_every_delivery_says_who_and_from_where(world, peer, tag, key):
    from tests.fakes import Queue

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
    from tests.fakes import Queue

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


QUEUES = {"classic": {}, "quorum": {"x-queue-type": "quorum"}, "priorities": {"x-max-priority": 5}}
queues = pytest.mark.parametrize("arguments", QUEUES.values(), ids=QUEUES)


@queues
def test_every_queue_tells_how_often_it_delivered(peer, arguments):
    peer.declare("q", arguments, durable=True)
    peer.publish("", "q", b"m", headers={"mine": 1})
    for expected in ({"mine": 1}, {"mine": 1, "x-delivery-count": 1}, {"mine": 1, "x-delivery-count": 2}):
        content = peer.get("q", no_ack=False)
        assert content.headers == expected
        peer.send(Basic.Nack(content.method.delivery_tag, requeue=True))
    peer.consume("q")
    (content,) = peer.take()
    assert (content.method.redelivered, content.headers) == (True, {"mine": 1, "x-delivery-count": 3})


def test_messages_of_one_run_keep_their_own_headers(world, peer):
    peer.declare("q")
    sent = [{}, {"a": 1}, {"a": 1}, {"x-delivery-count": 7}, {}, {"b": "é"}]
    peer.send(*[f for i, h in enumerate(sent) for f in peer.publish_frames("", "q", b"%d" % i, headers=h or None)])
    peer.consume("q")
    assert [message.headers for message in peer.take()] == sent
    peer.send(Basic.Recover(requeue=True))
    peer.inbox[1].pop(0)  # recover-ok
    again = peer.take()
    assert [message.headers for message in again] == [header | {"x-delivery-count": 1} for header in sent]
    assert [message.body for message in again] == [b"%d" % i for i in range(6)]


def test_all_other_octets_of_a_second_delivery_are_as_they_were():
    headers = encode_table(
        {"zz": Decimal("1.5"), "aa": [1, None, {"k": 2.5}], "when": datetime(2020, 1, 1, tzinfo=UTC)}
    )
    octets = props(content_type="text/plain", headers=Table(), message_id="m", timestamp=1_577_836_800)
    octets = properties.replace_headers(octets, headers)
    before = b"".join(content_frames(3, b"body", octets))
    (after,) = with_delivery_count([before], 5, 0)
    table = properties.find_headers(property_octets(after))
    assert table is not None
    assert table[4:].startswith(headers[4:])
    assert table[len(headers) :] == b"\x10x-delivery-countl" + (5).to_bytes(8)
    assert with_properties(after, octets) == before


def test_a_header_that_fits_no_frame_with_the_count_goes_without_it(world, peer):
    reader = world.connect(frame_octets_max=4_096)
    peer.declare("q")
    for size in (4_000, 4_040):
        peer.publish("", "q", b"m", headers={"h": "x" * size})
    for expected in ([None, None], [1, None]):
        messages = [reader.get("q", no_ack=False) for _ in range(2)]
        assert [message.headers.get("x-delivery-count") for message in messages] == expected
        reader.send(Basic.Nack(0, multiple=True, requeue=True))


def test_heads_of_very_many_lengths_of_names_are_not_all_kept(world, peer):
    peer.declare("q")
    peer.call(Queue.Bind(queue="q", exchange="amq.fanout", routing_key=""))
    peer.consume("q", no_ack=True)
    for length in range(200):
        peer.publish("amq.fanout", "k" * length)
    (consumer,) = peer.session.channels[1].consumers.values()
    assert len(consumer._heads) <= HEADS_MAX
    assert ["k" * length for length in range(200)] == [message.method.routing_key for message in peer.take()]
