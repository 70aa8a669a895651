"""Messages wait for their retry as in a plain list, wherever their contents are, and return to their places."""

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from pybroker.core.metadata import recovery
from pybroker.core.queue.retry import delayed, window
from pybroker.run import MAYBE_DELIVERED, RunAttributes
from tests.core.disk_log import DiskBench, on_disk
from tests.store.records import flat, rows_of

SMALL = {
    window: {"KEPT_MESSAGES": 2, "KEPT_OCTETS": 30, "SOON_MS": 20, "FETCH_MESSAGES": 3, "FETCH_OCTETS": 30},
    delayed: {"SHARE_ROWS": 2, "SHARE_MESSAGES": 3},
}
RETRY = {"x_delayed_retry_type": "all", "x_delayed_retry_min": 100, "x_delayed_retry_max": 1_000}


@pytest.fixture
def small(monkeypatch):
    for module, constants in SMALL.items():
        for name, value in constants.items():
            assert hasattr(module, name)
            monkeypatch.setattr(module, name, value)


def advance(bench, ms=0):
    """Let time pass, and all that is due return."""
    clock = bench.broker.clock
    clock.now_ms += ms
    for _ in range(200):
        bench.broker.timers.run(clock.now_ms)
        bench.settle_down()
        index = bench.queue.delayed.index if bench.queue.delayed else ()
        if not any(row.due_ms <= clock.now_ms for row in index):
            return
        clock.now_ms += 1


def take(bench, count, *, failed=False, requeue=True):
    """Have up to so many messages delivered and given back at once; return their seqs."""
    reader = bench.reader(prefetch=count)
    bench.settle_down()
    batches = reader.channel.unacked.pop_up_to(0)
    reader.channel.consumers.clear()
    bench.queue.consumers.remove(reader)
    reader.channel.give_back(batches, requeue=requeue, failed=failed)
    bench.settle_down()
    return reader.seqs


def test_what_comes_back_waits_and_returns_to_its_place():
    bench = DiskBench(**RETRY)
    bench.fill(5)
    assert [1, 2] == take(bench, 2)
    backlog = bench.queue.backlog
    assert (3, 0, 2, 5) == (backlog.messages_ready, backlog.messages_unacknowledged, 2, bench.queue.messages)
    advance(bench, 99)
    assert 2 == bench.queue.messages_delayed
    advance(bench, 1)
    assert (0, 5) == (bench.queue.messages_delayed, bench.queue.messages_ready)
    assert [1, 2, 3, 4, 5] == take(bench, 9)


def test_each_return_waits_longer_up_to_the_maximum():
    bench = DiskBench(**RETRY | {"x_delayed_retry_max": 250})
    bench.fill(1)
    for waited in (100, 200, 250, 250):
        assert [1] == take(bench, 1)
        advance(bench, waited - 1)
        assert 1 == bench.queue.messages_delayed
        advance(bench, 1)
        assert 1 == bench.queue.messages_ready


@pytest.mark.parametrize(
    ("kind", "failed", "waits"),
    [
        *(("all", True, 1), ("all", False, 1), ("failed", True, 1), ("failed", False, 0), ("returned", True, 0)),
        *(("returned", False, 1), ("disabled", True, 0), ("disabled", False, 0)),
    ],
)
def test_the_type_says_who_waits(kind, failed, waits):
    bench = DiskBench(**RETRY | {"x_delayed_retry_type": kind})
    bench.fill(1)
    take(bench, 1, failed=failed)
    assert waits == bench.queue.messages_delayed


def test_after_the_last_step_it_is_a_dead_letter():
    bench = DiskBench(x_retry_delays="10ms,1s")
    bench.fill(1)
    for waited in (10, 1_000):
        take(bench, 1)
        advance(bench, waited - 1)
        assert 1 == bench.queue.messages_delayed
        advance(bench, 1)
    take(bench, 1)
    assert 0 == bench.queue.messages
    assert set() == bench.log.live[bench.queue.id]


def test_the_log_knows_counts_and_due_times(monkeypatch):
    bench = DiskBench(**RETRY)
    bench.fill(2)
    told = []
    monkeypatch.setattr(type(bench.log), "give_back", lambda _, *call: told.append(call), raising=False)
    take(bench, 1)
    (((queue_id, _, indexes, deliveries, due_ms)),) = told
    assert (bench.queue.id, range(1), 1, bench.now_ms + 100) == (queue_id, indexes, deliveries, due_ms)


@pytest.mark.usefixtures("small")
def test_contents_leave_memory_and_come_back_before_they_are_due():
    bench = DiskBench(**RETRY | {"x_delayed_retry_min": 60_000, "x_delayed_retry_max": 60_000})
    bench.fill(50)
    assert 50 == len(take(bench, 50))
    waiting = bench.queue.delayed
    assert 50 == bench.queue.messages_delayed
    assert len(waiting.window.resident) <= 2
    for _ in range(3):
        advance(bench, 20_000)
    assert 50 == bench.queue.messages_ready
    assert list(range(1, 51)) == take(bench, 50)


def test_a_purge_takes_those_that_wait():
    bench = DiskBench(**RETRY)
    bench.fill(9)
    take(bench, 4)
    assert 9 == bench.queue.purge()
    bench.settle_down()
    advance(bench, 1_000)
    assert (0, set()) == (bench.queue.messages, bench.log.live[bench.queue.id])


@pytest.mark.usefixtures("small")
def test_a_purge_takes_those_on_disk_too():
    bench = DiskBench(**RETRY | {"x_delayed_retry_min": 60_000, "x_delayed_retry_max": 60_000})
    for _ in range(9):
        bench.fill(1)
        take(bench, 1)
    assert len(bench.queue.delayed.window.resident) < 9
    assert 9 == bench.queue.purge()
    bench.settle_down()
    assert set() == bench.log.live[bench.queue.id]


def test_those_that_wait_count_for_the_length_and_are_not_dropped():
    bench = DiskBench(**RETRY, x_max_length=2)
    bench.fill(2)
    take(bench, 2)
    bench.fill(1)
    assert (0, 2) == (bench.queue.messages_ready, bench.queue.messages_delayed)
    refusing = DiskBench(**RETRY, x_max_length=2, x_overflow="reject-publish")
    refusing.fill(2)
    take(refusing, 2)
    refusing.fill(1)
    assert (0, 2) == (refusing.queue.messages_ready, refusing.queue.messages_delayed)


def test_those_that_wait_expire_when_they_are_due():
    bench = DiskBench(**RETRY, x_message_ttl=50)
    bench.fill(1)
    take(bench, 1)
    advance(bench, 99)
    assert (1, 0) == (bench.queue.messages_delayed, bench.queue.expired)
    advance(bench, 1)
    assert (0, 1) == (bench.queue.messages, bench.queue.expired)


def test_no_more_returns_than_somebody_takes(monkeypatch):
    monkeypatch.setattr(delayed, "RETURNED_MESSAGES", 3)
    monkeypatch.setattr(delayed, "SHARE_MESSAGES", 2)
    bench = DiskBench(**RETRY)
    for _ in range(9):
        bench.fill(1)
    for _ in range(9):
        take(bench, 1)
        bench.broker.clock.now_ms += 1
    for _ in range(300):
        advance_once(bench)
    assert bench.queue.messages_ready < 9
    seen = []
    for _ in range(20):
        seen += take(bench, 1, requeue=False)
        for _ in range(600):
            advance_once(bench)
    assert list(range(1, 10)) == sorted(seen)


def advance_once(bench):
    bench.broker.clock.now_ms += 1
    bench.broker.timers.run(bench.now_ms)
    bench.settle_down()


def test_a_policy_that_goes_leaves_due_times():
    bench = DiskBench(**RETRY)
    bench.fill(1)
    take(bench, 1)
    bench.queue.set_limits(DiskBench().queue.limits)
    advance(bench, 99)
    assert 1 == bench.queue.messages_delayed
    advance(bench, 1)
    assert [1] == take(bench, 1)
    assert 0 == bench.queue.messages_delayed


@pytest.mark.usefixtures("small")
def test_a_message_that_cannot_be_read_is_counted_and_no_more():
    bench = DiskBench(**RETRY | {"x_delayed_retry_min": 60_000, "x_delayed_retry_max": 60_000})
    for _ in range(9):
        bench.fill(1)
        take(bench, 1)
    bench.log.unreadable = {1}
    advance(bench, 60_000)
    assert (8, 0, 1) == (bench.queue.messages, bench.queue.messages_delayed, bench.queue.unreadable)


def test_a_start_finds_those_that_wait():
    bench = DiskBench(**RETRY)
    seq_ranges = on_disk(bench, range(1, 11))
    bench.queue.restore(
        [(0, False, seq_ranges)], MAYBE_DELIVERED, flat([(2, 3, 4, bench.now_ms + 50), (9, 9, 1, bench.now_ms + 70)])
    )
    assert (7, 3, 10) == (bench.queue.messages_ready, bench.queue.messages_delayed, bench.queue.messages)
    due = {
        row[:2]: row[3] - bench.now_ms for row in rows_of(recovery.delivered(bench.broker)[bench.queue.id]) if row[3]
    }
    assert {(2, 3): 50, (9, 9): 70} == due
    advance(bench, 50)
    assert 9 == bench.queue.messages_ready
    advance(bench, 20)
    # Ahead of those that were with a consumer when the broker stopped.
    assert [2, 3, 9, 1, 4, 5, 6, 7, 8, 10] == take(bench, 10)
    rows = recovery.delivered(bench.broker)[bench.queue.id]
    assert {1, 2, 5} == {times for _, _, times, _ in rows_of(rows)}


def retry(bench, count):
    """Have up to so many messages be due now; return how many."""
    done = 0
    while done < count and bench.queue.delayed is not None and bench.queue.delayed.has_later:
        done += bench.queue.delayed.retry(count - done)
        bench.settle_down()
    return done


def test_those_that_wait_can_be_due_at_once():
    bench = DiskBench(**RETRY)
    bench.fill(5)
    take(bench, 5)
    assert bench.queue.delayed.retry(2) == 2
    advance(bench)
    assert (bench.queue.messages_ready, bench.queue.messages_delayed) == (2, 3)
    assert [1, 2] == take(bench, 9)
    assert bench.queue.delayed.retry(99) == 5
    advance(bench)
    assert [1, 2, 3, 4, 5] == take(bench, 9)


@pytest.mark.usefixtures("small")
def test_those_on_disk_can_be_due_at_once():
    bench = DiskBench(**RETRY | {"x_delayed_retry_min": 60_000, "x_delayed_retry_max": 60_000})
    bench.publish(*[b"x"] * 50)
    take(bench, 50)
    assert retry(bench, 21) == 21
    advance(bench)
    assert list(range(1, 22)) == take(bench, 50)
    assert retry(bench, 99) == 50
    advance(bench)
    assert list(range(1, 51)) == take(bench, 50)


@pytest.mark.usefixtures("small")
def test_a_row_that_is_being_read_is_not_split():
    bench = DiskBench(**RETRY | {"x_delayed_retry_min": 60_000, "x_delayed_retry_max": 60_000})
    bench.publish(*[b"x"] * 12)
    take(bench, 12)
    waiting = bench.queue.delayed
    waiting.window.fetching = True
    assert bench.queue.delayed.retry(1) == 0
    assert bench.queue.delayed.has_later
    waiting.window.fetching = False
    assert bench.queue.delayed.retry(1) == 1


def test_a_crash_leaves_them_their_times():
    bench = DiskBench(**RETRY)
    told = []
    bench.fill(2)
    take(bench, 2)
    type(bench.log).give_back, before = (lambda _, *call: told.append(call)), type(bench.log).give_back
    try:
        assert bench.queue.delayed.retry(2) == 2
        advance(bench)
    finally:
        type(bench.log).give_back = before
    assert told == []
    assert len(bench.log.live[bench.queue.id]) == 2


STEP = st.one_of(
    st.tuples(st.just("publish"), st.integers(1, 5), st.booleans(), st.integers(0, 3)),
    st.tuples(st.just("give_back"), st.integers(1, 6), st.booleans()),
    st.tuples(st.just("ack"), st.integers(1, 3)),
    st.tuples(st.just("wait"), st.sampled_from([1, 50, 100, 350])),
    st.tuples(st.just("retry"), st.integers(1, 6)),
    st.tuples(st.just("purge")),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("small")
@given(
    st.lists(STEP, max_size=30),
    st.sampled_from(["all", "failed", "returned"]),
    st.sampled_from([0, 2]),
    st.none() | st.integers(1, 3),
)
def test_it_does_as_a_plain_list(steps, kind, priorities, limit):
    arguments = RETRY | {"x_delayed_retry_type": kind, "x_max_priority": priorities}
    if limit is not None:
        arguments["x_delivery_limit"] = limit
    bench = DiskBench(**arguments)
    model: dict[int, list[int]] = {}  # seq: priority, deliveries, due
    for step in steps:
        what, *more = step
        if what == "publish":
            count, persistent, priority = more
            attributes = RunAttributes(persistent=persistent, priority=priority)
            run = bench.publish(*[b"x" * (1 + at // 3) for at in range(count)], attributes=attributes)
            for seq in range(run.first_seq, run.first_seq + count):
                model[seq] = [min(priority, priorities), 0, 0]
        elif what == "wait":
            advance(bench, *more)
        elif what == "purge":
            bench.queue.purge()
            model.clear()
        elif what == "retry":
            later = sorted((each[2], seq) for seq, each in model.items() if each[2] > bench.now_ms)[: more[0]]
            assert len(later) == retry(bench, more[0])
            for _, seq in later:
                model[seq][2] = bench.now_ms
        else:
            bench.settle_down()
            ready = sorted(
                (seq for seq, each in model.items() if each[2] <= bench.now_ms), key=lambda s: (-model[s][0], s)
            )
            failed = more[1] if what == "give_back" else False
            took = take(bench, more[0], failed=failed, requeue=what == "give_back")
            assert ready[: more[0]] == took
            for seq in took:
                model[seq][1] += 1
                if what == "ack" or (limit is not None and model[seq][1] > limit):
                    del model[seq]
                elif kind == "all" or failed == (kind == "failed"):
                    model[seq][2] = bench.now_ms + min(100 * model[seq][1], 1_000)
        bench.settle_down()
        advance(bench)
        later = [each for each in model.values() if each[2] > bench.now_ms]
        assert (len(model) - len(later), len(later)) == (bench.queue.messages_ready, bench.queue.messages_delayed)
        backlog = bench.queue.backlog
        assert (0, 0, 0) == (
            backlog.messages_unacknowledged,
            backlog.octets_unacknowledged,
            backlog.transient_unacknowledged,
        )
        if not model:
            assert (0, 0, 0, 0) == (
                backlog.octets,
                backlog.octets_delayed,
                backlog.transient_delayed,
                backlog.octets_ready,
            )
            assert set() == bench.log.live[bench.queue.id]
    advance(bench, 10_000)
    assert sorted(model, key=lambda s: (-model[s][0], s)) == take(bench, 1_000)
