"""No frame that leaves is above what was negotiated with its receiver, whatever the leeway of the one who sent it.

`FakePeer.read` fails at a longer one.
"""

import pytest
from pamqp import body, commands, header

from tests.fakes import Basic

SMALL = 4_096


@pytest.fixture
def peer(world):
    peer = world.connect(frame_octets_max=SMALL)
    peer.declare("q")
    return peer


def leeway(peer, key: str = "q", count: int = 1, octets: int = 2 * SMALL, **flags) -> bytes:
    """Publish with body frames of `SMALL` octets without their own eight, which RabbitMQ lets pass; return the body."""
    content = bytes(i % 251 for i in range(octets))
    frames = [commands.Basic.Publish(0, "", key, **flags), header.ContentHeader(0, octets, Basic.Properties())]
    frames += [body.ContentBody(content[at : at + SMALL]) for at in range(0, octets, SMALL)]
    for _ in range(count):
        peer.send(*frames)
    return content


@pytest.mark.parametrize("octets", [SMALL - 8, SMALL - 7, SMALL, 3 * SMALL])
def test_in_get(peer, octets):
    content = leeway(peer, octets=octets, count=2)
    assert [content, content] == [message.body for message in peer.drain("q")]


def test_in_deliveries_on_the_same_channel_and_another(world, peer):
    peer.open(2)
    content = leeway(peer, count=3)
    peer.consume("q", channel=2)
    assert [content] * 3 == peer.bodies(2)
    peer.send(Basic.Nack(0, multiple=True, requeue=True), channel=2)
    assert [content] * 3 == peer.bodies(2)


def test_in_deliveries_to_a_peer_with_smaller_frames(world, peer):
    large = world.connect(frame_octets_max=2 * SMALL)
    content = bytes(10 * SMALL)
    large.publish("", "q", content)
    assert content == peer.get("q").body


def test_in_returns(peer):
    content = leeway(peer, "nowhere", mandatory=True)
    (returned,) = peer.take()
    assert (312, content) == (returned.method.reply_code, returned.body)


def test_in_direct_replies(world, peer):
    peer.consume("amq.rabbitmq.reply-to", no_ack=True)
    peer.publish("", "q", b"question", reply_to="amq.rabbitmq.reply-to")
    server = world.connect(frame_octets_max=SMALL)
    content = leeway(server, server.get("q").properties.reply_to)
    assert [content] == peer.bodies()


def test_in_dead_letters(world, peer):
    peer.declare("dying", {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q"})
    content = leeway(peer, "dying")
    peer.get("dying", no_ack=False)
    peer.send(Basic.Reject(1, requeue=False))
    assert content == peer.get("q").body
