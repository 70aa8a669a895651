"""A step keeps all that a message is but its seq and its arrival, and no target gets more than it has room for."""

import pytest

from pybroker.core.events.cause import BROKER
from pybroker.run import RunAttributes
from tests.core.disk_log import DiskBench, DiskLog
from tests.core.moving import bodies, finish, numbered
from tests.readers import Bench
from tests.topology import queue as make_queue, wired


def test_properties_names_and_priorities_stay_and_the_time_of_arrival_is_new(bench):
    target = make_queue(bench.vhost, "b", wired(x_max_priority=5))
    attributes = RunAttributes(persistent=True, priority=3, ttl_ms=60_000)
    old = bench.publish(*numbered(2), attributes=attributes)
    bench.advance(1_000)
    finish(bench, bench.broker.moves.to_queue(bench.queue, target))
    entry = target.backlog.head()
    assert entry is not None
    assert (old.names, attributes, old.contents) == (
        entry.run.names,
        entry.run.attributes,
        entry.run.contents_at(entry.indexes),
    )
    assert bench.now_ms - entry.run.arrived_ms < 1_000
    assert entry.run.first_seq > old.first_seq
    assert 3 == target.backlog.levels[0].priority


@pytest.mark.parametrize("overflow", ["drop-head", "reject-publish", "reject-publish-dlx"])
@pytest.mark.parametrize(("limit", "left"), [({"x_max_length": 3}, 4), ({"x_max_length_bytes": 7}, 4)])
def test_a_full_target_loses_nothing_and_ends_it(bench, overflow, limit, left):
    target = make_queue(bench.vhost, "b", wired(x_overflow=overflow, **limit))
    bench.publish(*numbered(5))
    bench.publish(*numbered(2))
    move = finish(bench, bench.broker.moves.to_queue(bench.queue, target))
    assert (3, left, numbered(3)) == (move.messages, bench.queue.messages_ready, bodies(target))
    assert move.stop is not None
    assert ("queue 'b' in vhost '/' is full", True) == move.stop
    assert (0, 0) == (target.dropped, len(bench.broker.dead_letters))


def test_a_target_with_a_consumer_has_room_for_what_it_takes(bench):
    target = Bench(bench.vhost, "b", x_max_length=2)
    reader = target.reader()
    bench.publish(*numbered(5))
    move = finish(bench, bench.broker.moves.to_queue(bench.queue, target.queue))
    assert (5, None, 5) == (move.messages, move.stop, len(reader.seqs))


def test_a_queue_that_refuses_its_own_publisher_takes_what_is_moved(bench, target):
    run = bench.publish(*numbered(2))
    run.origin = target.refused_origin = 7
    finish(bench, bench.broker.moves.to_queue(bench.queue, target))
    assert 2 == target.messages_ready


def test_copies_in_another_log_are_there_before_the_originals_are_settled():
    bench = DiskBench()
    target = make_queue(bench.vhost, "b")
    target.use_log(DiskLog())
    bench.fill(3)
    for _ in bench.broker.moves.to_queue(bench.queue, target).run(lambda _: None, BROKER):
        pass
    assert (0, 3, 3) == (bench.queue.messages_ready, target.messages_ready, len(bench.log.live[bench.queue.id]))
    bench.broker.log_completed(target.log.commit_position, target.log)
    assert set() == bench.log.live[bench.queue.id]
