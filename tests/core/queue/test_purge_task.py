"""A purged backlog is forgotten in shares; a small one at once."""

import pytest

from pybroker.core.queue.purge_task import TURN_ENTRIES_MAX, PurgeTask
from pybroker.run import PLAIN_ATTRIBUTES, Entry, RunAttributes
from pybroker.store.memory import MemoryLog
from tests.readers import Bench, run_of

MANY = 2 * TURN_ENTRIES_MAX + 5


class SettlingLog(MemoryLog):
    """It counts what is settled."""

    settled = 0

    def settle(self, queue_id, run, indexes):
        self.settled += len(indexes)


def filled(count: int, attributes: RunAttributes = PLAIN_ATTRIBUTES) -> Bench:
    """Return a queue with `count` messages, each a run of its own; the last three came back."""
    bench = Bench()
    run = run_of([b"x"], attributes=attributes)
    bench.queue.backlog.levels[0].ready.extend(Entry(run, range(1)) for _ in range(count - 3))
    bench.queue.backlog.levels[0].returned.extend(Entry(run, range(1), 1) for _ in range(3))
    bench.queue.backlog.levels[0].count = bench.queue.backlog.messages_ready = count
    return bench


def test_few_are_forgotten_at_once():
    bench = filled(TURN_ENTRIES_MAX)
    assert TURN_ENTRIES_MAX == bench.queue.purge()
    assert (0, []) == (len(bench.broker.purge_task), list(bench.broker.turn.queues))


@pytest.mark.parametrize("how", ["purge", "delete"])
def test_very_many_are_gone_at_once_and_forgotten_in_shares(how):
    bench = filled(MANY)
    count = bench.queue.purge() if how == "purge" else bench.vhost.delete_queue(bench.queue)
    assert (MANY, [], 0) == (count, bench.ready(), bench.queue.messages)
    left = [len(bench.broker.purge_task)]
    while bench.broker.turn.queues:
        bench.broker.pump()
        left.append(len(bench.broker.purge_task))
    assert [MANY - 3, MANY - 3 - TURN_ENTRIES_MAX, MANY - 3 - 2 * TURN_ENTRIES_MAX, 0][: len(left)] == left


def test_a_purged_queue_is_usable_meanwhile():
    bench = filled(MANY)
    bench.queue.purge()
    bench.flood(2)
    reader = bench.reader()
    bench.turn()
    assert [1, 2] == reader.seqs


def test_each_message_is_settled_in_the_log_once():
    bench = filled(MANY, RunAttributes(persistent=True))
    bench.queue.durable = bench.queue.backlog.durable = True
    bench.broker.log = log = SettlingLog()
    bench.queue.purge()
    bench.turn()
    assert MANY == log.settled


def test_nothing_removed_is_nothing_to_do():
    bench = Bench()
    purge_task = PurgeTask(bench.broker.turn)
    purge_task.add(bench.queue, ([], []))
    assert (0, False) == (len(purge_task), purge_task.awake)
