"""Connections, channels and consumers."""

from pybroker.control.objects.clients import CHANNELS, CONNECTIONS, CONSUMERS
from tests.control.objects.conftest import facts, view_of


def test_connections_are_seen_when_they_have_entered_a_virtual_host(world, peer):
    world.peer()
    assert facts(world, CONNECTIONS, "name") == [peer.session.name]
    assert facts(world, CHANNELS, "number") == [1]


def test_a_consumer_tells_its_queue_and_channel(world, peer):
    peer.declare("q")
    peer.consume("q")
    assert facts(world, CONSUMERS, "queue") == [{"name": "q", "vhost": "/"}]
    assert facts(world, CONSUMERS, "channel_details")[0]["name"] == f"{peer.session.name} (1)"


def test_consumers_of_one_queue_or_channel(world, peer):
    for name in ("q", "other"):
        peer.declare(name)
        peer.consume(name)
    view = view_of(world)

    def found(*key):
        return [each.queue.name for each in CONSUMERS.get(view, [key])]

    assert found("queue", "/", "q") == ["q"]
    assert found("channel", f"{peer.session.name} (1)") == ["q", "other"]
    assert found("queue", "/", "none") == found("queue", "none", "q") == found("channel", "none (1)") == []
