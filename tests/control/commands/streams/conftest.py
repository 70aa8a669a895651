"""Streams with something in them."""

import pytest
from pamqp import commands

from tests.control.made_stream import make_stream
from tests.stream_peer import StreamPeer


class Ticking(list):
    """Pauses of a command in which time passes: a stream's messages move to its files."""

    def __init__(self, world):
        self.world = world

    def append(self, seconds):
        super().append(seconds)
        self.world.advance(1_000)


@pytest.fixture
def stream(world, operator):
    operator.pauses = Ticking(world)
    return make_stream(world)


@pytest.fixture
def publish(peer, stream):
    """Return what publishes messages with these bodies, each in a turn of its own."""

    def publish(*bodies, **properties):
        for body in bodies:
            peer.publish("", "s", body, **properties)

    return publish


@pytest.fixture
def consume(peer):
    """Return what reads the stream from the first message on, without an acknowledgement."""

    def consume(tag, prefetch):
        peer.call(commands.Basic.Qos(prefetch_count=prefetch))
        arguments = {"x-stream-offset": "first"}
        peer.send(commands.Basic.Consume(queue="s", consumer_tag=tag, arguments=arguments))
        peer.inbox[1].clear()

    return consume


@pytest.fixture
def client(world, stream):
    """A client of the stream protocol that publishes to the stream, by a name too, and reads it."""
    client = StreamPeer(world)
    client.declare(publisher_id=1)
    client.declare(publisher_id=2, reference="writer")
    client.subscribe(subscription_id=7, credit=2)
    for number in range(3):
        client.publish(b"%d" % number, publisher_id=2, first_id=number + 1)
    return client
