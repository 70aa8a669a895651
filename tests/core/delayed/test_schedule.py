"""The parts of a schedule that no client sees; what clients see is in flows/test_delayed.py and on disk beside it."""

import pytest

from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.delayed import schedule as schedules
from pybroker.core.routing.publish import enqueue, names_of
from pybroker.run import PLAIN_ATTRIBUTES, Run
from pybroker.wire.properties import Properties, encode_properties
from tests.topology import exchange, new_vhost, wired


@pytest.fixture
def schedule():
    vhost = new_vhost()
    x = exchange(vhost, "x", "x-delayed-message", wired(x_delayed_type="fanout"))
    return x.schedule


def content_of(body, **headers):
    octets = encode_properties(Properties(headers=wired(**headers)))
    head = b"\2\0\1" + (12 + len(octets)).to_bytes(4) + bytes(4) + len(body).to_bytes(8) + octets + b"\xce"
    return head + b"\3\0\1" + len(body).to_bytes(4) + body + b"\xce"


def put(schedule, *delays):
    broker = schedule.vhost.broker
    contents = [content_of(b"m", x_delay=delay) for delay in delays]
    seq = broker.log.take(len(contents))
    now_ms = broker.clock.now_ms
    names = names_of("x", "k")
    run = Run(names, PLAIN_ATTRIBUTES, seq, contents, sum(map(len, contents)), len(contents), 1, now_ms)
    enqueue(broker.log, run, range(len(contents)), [schedule], NO_RECEIPT)


def test_a_run_may_have_many_delays(schedule):
    put(schedule, 30, 10, 20)
    clock = schedule.vhost.broker.clock
    assert [] == schedule.first(9)
    clock.advance(20)
    assert [2, 3] == [each.seq for each in schedule.first(9)]
    assert [2] == [each.seq for each in schedule.first(1)]
    assert [2, 3, 1] == [each.seq for each in schedule.first(9, 10)]


def test_the_timer_is_set_to_what_is_due_first(schedule):
    timers, clock = schedule.vhost.broker.timers, schedule.vhost.broker.clock
    put(schedule, 5_000)
    assert clock.now_ms + 5_000 == timers.next_ms
    put(schedule, 9_000)
    assert clock.now_ms + 5_000 == timers.next_ms
    put(schedule, 2_000)
    assert clock.now_ms + 2_000 == timers.next_ms


def test_a_timer_is_never_set_too_far_ahead(schedule):
    put(schedule, 1 << 60)
    broker = schedule.vhost.broker
    assert broker.clock.now_ms + schedules.TIMER_MS_MAX == broker.timers.next_ms


def test_what_waits_is_counted_in_memory(schedule):
    assert 0 == schedule.index_octets
    put(schedule, 5, 5, 5)
    assert 3 * 120 == schedule.index_octets
    memory_usage = schedule.vhost.broker.memory_usage(lambda _: None)
    assert memory_usage.contents > 3 * 40
    assert memory_usage.entries > 3 * 120


def test_a_deleted_one_is_forgotten_a_share_at_a_time(schedule, monkeypatch):
    monkeypatch.setattr(schedules, "FORGET_MESSAGES", 2)
    put(schedule, 5, 5, 5)
    schedule.discard()
    schedule.discard()
    pump = schedule.vhost.broker.pump
    left = []
    while schedule.vhost.broker.turn.queues:
        left.append(len(schedule.cache.runs))
        pump()
    assert ([3, 1], {}) == (left, schedule.cache.runs)


def test_its_name_says_whose_it_is(schedule):
    assert "schedule of exchange 'x' in vhost '/'" == repr(schedule)
