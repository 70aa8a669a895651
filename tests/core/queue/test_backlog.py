"""A backlog against plain lists: whatever comes, leaves and returns, the figures are those of the messages."""

import random

from pybroker.core.queue.backlog import Backlog
from pybroker.run import Entry, RunAttributes
from tests.readers import run_of, seqs


def figures(backlog):
    return (
        backlog.messages_ready,
        backlog.octets_ready,
        backlog.messages_unacknowledged,
        backlog.octets_unacknowledged,
    )


def transient(backlog):
    return (
        backlog.transient_ready,
        backlog.transient_octets_ready,
        backlog.transient_unacknowledged,
        backlog.transient_octets_unacknowledged,
    )


def filled(*sizes, priority_max=0):
    """Return a backlog with one run of bodies of these sizes, and its level."""
    backlog = Backlog(priority_max)
    run = run_of([b"x" * size for size in sizes])
    return backlog, backlog.enqueue(run, range(run.count))


def test_what_is_dispatched_is_unacknowledged_until_it_is_settled_or_requeued():
    backlog, level = filled(1, 2, 3)
    assert (3, 6, 0, 0) == figures(backlog)
    first, second = backlog.dispatch_head(level, 1), backlog.dispatch_head(level, 1)
    assert (1, 3, 2, 3) == figures(backlog)
    backlog.settle(second.run, second.indexes)
    assert (1, 3, 1, 1) == figures(backlog)
    backlog.requeue([Entry(first.run, first.indexes, 1)])
    assert (2, 4, 0, 0) == figures(backlog)
    assert [1, 3] == seqs(level)


def test_a_dispatch_ends_at_so_many_messages_or_octets():
    backlog = Backlog()
    level = backlog.levels[0]
    for seq in range(1, 6):
        backlog.enqueue(run_of([b"x" * seq], seq), range(1))
    entries, count, redelivered = backlog.dispatch(level, 2, 9, 1_000_000, no_ack=False)
    assert (2, 2, 0) == (len(entries), count, redelivered)
    assert (3, 12, 2, 3) == figures(backlog)
    entries, count, redelivered = backlog.dispatch(level, 9, 9, 1, no_ack=True)
    assert (1, 1, 0) == (len(entries), count, redelivered)
    assert (2, 9, 2, 3) == figures(backlog)


def test_a_dispatch_tells_how_much_was_delivered_before():
    backlog, level = filled(1, 1, 1)
    backlog.requeue([Entry(backlog.dispatch_head(level, 2).run, range(2), 1)])
    assert (3, 2) == backlog.dispatch(level, 9, 9, 1_000_000, no_ack=False)[1:]


def test_what_is_removed_at_either_end_is_gone():
    backlog, level = filled(1, 2, 3, 4)
    assert [1] == seqs([backlog.remove_head(level, 1)])
    assert [3, 4] == seqs(backlog.remove_tail(level, 2))
    assert (1, 2, 0, 0) == figures(backlog)


def test_what_is_evicted_stays_ready():
    backlog, level = filled(1, 2, 3)
    backlog.count_evicted(2, 5)
    assert (3, 1, 1) == (backlog.messages_ready, backlog.messages_resident, backlog.octets_resident)
    backlog.count_loaded(1, 2)
    assert (1, 3) == (backlog.messages_evicted, backlog.octets_evicted)
    backlog.count_dropped(level, 1, 3, transient=False)
    assert (2, 2, 2) == (backlog.messages_ready, backlog.messages_resident, level.count)
    backlog.count_lost(level, 1, 1, transient=False)
    assert (1, 2, 1) == (backlog.messages_ready, backlog.octets_ready, level.count)


def test_what_is_recovered_is_evicted():
    backlog = Backlog()
    backlog.recover(backlog.levels[0], 3, 30)
    assert (3, 30, 3, 30) == (
        backlog.messages_ready,
        backlog.octets_ready,
        backlog.messages_evicted,
        backlog.octets_evicted,
    )
    assert backlog.head() is None
    assert backlog.first_level() is backlog.levels[0]


def test_cleared_it_has_only_what_consumers_have():
    backlog, level = filled(1, 2, 3)
    backlog.dispatch_head(level, 1)
    backlog.count_evicted(1, 3)
    assert [2, 3] == seqs([entry for entries in backlog.clear() for entry in entries])
    assert (0, 0, 1, 1) == figures(backlog)
    assert (0, 0, None) == (backlog.messages_evicted, backlog.octets_evicted, backlog.first_level())
    backlog.settle_all()
    assert (0, 0) == (backlog.messages, backlog.octets)


def test_levels_descend_by_priority():
    backlog = Backlog(5)
    assert [3, 0, 5, 5] == [backlog.level_of(priority).priority for priority in (3, 0, 5, 200)]
    assert [5, 3, 0] == [level.priority for level in backlog.levels]
    assert [0] == [level.priority for level in filled(1)[0].levels]


def test_figures_agree_with_the_messages_whatever_happens():
    rng = random.Random(7)
    backlog, out = Backlog(2, durable=True), []
    next_seq = 1
    for _ in range(2_000):
        level = backlog.first_level()
        n = rng.randint(1, 4)
        match rng.randrange(10):
            case 0 | 1 | 8 | 9:
                attributes = RunAttributes(persistent=rng.random() < 0.5, priority=rng.randrange(4))
                run = run_of([b"x" * rng.randint(0, 9) for _ in range(n)], next_seq, attributes)
                next_seq += n
                backlog.enqueue(run, range(n))
            case 2 if level is not None:
                out.append(backlog.dispatch_head(level, n))
            case 3 if level is not None:
                out += backlog.dispatch(level, n, 9, 50, no_ack=False)[0]
            case 4 if out:
                entry = out.pop(rng.randrange(len(out)))
                if rng.random() < 0.5:
                    backlog.settle(entry.run, entry.indexes)
                else:
                    backlog.requeue([Entry(entry.run, entry.indexes, entry.deliveries + 1)])
            case 5 if level is not None:
                backlog.remove_head(level, n)
            case 6 if level is not None:
                backlog.dispatch(level, n, 9, 50, no_ack=True)
            case 7 if level is not None and level.ready:
                backlog.remove_tail(level, n)
        ready = [entry for level in backlog.levels for entry in level]
        assert figures(backlog) == (
            sum(map(len, ready)),
            sum(entry.body_octets for entry in ready),
            sum(map(len, out)),
            sum(entry.body_octets for entry in out),
        )
        assert backlog.messages_ready == sum(level.count for level in backlog.levels)
        last = [entry for entry in (*ready, *out) if entry.run.attributes.persistent]
        assert backlog.messages_persistent == sum(map(len, last))
        assert backlog.octets_persistent == sum(entry.body_octets for entry in last)
    before = backlog.messages_persistent, transient(backlog)
    assert all((*before[1], before[0]))
    backlog.clear()
    assert backlog.messages_persistent == sum(len(entry) for entry in out if entry.run.attributes.persistent)
    backlog.settle_all()
    assert (0, 0, (0, 0, 0, 0)) == (backlog.messages_persistent, backlog.octets_persistent, transient(backlog))


def test_nothing_in_a_queue_that_is_not_durable_is_persistent():
    backlog = Backlog()
    backlog.enqueue(run_of([b"x"], 1, RunAttributes(persistent=True)), range(1))
    assert (1, 0, 0) == (backlog.messages, backlog.messages_persistent, backlog.octets_persistent)


def test_transient_messages_that_a_page_has_and_nobody_sees_are_counted_as_gone():
    backlog = Backlog(durable=True)
    for seq, persistent in enumerate((True, False, False), 1):
        level = backlog.enqueue(run_of([b"x" * seq], seq, RunAttributes(persistent=persistent)), range(1))
    backlog.count_evicted(3, 6)
    backlog.count_dropped(level, 1, 1, transient=False)
    assert (0, 2, 5) == (backlog.messages_persistent, backlog.messages, backlog.octets)
    backlog.count_dropped(level, 1, 2, transient=True)
    assert (0, 1, 1) == (backlog.messages_persistent, backlog.messages, backlog.transient_ready)
    backlog.count_loaded(1, 3)
    backlog.count_lost(level, 1, 3, transient=True)
    assert (0, 0, 0, 0) == transient(backlog)
