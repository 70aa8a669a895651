"""Queues count what became of their messages."""

import pytest
from pamqp.commands import Basic

from tests.fakes import World


@pytest.fixture
def peer():
    return World().connect()


def fates(peer, name="q"):
    found = peer.world.vhost.queues[name].fates
    return {name: getattr(found, name) for name in found.__slots__ if getattr(found, name)}


def fill(peer, count, name="q"):
    for _ in range(count):
        peer.publish("", name, b"1")
    peer.world.run()


def test_what_consumers_do_with_messages(peer):
    peer.declare("q")
    fill(peer, 5)
    peer.consume("q", tag="c")
    peer.world.run()
    peer.send(Basic.Nack(delivery_tag=2, multiple=True, requeue=False))
    peer.send(Basic.Reject(delivery_tag=3, requeue=True))
    peer.send(Basic.Ack(delivery_tag=4))
    peer.world.run()
    assert fates(peer) == {"rejected": 2, "requeued": 1}
    peer.disconnect()
    assert fates(peer) == {"rejected": 2, "requeued": 3}


def test_dead_letters_by_any_reason(peer):
    peer.declare("dead")
    peer.declare("q", {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead", "x-max-length": 1})
    fill(peer, 3)
    peer.get("q", no_ack=False)
    peer.send(Basic.Reject(delivery_tag=1, requeue=False))
    peer.world.run()
    assert fates(peer) == {"rejected": 1, "dead_lettered": 3}


def test_what_a_delivery_limit_ends(peer):
    peer.declare("q", {"x-queue-type": "quorum", "x-delivery-limit": 0}, durable=True)
    fill(peer, 1)
    peer.get("q", no_ack=False)
    peer.send(Basic.Reject(delivery_tag=1, requeue=True))
    peer.world.run()
    assert fates(peer) == {"requeued": 1, "over_limit": 1}


def test_what_a_full_queue_refuses_and_what_is_purged(peer):
    peer.declare("q", {"x-max-length": 2, "x-overflow": "reject-publish"})
    fill(peer, 5)
    queue = peer.world.vhost.queues["q"]
    queue.purge()
    assert fates(peer) == {"refused": 3, "purged": 2}
    fill(peer, 1)
    peer.world.vhost.delete_queue(queue)
    assert queue.fates.purged == 2
