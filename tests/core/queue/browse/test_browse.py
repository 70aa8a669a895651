"""Browsing a queue: what is shown, what is left alone, and how it ends."""

import gc

import pytest
from pamqp import commands

from pybroker.core.queue.browse import browse as module, window
from pybroker.core.queue.browse.browse import browse
from pybroker.core.queue.browse.browsed import READY, UNACKNOWLEDGED
from pybroker.run import RunAttributes, held
from tests.core.disk_log import DiskBench, evicted_seqs, shrink
from tests.core.paged import PagedBench, paged_seqs, shrink as shrink_pages
from tests.fakes import World
from tests.readers import Bench


def seqs(bench, **options):
    """Browse to the end; the disk answers when it is waited for."""
    rest = getattr(bench, "settle_down", bench.turn)
    found = browse(bench.queue, pause=lambda _: rest(), **options)
    return [message.seq for message in found if message is not None]


def figures(queue):
    backlog = queue.backlog
    return (
        backlog.messages_ready,
        backlog.messages_evicted,
        backlog.octets_evicted,
        backlog.disk_reads,
        queue.delivered,
        queue.got,
        queue.redelivered,
        queue.expires_at_ms,
    )


def test_evicted_messages_are_read_and_stay_evicted(monkeypatch):
    shrink(monkeypatch)
    bench = DiskBench()
    bench.fill(30)
    before, away = figures(bench.queue), evicted_seqs(bench)
    assert list(range(1, 31)) == seqs(bench)
    assert list(range(30, 0, -1)) == seqs(bench, start="tail")
    assert (before, away) == (figures(bench.queue), evicted_seqs(bench))


def test_paged_messages_are_read_and_their_page_stays_until_then(monkeypatch):
    shrink_pages(monkeypatch)
    bench = PagedBench(durable=False)
    for _ in range(12):
        bench.publish(b"abc")
    for _ in range(9):
        bench.page()
    assert paged_seqs(bench)
    steps = browse(bench.queue, pause=lambda _: None)
    pages = bench.pages.log.pages
    assert next(message for message in steps if message is None or message.seq > 3) is None
    bench.queue.purge()
    assert 0 < bench.pages.log.pages <= pages, "it is being read"
    bench.pages.worker.run()
    rest = [message.seq for message in steps if message is not None]
    bench.rest()
    assert rest
    assert 0 == bench.pages.log.pages
    assert [] == bench.pages.unreadable


def test_levels_come_by_priority_and_a_browse_goes_on_where_another_ended(monkeypatch):
    monkeypatch.setattr(window, "WINDOW_MESSAGES", 2)
    bench = Bench(x_max_priority=5)
    for priority in (1, 5, 1, 5, 0):
        bench.publish(b"x", attributes=RunAttributes(priority=priority))
    assert [2, 4, 1, 3, 5] == seqs(bench)
    assert [4, 1, 3, 5] == seqs(bench, start=(5, 3))
    assert [3, 5] == seqs(bench, start=(1, 2))
    assert [3, 1, 4, 2] == seqs(bench, start=(1, 4), backwards=True)


def test_unreadable_messages_are_left_out(monkeypatch):
    shrink(monkeypatch)
    bench = DiskBench()
    bench.fill(12)
    bench.log.unreadable = {6, 7}
    assert {6, 7}.isdisjoint(seqs(bench))
    assert 10 == len(seqs(bench))
    assert 12 == bench.queue.messages_ready


def test_memory_is_given_back_window_by_window(monkeypatch):
    shrink(monkeypatch)
    monkeypatch.setattr(window, "WINDOW_MESSAGES", 3)
    bench = DiskBench()
    bench.fill(30)
    gc.collect()  # what other tests left behind
    before, most = held.octets, 0
    for _ in browse(bench.queue, pause=lambda _: bench.settle_down()):
        most = max(most, held.octets - before)
    assert held.octets == before
    assert 0 < most < 8 * 500


def test_it_ends_with_its_queue(monkeypatch):
    shrink(monkeypatch)
    monkeypatch.setattr(window, "WINDOW_MESSAGES", 2)
    world = World()
    world.connect().declare("q")
    queue = world.vhost.queues["q"]
    bench = Bench(world.vhost, "other")
    bench.queue = queue
    bench.flood(5)
    steps = browse(queue, pause=lambda _: None)
    assert [1, 2] == [next(steps).seq, next(steps).seq]
    world.connect().call(commands.Queue.Delete(queue="q"))
    assert [None] == list(steps)


def test_what_is_on_its_way_back_is_waited_for():
    bench = Bench()
    bench.flood(2)
    bench.queue.hold()
    steps = browse(bench.queue, pause=lambda _: None)
    assert [None, None] == [next(steps), next(steps)]
    bench.queue.release()
    assert 1 == next(steps).seq
    bench.queue.hold()
    steps = browse(bench.queue, pause=lambda _: None)
    assert [None] * module.LOOKS_MAX == [next(steps) for _ in range(module.LOOKS_MAX)]
    assert 1 == next(steps).seq, "a queue may hold for long"


def test_an_unacknowledged_message_tells_whose_it_is():
    world = World()
    peer = world.connect()
    peer.declare("q")
    peer.publish("", "q", b"one")
    peer.consume("q", "me")
    world.run()
    queue = world.vhost.queues["q"]
    assert [] == [message for message in browse(queue, pause=lambda _: None) if message]
    (message,) = filter(None, browse(queue, pause=lambda _: None, states=(READY, UNACKNOWLEDGED)))
    assert ("unacknowledged", "me", 1, False) == (
        message.state,
        message.consumer.tag,
        message.channel.number,
        message.redelivered,
    )
    assert (b"one", "q", 3) == (message.body, message.names.routing_key, message.body_octets)
    assert world.clock.now_ms == message.delivered_ms


@pytest.mark.parametrize("larger", [1, 3])
def test_others_go_on_between_two_windows_of_the_size_asked_for(monkeypatch, larger):
    monkeypatch.setattr(window, "WINDOW_MESSAGES", 2)
    bench = Bench()
    bench.flood(12)
    found = [message and message.seq for message in browse(bench.queue, pause=lambda _: None, larger=larger)]
    assert found.index(None) == 2 * larger
    assert [seq for seq in found if seq] == list(range(1, 13))
