"""Messages that match go, from wherever they are; the others stay in their order."""

import pytest

from pybroker.run import RunAttributes
from tests.contents import content
from tests.core.disk_log import DiskBench, shrink
from tests.core.moving import bodies, finish, numbered
from tests.topology import queue as make_queue, wired

PERSISTENT = RunAttributes(persistent=True)


def publish(bench, count: int, attributes=PERSISTENT) -> None:
    """Publish numbered messages, of which each third has the header."""
    for number in range(count):
        run = bench.publish(b"%02d" % number, attributes=attributes)
        headers = {"kind": "a" if number % 3 == 0 else "b"}
        run.contents[:] = [content(b"%02d" % number, headers=headers)]
        if isinstance(bench, DiskBench):
            bench.log.records[run.first_seq] = run.part(range(1))
    if isinstance(bench, DiskBench):
        bench.log.complete(bench.broker)
        bench.turn()


@pytest.mark.parametrize("on_disk", [False, True])
def test_those_that_match_go_and_the_others_stay(monkeypatch, bench, target, on_disk):
    if on_disk:
        shrink(monkeypatch)
        bench = DiskBench()
        target = make_queue(bench.vhost, "b")
    publish(bench, 30)
    assert bool(bench.queue.backlog.messages_evicted) == on_disk
    move = finish(bench, bench.broker.moves.to_queue(bench.queue, target, where={"headers": [("kind", "a")]}))
    assert (10, None, 10, 20) == (move.messages, move.stop, target.messages_ready, bench.queue.messages_ready)
    reader = bench.reader(no_ack=True)
    for _ in range(50):
        bench.turn()
        if on_disk:
            bench.settle_down()
    assert [1 + number for number in range(30) if number % 3] == reader.seqs
    if on_disk:
        assert (set(), 10) == (bench.log.live[bench.queue.id], len(bench.log.live[target.id]))


def test_a_number_and_a_rate_hold_for_those_that_match(bench, target):
    publish(bench, 30, RunAttributes())
    where = {"headers": [("kind", "a")]}
    begin_ms = bench.now_ms
    finish(bench, bench.broker.moves.to_queue(bench.queue, target, where=where, messages_max=4, rate=2))
    assert [b"00", b"03", b"06", b"09"] == bodies(target)
    assert 1_400 <= bench.now_ms - begin_ms <= 2_600


def test_old_ones_go(bench, target):
    bench.publish(*numbered(3))
    bench.broker.clock.advance(10_000)
    bench.publish(*numbered(2))
    where = {"arrived_before_ms": bench.now_ms - 5_000}
    finish(bench, bench.broker.moves.to_queue(bench.queue, target, where=where))
    assert (numbered(3), numbered(2)) == (bodies(target), bodies(bench.queue))


def test_what_left_meanwhile_is_not_moved(bench, target):
    publish(bench, 9, RunAttributes())
    move = bench.broker.moves.to_queue(bench.queue, target, where={"headers": [("kind", "a")]}, rate=1)
    reader = bench.reader(prefetch=4)
    finish(bench, move)
    assert ([1, 2, 3, 4], [b"06"]) == (reader.seqs, bodies(target))
    assert 4 == bench.queue.messages_ready


def test_each_level_of_priority_is_looked_at(bench):
    source = make_queue(bench.vhost, "p", wired(x_max_priority=3))
    target = make_queue(bench.vhost, "q", wired(x_max_priority=3))
    bench.queue = source
    for priority in (0, 3, 1):
        bench.publish(b"00", attributes=RunAttributes(priority=priority))
    finish(bench, bench.broker.moves.to_queue(source, target, where={"text": "00"}))
    assert [3, 1, 0] == [level.priority for level in target.backlog.levels if level.count]
    assert 0 == source.messages_ready
