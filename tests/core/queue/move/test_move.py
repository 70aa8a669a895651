"""A move takes what was there when it began, keeps what a message is, and ends at the first one that cannot go."""

import pytest

from pybroker.core.events.cause import BROKER
from tests.core.disk_log import DiskBench, shrink
from tests.core.moving import finish, numbered
from tests.topology import queue as make_queue, wired


def test_a_rate_is_kept(bench, target):
    bench.publish(*numbered(50))
    begin_ms = bench.now_ms
    finish(bench, bench.broker.moves.to_queue(bench.queue, target, rate=10))
    assert 4_800 <= bench.now_ms - begin_ms <= 5_500


def test_a_target_that_keeps_nothing_is_refused(bench):
    target = make_queue(bench.vhost, "b", wired(x_message_ttl=0))
    bench.publish(*numbered(1))
    move = finish(bench, bench.broker.moves.to_queue(bench.queue, target))
    assert move.stop is not None
    assert ("queue 'b' in vhost '/' keeps no messages: its message TTL is 0", 1) == (
        move.stop.text,
        bench.queue.messages_ready,
    )


@pytest.mark.parametrize("which", ["a", "b"])
def test_a_deleted_queue_ends_it(bench, target, which):
    bench.publish(*numbered(10))
    steps = bench.broker.moves.to_queue(bench.queue, target, rate=10)
    run = steps.run(lambda _: bench.broker.clock.advance(150), BROKER)
    for _ in range(3):
        next(run)
    bench.vhost.delete_queue(bench.vhost.queues[which])
    assert [] == list(run)[1:]
    assert steps.stop is not None
    assert f"queue '{which}' in vhost '/' was deleted" == steps.stop.text
    assert 0 < steps.messages < 10


def test_an_alarm_ends_it(bench, target):
    bench.publish(*numbered(1))
    bench.broker.alarms.set("disk", "1 MB free, 50 MB required")
    move = finish(bench, bench.broker.moves.to_queue(bench.queue, target))
    assert move.stop is not None
    assert move.stop.temporary
    assert "Free disk space alarm" in move.stop.text
    assert 1 == bench.queue.messages_ready


def test_a_move_that_is_closed_leaves_the_rest(bench, target):
    bench.publish(*numbered(10))
    seen = []
    bench.broker.events.add_receiver(lambda name, facts, *_: seen.append((name, facts["messages"])))
    move = bench.broker.moves.to_queue(bench.queue, target, rate=10)
    run = move.run(lambda _: bench.broker.clock.advance(150), BROKER)
    for _ in range(4):
        next(run)
    run.close()
    assert 10 == target.messages_ready + bench.queue.messages_ready
    assert [("queue.moved", target.messages_ready)] == seen


def test_a_disk_that_does_not_answer_ends_it(monkeypatch):
    shrink(monkeypatch)
    bench = DiskBench()
    target = make_queue(bench.vhost, "b")
    bench.fill(40)
    move = bench.broker.moves.to_queue(bench.queue, target)
    for _ in move.run(lambda _: bench.broker.clock.advance(1_000), BROKER):
        pass
    assert move.stop is not None
    assert move.stop.temporary
    assert 40 == target.messages_ready + bench.queue.messages_ready
