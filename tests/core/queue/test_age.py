"""Ages are read off runs; an evicted head is read for it, and unacknowledged messages are found by their channels."""

import pytest

from pybroker.core.queue import age
from pybroker.core.queue.paging import eviction
from tests.core.disk_log import DiskBench, on_disk, shrink
from tests.fakes import Basic, World


@pytest.fixture
def world():
    return World()


def test_the_head_is_as_old_as_its_arrival(world):
    peer = world.connect()
    peer.declare("q")
    queue = world.vhost.queues["q"]
    assert world.broker.ages.head_ms(queue) is None
    peer.publish("", "q", b"1")
    world.advance(1_500)
    peer.publish("", "q", b"2")
    assert world.broker.ages.head_ms(queue) == 1_500
    peer.get("q")
    assert world.broker.ages.head_ms(queue) == 0


def test_what_comes_back_is_as_old_as_before(world):
    peer = world.connect()
    peer.declare("q")
    peer.publish("", "q", b"1")
    peer.get("q", no_ack=False)
    world.advance(5_000)
    queue = world.vhost.queues["q"]
    assert (world.broker.ages.head_ms(queue), world.broker.ages.oldest_unacknowledged([queue], print)) == (
        None,
        {queue: 5_000},
    )
    peer.disconnect()
    assert (world.broker.ages.head_ms(queue), world.broker.ages.oldest_unacknowledged([queue], print)) == (5_000, {})


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


def test_the_age_of_an_evicted_head_is_known_without_a_read(monkeypatch):
    shrink(monkeypatch)
    bench = DiskBench()
    broker = bench.broker
    bench.fill(2)
    broker.clock.advance(3_000)
    broker.tick()
    bench.fill(20)
    broker.clock.advance(2_000)
    broker.tick()
    (level,) = bench.queue.backlog.levels
    while level.head() is not None and level.head().first_seq < 3:
        bench.queue.backlog.remove_head(level, 1)
    level.ready.clear()
    assert bench.queue.backlog.messages_evicted
    for _ in range(3):
        assert (broker.ages.head_ms(bench.queue), broker.ages.known_head_ms(bench.queue)) == (2_000, 2_000)
    assert bench.log.asked == 0


def test_a_head_from_before_the_start_is_read_only_for_those_who_ask(monkeypatch):
    shrink(monkeypatch)
    bench = DiskBench()
    bench.log.next_seq = 100
    bench.broker.ages.start()
    bench.queue.restore([(0, False, on_disk(bench, range(1, 20)))], 0)
    assert (bench.broker.ages.head_ms(bench.queue), bench.log.asked) == (None, 0)
    assert (bench.broker.ages.known_head_ms(bench.queue), bench.log.asked) == (None, 1)
    bench.settle_down()
    assert bench.broker.ages.head_ms(bench.queue) is not None
    assert bench.log.asked == 1


def test_the_oldest_unacknowledged_messages_of_all_queues_are_searched_for_once(world):
    peer = world.connect()
    for name in ("a", "b", "c"):
        peer.declare(name)
        peer.publish("", name, b"1")
        world.advance(1_000)
    tags = [peer.get(name, no_ack=False).method.delivery_tag for name in ("a", "b")]
    ages, queues = world.broker.ages, [world.vhost.queues[name] for name in ("a", "b", "c")]
    assert [*map(ages.unacknowledged_ms, queues)] == [None] * 3
    ages.search(print)
    assert [*map(ages.unacknowledged_ms, queues)] == [3_000, 2_000, None]
    peer.send(Basic.Ack(tags[0]))
    world.clock.advance(500)
    ages.search(print)
    assert [*map(ages.unacknowledged_ms, queues)] == [None, 2_500, None]
    peer.get("c", no_ack=False)
    world.clock.advance(500)
    ages.search(print)
    assert [*map(ages.unacknowledged_ms, queues)] == [None, 3_000, 2_000]
