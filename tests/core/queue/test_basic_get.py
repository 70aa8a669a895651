"""Gets at an evicted head: they wait in order, and always hear something."""

import pytest

from pybroker.run import RunAttributes
from tests.core.disk_log import DiskBench, shrink


@pytest.fixture
def bench(monkeypatch):
    """Return a queue whose first messages are evicted."""
    shrink(monkeypatch)
    return with_evicted_head(DiskBench())


def with_evicted_head(bench: DiskBench) -> DiskBench:
    bench.fill(24)
    while bench.queue.backlog.head() is not None:
        bench.queue.get(no_ack=True)
    return bench


def getter(bench: DiskBench, told: list) -> None:
    def take() -> None:
        entry = bench.queue.get(no_ack=True)
        told.append(entry and entry.first_seq)

    if bench.queue.wait_for_head(take):
        take()


def test_a_head_that_is_here_is_got_at_once(monkeypatch):
    shrink(monkeypatch)
    bench = DiskBench()
    told = []
    getter(bench, told)
    bench.fill(9)
    getter(bench, told)
    assert [None, 1] == told


def test_gets_are_answered_in_order_when_the_heads_are_back(bench):
    first = bench.queue.messages_ready
    told = []
    for _ in range(8):
        getter(bench, told)
    assert ([], 1) == (told, len(bench.log.fetches))
    bench.settle_down()
    head = 24 - first + 1
    assert list(range(head, head + 8)) == told
    assert not bench.queue.waiting


def test_who_asks_later_does_not_overtake(bench):
    told = []
    getter(bench, told)
    assert bench.log.answer()
    for _ in range(3):
        getter(bench, told)
    bench.settle_down()
    assert sorted(told) == told
    assert 4 == len(told)


def test_who_asks_again_when_he_has_his_answer_comes_behind_those_who_wait(bench):
    told = []

    def take(who: str) -> None:
        bench.queue.get(no_ack=True)
        told.append(who)
        if len(told) < 6:
            ask(who)

    def ask(who: str) -> None:
        if bench.queue.wait_for_head(lambda: take(who)):
            take(who)

    ask("a")
    ask("b")
    bench.settle_down()
    assert list("abababa") == told


@pytest.mark.parametrize("end", ["purge", "delete"])
def test_who_waits_is_told_when_nothing_is_left(bench, end):
    told = []
    getter(bench, told)
    getter(bench, told)
    bench.queue.purge() if end == "purge" else bench.vhost.delete_queue(bench.queue)
    assert [None, None] == told
    bench.settle_down()
    assert [None, None] == told
    assert 0 == bench.queue.messages


def test_gets_hear_of_an_empty_queue_when_nothing_could_be_read(bench):
    told = []
    getter(bench, told)
    bench.log.unreadable.update(bench.log.records)
    bench.settle_down()
    assert [None] == told[:1] or told[0] > 20
    assert not bench.queue.waiting


def test_a_message_of_higher_priority_comes_first_also_for_who_waited_before(monkeypatch):
    shrink(monkeypatch)
    bench = with_evicted_head(DiskBench(x_max_priority=2))
    told = []
    getter(bench, told)
    bench.fill(1, attributes=RunAttributes(persistent=True, priority=2))
    bench.settle_down()
    assert [25] == told


def test_messages_that_expired_while_evicted_are_not_got(monkeypatch):
    shrink(monkeypatch)
    bench = DiskBench(x_message_ttl=100)
    bench.fill(24)
    while bench.queue.backlog.head() is not None:
        bench.queue.get(no_ack=True)
    told = []
    getter(bench, told)
    bench.broker.clock.advance(200)
    bench.settle_down()
    assert [None] == told
    assert 24 == bench.queue.got + bench.queue.expired
    assert not bench.log.live[bench.queue.id]


def test_get_without_waiting_takes_nothing_that_is_evicted(bench):
    before = bench.queue.messages_ready
    assert bench.queue.get(no_ack=True) is None
    assert before == bench.queue.messages_ready
