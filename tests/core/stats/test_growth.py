"""Queues out of bounds; the command's tests have the figures and sentences."""

import pytest

from pybroker.core.stats import growth
from tests.fakes import World


@pytest.fixture
def world():
    return World()


def test_others_go_on_while_very_many_queues_are_looked_at(world):
    peer = world.connect()
    for number in range(2 * growth.QUEUES_PER_SLICE + 1):
        peer.declare(f"q{number}")
    pauses = []
    queues = list(world.vhost.queues.values())
    assert world.broker.rates.too_much(queues, 3_600, 3_600, pauses.append) == []
    assert pauses == [0, 0]


def test_a_young_queue_is_not_judged_by_its_first_seconds(world):
    peer = world.connect()
    peer.declare("q")
    for _ in range(100):
        peer.publish("", "q", b"x")
    world.advance(1_000)
    queue = world.vhost.queues["q"]
    assert world.broker.rates.too_much([queue], 1, 1, print) == []
    world.advance(4_500)
    assert world.broker.rates.too_much([queue], 1, 1, print) == [growth.Growth(queue, None, None, grows=True)]


def test_a_stream_is_never_too_long(world, monkeypatch):
    peer = world.connect()
    peer.declare("s", durable=True, arguments={"x-queue-type": "stream", "x-max-length-bytes": 1})
    for _ in range(100):
        peer.publish("", "s", b"x")
    world.advance(10_000)
    assert world.broker.rates.too_much([world.vhost.queues["s"]], 3_600, 1, print) == []
