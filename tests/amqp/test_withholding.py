"""Paused queues are foreseen before an exchange learns of a message; the flows show what peers see."""

import pytest

from pybroker.amqp import withholding
from tests.fakes import Queue, World
from tests.flows.pausing import PUBLISH, REFUSE, declare, pause, ready


@pytest.fixture
def world():
    return World()


@pytest.fixture
def peer(world):
    return world.connect()


def test_a_message_is_foreseen_where_it_would_go_and_counted_once(world, peer, monkeypatch):
    declare(peer, "q")
    peer.call(Queue.Bind(queue="q", exchange="amq.headers", routing_key="", arguments={"to": "q"}))
    seen = []
    foreseen = withholding.foreseen
    monkeypatch.setattr(withholding, "foreseen", lambda *given: seen.append(foreseen(*given)) or seen[-1])
    pause(world, **PUBLISH)
    peer.publish("amq.headers", "", b"x", headers={"to": "q"})
    exchange = world.vhost.exchanges["amq.headers"]
    assert [[queue.name for queue in queues] for queues in seen] == [["q"]]
    assert (ready(world), exchange.publish_in, exchange.publish_out) == (0, 0, 0)


def test_a_refusal_is_logged_with_its_queue(world, peer, caplog):
    declare(peer, "q")
    pause(world, **REFUSE)
    peer.publish("", "q", b"x")
    assert ready(world) == 0
    assert "Publishes to queue 'q' in vhost '/' are refused: it is paused" in caplog.text
