"""Heads leave in the order in which consumers would get them, and only those that were there at the beginning."""

import pytest

from pybroker.run import RunAttributes
from tests.core.disk_log import DiskBench, shrink
from tests.core.moving import bodies, finish, numbered
from tests.topology import queue as make_queue


def test_what_was_delivered_stays_and_what_came_back_goes_first(bench, target):
    bench.publish(*numbered(4))
    taken = bench.queue.get(no_ack=False)
    back = bench.queue.get(no_ack=False)
    assert taken is not None
    assert back is not None
    bench.queue.backlog.requeue([back])
    finish(bench, bench.broker.moves.to_queue(bench.queue, target))
    assert (numbered(4)[1:], 1) == (bodies(target), bench.queue.messages_unacknowledged)


def test_what_comes_while_it_moves_stays(bench, target):
    bench.publish(*numbered(3))
    move = bench.broker.moves.to_queue(bench.queue, target)
    bench.publish(*numbered(3))
    finish(bench, move)
    assert (3, 3) == (target.messages_ready, bench.queue.messages_ready)


def test_a_run_that_grew_since_is_cut(bench, target):
    run = bench.publish(*numbered(2))
    move = bench.broker.moves.to_queue(bench.queue, target)
    bench.broker.log.take(1)
    run.extend([run.content(0)], 10, 2, 2)
    bench.queue.enqueue(run, range(2, 3), None)
    finish(bench, move)
    assert (2, 1) == (target.messages_ready, bench.queue.messages_ready)


def test_expired_heads_do_not_move(bench, target):
    bench.publish(b"00", attributes=RunAttributes(ttl_ms=10))
    bench.publish(b"01")
    bench.broker.clock.advance(20)
    finish(bench, bench.broker.moves.to_queue(bench.queue, target))
    assert ([b"01"], 1) == (bodies(target), bench.queue.expired)


@pytest.mark.parametrize("size", [1, 20])
def test_what_is_on_disk_is_read_and_settled(monkeypatch, size):
    shrink(monkeypatch)
    bench = DiskBench()
    target = make_queue(bench.vhost, "b")
    bench.fill(40, size)
    assert bench.queue.backlog.messages_evicted
    move = finish(bench, bench.broker.moves.to_queue(bench.queue, target))
    assert (40, None, 40) == (move.messages, move.stop, target.messages_ready)
    assert (set(), 40) == (bench.log.live[bench.queue.id], len(bench.log.live[target.id]))
    assert (0, 0, 0) == (
        bench.queue.messages_ready,
        bench.queue.backlog.octets_ready,
        bench.queue.backlog.messages_evicted,
    )
