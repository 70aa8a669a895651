"""Ages are read off runs; an evicted head is read for it, and unacknowledged messages are found by their channels."""

import pytest

from pybroker.core.queue import age
from pybroker.core.queue.paging import eviction
from tests.fakes import World


@pytest.fixture
def world():
    return World()


def test_the_head_is_as_old_as_its_arrival(world):
    peer = world.connect()
    peer.declare("q")
    queue = world.vhost.queues["q"]
    assert queue.head_age_ms is None
    peer.publish("", "q", b"1")
    world.advance(1_500)
    peer.publish("", "q", b"2")
    assert queue.head_age_ms == 1_500
    peer.get("q")
    assert queue.head_age_ms == 0


def test_what_comes_back_is_as_old_as_before(world):
    peer = world.connect()
    peer.declare("q")
    peer.publish("", "q", b"1")
    peer.get("q", no_ack=False)
    world.advance(5_000)
    queue = world.vhost.queues["q"]
    assert (queue.head_age_ms, world.broker.ages.oldest_unacknowledged([queue], print)) == (
        None,
        {queue: 5_000},
    )
    peer.disconnect()
    assert (queue.head_age_ms, world.broker.ages.oldest_unacknowledged([queue], print)) == (5_000, {})


def test_a_head_that_is_evicted_is_waited_for(world, monkeypatch):
    peer = world.connect()
    peer.declare("q")
    peer.publish("", "q", b"1")
    queue = world.vhost.queues["q"]
    (level,) = queue.backlog.levels
    entry, pauses = level.ready.popleft(), []
    monkeypatch.setattr(eviction, "peek", lambda *_: None)

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            level.ready.append(entry)

    world.clock.advance(700)
    assert world.broker.ages.older([queue], 1, pause) == [age.Aged(queue, True, 700)]
    assert len(pauses) == 3
    level.ready.clear()
    assert world.broker.ages.older([queue], 1, lambda _: None) == []
