"""Messages on their way to a page and back: meanwhile they may be taken, dropped, purged or lost."""

import errno

import pytest

from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.queue.paging import page_out as leaving_module
from pybroker.core.queue.paging.page_out import PageOut
from pybroker.run import PLAIN_ATTRIBUTES, RunAttributes
from tests.core.disk_log import PERSISTENT
from tests.core.paged import PagedBench, paged_seqs, shrink
from tests.readers import run_of, seqs
from tests.topology import queue as make_queue


@pytest.fixture
def small(monkeypatch):
    shrink(monkeypatch)


def test_what_several_queues_have_is_written_once():
    bench = PagedBench(durable=False)
    others = [make_queue(bench.vhost, name) for name in "ab"]
    for _ in range(80):
        run = run_of([b"x" * 100_000], bench.log.take(1), PLAIN_ATTRIBUTES, bench.now_ms)
        for queue in (bench.queue, *others):
            queue.enqueue(run, range(1), NO_RECEIPT)
    for _ in range(4):
        bench.page()
    away = bench.queue.backlog.messages_evicted
    assert [away, away] == [queue.backlog.messages_evicted for queue in others]
    assert 60 < away
    assert bench.pages.log.octets < 100_100 * away
    bench.queue.purge()
    others[0].purge()
    bench.rest()
    assert bench.pages.log.octets > 100_000 * away
    others[1].purge()
    bench.rest()
    assert ({}, 0) == (bench.pages.disk.files, bench.pages.log.octets)


@pytest.mark.parametrize("durable", [True, False])
def test_persistent_messages_of_a_transient_queue_are_paged_those_of_a_durable_one_are_in_the_log(small, durable):
    bench = PagedBench(durable=durable)
    for _ in range(30):
        bench.publish(b"x" * 10)
    bench.log.complete(bench.broker)
    bench.page()
    assert bench.queue.backlog.messages_evicted > 20
    assert bool(paged_seqs(bench)) is not durable
    reader = bench.reader()
    bench.rest()
    assert reader.seqs == list(range(1, 31))
    assert all(batch.run.attributes == PERSISTENT for batch in reader.channel.unacked)


def test_what_is_taken_while_its_page_is_written_is_not_evicted(small):
    bench = PagedBench(durable=False)
    bench.fill(30, attributes=PLAIN_ATTRIBUTES)
    bench.pages.hold = True
    bench.page()
    reader = bench.reader()
    bench.turn()
    assert reader.seqs == list(range(1, 31))
    bench.pages.hold = False
    bench.rest()
    assert (0, 0, {}) == (bench.queue.backlog.messages_evicted, bench.pages.log.pages, bench.pages.disk.files)


@pytest.mark.parametrize("hold", [True, False])
def test_a_purge_gives_the_disk_back(small, hold):
    bench = PagedBench(durable=False)
    bench.fill(30, attributes=PLAIN_ATTRIBUTES)
    bench.pages.hold = hold
    bench.page()
    assert 30 == bench.queue.purge()
    bench.pages.hold = False
    bench.rest()
    assert (0, 0, {}) == (bench.queue.backlog.messages_evicted, bench.pages.log.pages, bench.pages.disk.files)


def test_a_purge_while_messages_are_read_back_gives_the_disk_back(small):
    bench = PagedBench(durable=False)
    bench.fill(30, attributes=PLAIN_ATTRIBUTES)
    bench.page()
    reader = bench.reader()
    bench.turn()
    assert len(reader.seqs) < 30
    bench.queue.purge()
    bench.rest()
    assert (0, 0, {}) == (bench.queue.backlog.messages_evicted, bench.pages.log.pages, bench.pages.disk.files)


@pytest.mark.parametrize("durable", [True, False])
def test_what_is_read_back_from_a_page_after_a_purge_is_not_settled_in_the_log(small, durable):
    bench = PagedBench(durable=durable)
    bench.fill(30, attributes=PLAIN_ATTRIBUTES)
    bench.page()
    bench.reader()
    bench.turn()
    assert paged_seqs(bench)
    bench.queue.purge()
    assert bench.pages.step()  # before what was purged is forgotten, at the end of the turn
    bench.rest()  # DiskLog finds out who settles what it never had
    assert (0, 0, {}) == (bench.queue.backlog.messages_evicted, bench.pages.log.pages, bench.pages.disk.files)


def test_a_page_that_cannot_be_written_takes_nothing_back_that_was_purged_meanwhile(small, monkeypatch):
    bench = PagedBench()
    monkeypatch.setattr(leaving_module, "SHARE_PARTS", 16)
    for _ in range(10):
        bench.publish(b"x")
        bench.publish(b"x", attributes=PLAIN_ATTRIBUTES)
    bench.log.complete(bench.broker)
    bench.pages.hold = True
    bench.page()
    segments = bench.queue.backlog.levels[0].segments
    assert segments.parts
    assert any(away.page is None for away in segments.paged)
    bench.queue.purge()
    bench.broker.pump()
    assert not segments.parts
    assert segments.paged
    bench.pages.disk.fail_next("write_at", errno.ENOSPC)
    bench.pages.worker.step()
    bench.rest()
    assert (set(), 0, 0) == (bench.log.live[bench.queue.id], len(bench.broker.purge_task), bench.queue.messages)


def test_heads_that_are_dropped_unseen_give_the_disk_back(small):
    bench = PagedBench(durable=False, x_max_length=40)
    bench.fill(40, attributes=PLAIN_ATTRIBUTES)
    for _ in range(3):
        bench.page()
    bench.fill(80, attributes=PLAIN_ATTRIBUTES)
    bench.rest()
    assert 40 == bench.queue.messages_ready
    assert seqs(bench.queue.backlog.levels[0]) == list(range(81, 121))
    assert (80, 0, {}) == (bench.queue.dropped, bench.queue.backlog.messages_evicted, bench.pages.disk.files)


def test_what_expired_on_disk_expires_when_it_comes_and_gives_the_disk_back(small):
    bench = PagedBench(durable=False)
    bench.fill(20, attributes=RunAttributes(ttl_ms=100))
    bench.page()
    assert bench.queue.backlog.messages_evicted > 10
    bench.advance(100)
    bench.rest()
    assert (0, 20, {}) == (bench.queue.messages_ready, bench.queue.expired, bench.pages.disk.files)


def test_a_message_that_cannot_be_read_is_counted_and_the_others_come(small):
    bench = PagedBench(durable=False)
    bench.fill(30, size=10, attributes=PLAIN_ATTRIBUTES)
    bench.page()
    name = min(bench.pages.disk.files)
    bench.pages.disk.flip(name, 8 * len(bench.pages.disk.files[name].seen) - 1)
    reader = bench.reader()
    bench.rest()
    assert 1 == bench.queue.unreadable == 30 - len(reader.seqs)
    assert reader.seqs == sorted(reader.seqs)
    assert ({}, 0, 0) == (bench.pages.disk.files, bench.queue.messages_ready, bench.queue.backlog.octets_ready)
    assert "cannot be read" in bench.pages.unreadable[0]


def leave(bench, queue) -> None:
    """Let all that can leave a queue in one go."""
    page_out = PageOut(queue, 1 << 30, bench.pages.log)
    page_out.gather()
    bench.pages.log.commit(page_out.written)
    bench.rest()


def test_a_page_of_another_queue_is_not_kept_for_what_could_not_leave():
    bench = PagedBench(durable=False)
    other = make_queue(bench.vhost, "other")
    for at in range(60):
        run = run_of([b"x" * 100_000], bench.log.take(1), PLAIN_ATTRIBUTES, bench.now_ms)
        for queue in [bench.queue] if at % 2 else [bench.queue, other]:
            queue.enqueue(run, range(1), NO_RECEIPT)
    leave(bench, bench.queue)
    own = run_of([b"x" * 100_000], bench.log.take(1), PLAIN_ATTRIBUTES, bench.now_ms)
    other.enqueue(own, range(1), NO_RECEIPT)
    bench.log.take(1)
    bench.pages.disk.fail_next("write_at", errno.EIO)
    leave(bench, other)
    assert 0 == other.backlog.messages_evicted < bench.queue.backlog.messages_evicted
    bench.queue.purge()
    bench.rest()
    assert ({}, 0) == (bench.pages.disk.files, bench.pages.log.pages)
    assert 31 == other.messages_ready == sum(map(len, other.backlog.levels[0]))


def test_what_is_paged_out_and_read_back_is_counted(small):
    bench = PagedBench(durable=False)
    for _ in range(30):
        bench.publish(b"x" * 10)
    bench.log.complete(bench.broker)
    bench.page()
    backlog = bench.queue.backlog
    evicted = backlog.messages_evicted
    assert (0, evicted) == (backlog.disk_reads, backlog.disk_writes)
    assert evicted
    bench.reader(no_ack=True)
    bench.rest()
    assert (evicted, evicted) == (backlog.disk_reads, backlog.disk_writes)
