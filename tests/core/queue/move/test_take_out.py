"""Messages taken out of anywhere in a queue, against a plain list: what is left is in order, and counted."""

import random

import pytest

from pybroker.core.queue.move.take_out import take_out
from pybroker.run import RunAttributes
from tests.core.disk_log import PERSISTENT
from tests.core.paged import PagedBench, shrink


def check(bench: PagedBench, left: list[int]) -> None:
    """Compare with what should be left; all of it must be readable."""
    backlog = bench.queue.backlog
    assert (len(left), len(left)) == (backlog.messages_ready, backlog.octets_ready)
    reader = bench.reader(no_ack=True)
    bench.rest()
    assert left == reader.seqs
    assert (0, 0, 0, 0) == (
        backlog.messages_ready,
        backlog.octets_ready,
        backlog.messages_evicted,
        backlog.octets_evicted,
    )


@pytest.mark.parametrize("seed", range(100))
def test_what_is_taken_is_gone_and_the_rest_stays_in_order(monkeypatch, seed):
    shrink(monkeypatch)
    rng = random.Random(seed)
    bench = PagedBench()
    queue = bench.queue
    for _ in range(rng.randrange(1, 12)):
        attributes = rng.choice((PERSISTENT, PERSISTENT, RunAttributes()))
        bench.publish(*[b"x"] * rng.randrange(1, 5), attributes=attributes)
        if rng.random() < 0.6:
            bench.log.complete(bench.broker)
            bench.turn()
    left = list(range(1, queue.log.next_seq))
    if rng.random() < 0.5 and queue.backlog.first_level().head() is not None:
        entries = [queue.get(no_ack=False) for _ in range(2)]
        queue.backlog.requeue([entry for entry in entries if entry is not None])
    for _ in range(rng.randrange(1, 5)):
        what = rng.random()
        bench.pages.hold = what < 0.3
        if what < 0.6:
            bench.pages.short()
            bench.turn()
            for _ in range(rng.randrange(3)):
                bench.pages.step()
        take(
            bench, left, sorted(rng.sample(range(1, queue.log.next_seq + 2), rng.randrange(1, queue.log.next_seq + 1)))
        )
        if rng.random() < 0.5:
            bench.turn()
            bench.log.complete(bench.broker)
    bench.pages.hold = False
    bench.rest()
    check(bench, left)


def take(bench: PagedBench, left: list[int], wanted: list[int]) -> None:
    """Take those that are wanted out of the queue and of the list, which must have the same."""
    queue = bench.queue
    busy = True
    while busy:
        spans, busy = take_out(queue, queue.backlog.levels[0], [(seq, seq) for seq in wanted])
        for seq in [seq for first, last in spans for seq in range(first, last + 1)]:
            assert seq in wanted
            left.remove(seq)
            if seq in bench.log.records:
                queue.log.settle_seqs(queue.id, seq, seq)
        if busy:
            bench.pages.hold = False
            assert bench.log.answer() or bench.pages.step()
    assert not set(wanted) & set(left)
