"""One heap of what is due: each queue is looked at in time, and the heap does not grow."""

import random

import pytest

from pybroker.core.queue.expiry import DELETION_COST
from pybroker.core.queue.timers import SWEEP_ABOVE, TURN_COST
from tests.readers import Bench
from tests.topology import new_vhost


def test_nothing_is_due_where_nothing_has_a_time():
    bench = Bench()
    bench.flood(3)
    assert 0 == bench.broker.timers.next_ms


def test_the_first_due_is_known():
    vhost = new_vhost()
    late, soon = Bench(vhost, "late", x_message_ttl=500), Bench(vhost, "soon", x_message_ttl=100)
    late.flood(1)
    soon.flood(1)
    assert soon.now_ms + 100 == vhost.broker.timers.next_ms
    vhost.broker.timers.run(soon.now_ms + 99)
    assert ([1], [2]) == (late.ready(), soon.ready())
    vhost.broker.timers.run(soon.now_ms + 100)
    assert ([1], []) == (late.ready(), soon.ready())
    assert soon.now_ms + 500 == vhost.broker.timers.next_ms


def test_each_head_in_turn_sets_the_next_time():
    bench = Bench(x_message_ttl=100)
    for _ in range(5):
        bench.flood(1)
        bench.broker.clock.advance(10)
    for left in range(5, 0, -1):
        assert left == len(bench.ready())
        due = bench.broker.timers.next_ms
        bench.broker.clock.advance(due - bench.now_ms)
        bench.broker.timers.run(due)
    assert [] == bench.ready()


def test_an_earlier_time_of_the_same_queue_comes_first_and_the_later_one_is_kept():
    bench = Bench(x_message_ttl=100, x_expires=1_000)
    bench.queue.touch()
    bench.flood(1)
    assert bench.now_ms + 100 == bench.broker.timers.next_ms
    bench.advance(100)
    assert [] == bench.ready()
    bench.advance(899)
    assert not bench.queue.deleted
    bench.advance(1)
    assert bench.queue.deleted


def test_a_queue_with_a_far_and_many_near_times_does_not_fill_the_heap():
    bench = Bench(x_message_ttl=10, x_expires=315_000_000_000)
    bench.queue.touch()
    for _ in range(1_000):
        bench.flood(1)
        bench.advance(10)
    assert len(bench.broker.timers._heap) <= 2 + SWEEP_ABOVE


def test_deleted_queues_do_not_wait_in_the_heap_for_a_time_that_means_nothing():
    vhost = new_vhost()
    for i in range(1_000):
        bench = Bench(vhost, f"q{i}", x_expires=3_600_000)
        bench.queue.touch()
        vhost.delete_queue(bench.queue)
    assert len(vhost.broker.timers._heap) <= 2 + SWEEP_ABOVE


@pytest.mark.parametrize("sweep_above", [0, SWEEP_ABOVE])
def test_any_order_of_times_is_served_in_time(monkeypatch, sweep_above):
    monkeypatch.setattr("pybroker.core.queue.timers.SWEEP_ABOVE", sweep_above)
    dice = random.Random(11)
    vhost = new_vhost()
    benches = [Bench(vhost, f"q{i}", x_message_ttl=dice.randrange(1, 400)) for i in range(60)]
    due = {}
    for _ in range(3):
        for bench in benches:
            bench.flood(1)
            ttl = bench.queue.limits.message_ttl_ms
            due.setdefault(bench, []).append(bench.now_ms + ttl)
        vhost.broker.clock.advance(dice.randrange(50))
        vhost.broker.timers.run(vhost.broker.clock.now_ms)
    while any(due.values()):
        now_ms = vhost.broker.timers.next_ms
        vhost.broker.clock.advance(max(0, now_ms - vhost.broker.clock.now_ms))
        now_ms = vhost.broker.clock.now_ms
        vhost.broker.timers.run(now_ms)
        for bench, times in due.items():
            times[:] = [time for time in times if time > now_ms]
            assert len(times) == len(bench.ready())
    assert 0 == vhost.broker.timers.next_ms


@pytest.mark.parametrize("sweep_above", [0, SWEEP_ABOVE])
def test_what_is_left_after_a_sweep_is_served_in_time(monkeypatch, sweep_above):
    monkeypatch.setattr("pybroker.core.queue.timers.SWEEP_ABOVE", sweep_above)
    dice = random.Random(5)
    vhost = new_vhost()
    due = {}
    for i in range(300):
        bench = Bench(vhost, f"q{i}", x_expires=dice.randrange(1, 4_000))
        bench.queue.touch()
        due[bench.queue] = bench.queue.expires_at_ms
    for queue in dice.sample(list(due), 250):
        vhost.delete_queue(queue)
        del due[queue]
    while due:
        now_ms = vhost.broker.timers.next_ms
        assert now_ms <= min(due.values())
        vhost.broker.timers.run(now_ms)
        due = {queue: time for queue, time in due.items() if time > now_ms}
        assert all(queue.deleted == (queue not in due) for queue in due)
    assert {} == vhost.queues


def test_very_many_that_are_due_at_once_are_looked_at_in_shares():
    vhost = new_vhost()
    benches = [Bench(vhost, f"q{number}", x_expires=100) for number in range(600)]
    for bench in benches:
        bench.queue.touch()
    vhost.broker.clock.advance(100)
    turns = 0
    while vhost.broker.timers.next_ms:
        before = len(vhost.queues)
        assert vhost.broker.timers.next_ms <= vhost.broker.clock.now_ms
        vhost.broker.timers.run(vhost.broker.clock.now_ms)
        assert 0 < before - len(vhost.queues) <= TURN_COST // DELETION_COST
        turns += 1
    assert (0, True) == (len(vhost.queues), turns > 1)
