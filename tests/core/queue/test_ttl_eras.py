"""A message's expiry is fixed when it arrives, whatever becomes of the queue's TTL; also over a restart."""

import pytest
from hypothesis import given, strategies as st
from kept import again, new_broker
from readers import Bench
from strategies import few

from pybroker.core import durable, survivors
from pybroker.core.queue import ttl_eras
from pybroker.core.queue.ttl_eras import ERAS_MAX, OPEN_SEQ
from pybroker.store.memory import MemoryLog
from pybroker.store.recovery import Recovered
from pybroker.stretch import Stretch


def put(broker, ttl_ms):
    if ttl_ms is None:
        broker.parameters.clear("/", "policy", "p")
    else:
        value = {"pattern": "^q$", "definition": {"message-ttl": ttl_ms}, "priority": 0}
        broker.parameters.set("/", "policy", "p", value)


class SilentLog(MemoryLog):
    """Its disk does not answer."""

    def fetch(self, queue_id, part, done):
        pass


@pytest.fixture
def bench():
    return Bench()


@pytest.fixture
def kept():
    """A durable queue with two messages, seqs 1 and 2, in a broker whose definitions are kept."""
    broker = new_broker()
    bench = Bench(broker.vhosts["/"])
    assert bench.queue.durable
    durable.keep_queue(bench.queue)
    bench.publish(b"a", b"b")
    return bench


def restarted(bench, *, next_seq=3, count=2):
    """Return the queue of the next life, for which the log has `count` messages, and what it has found."""
    broker = again(bench.broker)
    queues = survivors.durable_queues(broker)
    queue = broker.vhosts["/"].queues["q"]
    stretch = Stretch()
    if count:
        stretch.add(1, count, 1)
    found = Recovered(next_seq=next_seq, queues={queue.id: [(0, False, stretch)]} if count else {})
    survivors.skip_eras(queues, found)
    broker.log = SilentLog()
    broker.log.next_seq = found.next_seq
    survivors.restore(queues, found)
    return queue


def ttls(queue, *seqs):
    return [ttl_eras.in_force(queue, seq) for seq in seqs]


def test_an_empty_queue_remembers_nothing(bench):
    put(bench.broker, 100)
    put(bench.broker, 200)
    assert bench.queue.ttl_eras == ()


def test_what_waits_keeps_its_ttl_and_what_comes_gets_the_new_one(bench):
    put(bench.broker, 100)
    bench.publish(b"a")
    put(bench.broker, 200)
    bench.publish(b"b")
    put(bench.broker, None)
    bench.publish(b"c")
    assert bench.queue.ttl_eras == ((2, 100), (3, 200))
    assert ttls(bench.queue, 1, 2, 3, 4) == [100, 200, None, None]


def test_changes_between_which_nothing_came_are_one(bench):
    bench.publish(b"a")
    put(bench.broker, 100)
    put(bench.broker, 200)
    assert bench.queue.ttl_eras == ((2, None),)
    put(bench.broker, None)
    assert bench.queue.ttl_eras == ()


def test_eras_of_which_nothing_is_left_are_forgotten(bench):
    for ttl_ms in (100, 200, 300):
        put(bench.broker, ttl_ms)
        bench.publish(b"x")
    bench.queue.get(no_ack=True)
    bench.queue.get(no_ack=True)
    put(bench.broker, 400)
    assert bench.queue.ttl_eras == ((4, 300),)


def test_very_many_eras_are_fewer_and_nothing_expires_sooner(bench):
    bench.publish(b"first")
    for ttl_ms in range(1_000, 1_000 + ERAS_MAX + 10):
        put(bench.broker, ttl_ms)
        bench.publish(b"x")
    assert len(bench.queue.ttl_eras) == ERAS_MAX
    assert ttls(bench.queue, 1, 2) == [None, None]
    assert ttls(bench.queue, ERAS_MAX + 10) == [1_000 + ERAS_MAX + 8]


def test_what_came_back_expires_by_its_own_era(bench):
    put(bench.broker, 100)
    bench.publish(b"a")
    reader = bench.reader()
    bench.turn()
    assert reader.seqs == [1]
    put(bench.broker, 100_000)
    bench.advance(100)
    assert ttls(bench.queue, 1) == [100]
    reader.channel.give_back(reader.channel.unacked.take_up_to(1) or [], requeue=True)
    bench.turn()
    assert ([], 1) == (bench.bodies(), bench.queue.expired)


def test_a_growing_run_does_not_reach_into_the_next_era(bench):
    class Route:
        run = object()

    bench.publish(b"a")
    bench.broker.growing = Route()
    put(bench.broker, 100)
    assert bench.broker.growing.run is None


class TestRestart:
    """The list is part of the definition, and what a kill cut off is found out."""

    def test_it_is_as_it_was(self, kept):
        put(kept.broker, 100)
        kept.publish(b"c")
        queue = restarted(kept, next_seq=4, count=3)
        assert (queue.limits.message_ttl_ms, ttls(queue, 1, 2, 3, 4)) == (100, [None, None, 100, 100])
        assert queue.timed
        again_ = restarted(_as_bench(queue), next_seq=4, count=3)
        assert ttls(again_, 1, 2, 3, 4) == [None, None, 100, 100]

    def test_without_a_policy_a_row_has_nothing_of_it(self, kept):
        assert "message_ttl" not in kept.broker.definitions.value("queue", "/", "q")
        put(kept.broker, 100)
        assert kept.broker.definitions.value("queue", "/", "q")["message_ttl"] == {"now": 100, "before": [[3, None]]}
        put(kept.broker, None)
        assert "message_ttl" not in kept.broker.definitions.value("queue", "/", "q")

    def test_a_policy_that_had_not_reached_the_queue_spares_what_waits(self, kept):
        row = dict(kept.broker.definitions.texts)
        put(kept.broker, 100)
        kept.broker.definitions.texts["queue", ("/", "q")] = row["queue", ("/", "q")]
        queue = restarted(kept)
        assert (queue.limits.message_ttl_ms, ttls(queue, 1, 2, 3)) == (100, [None, None, 100])
        assert queue.vhost.broker.definitions.value("queue", "/", "q")["message_ttl"]["before"] == [[3, None]]

    def test_a_cleared_policy_that_was_still_in_force_counts_for_what_came_under_it(self, kept):
        put(kept.broker, 100)
        kept.publish(b"c")
        row = dict(kept.broker.definitions.texts)
        put(kept.broker, None)
        kept.broker.definitions.texts["queue", ("/", "q")] = row["queue", ("/", "q")]
        queue = restarted(kept, next_seq=4, count=3)
        assert ttls(queue, 1, 2, 3, 4) == [None, None, 100, None]
        assert queue.timed

    def test_messages_that_were_lost_leave_no_seqs_of_an_era_that_is_over(self, kept):
        kept.publish(*[b"transient"] * 50)
        put(kept.broker, 100)
        queue = restarted(kept, next_seq=3)
        assert queue.vhost.broker.log.next_seq == 53
        assert ttls(queue, 2, 53) == [None, 100]

    def test_an_open_era_is_never_kept(self, kept):
        put(kept.broker, 100)
        broker = again(kept.broker)
        assert all(below != OPEN_SEQ for below, _ in broker.vhosts["/"].queues["q"].ttl_eras)


def _as_bench(queue):
    bench = object.__new__(Bench)
    bench.vhost, bench.broker, bench.queue = queue.vhost, queue.vhost.broker, queue
    return bench


STEPS = st.one_of(
    st.tuples(st.just("publish"), st.integers(1, 3)),
    st.tuples(st.just("ttl"), st.sampled_from([None, 5, 50, 500])),
    st.tuples(st.just("advance"), st.sampled_from([1, 10, 100])),
    st.tuples(st.just("get"), st.just(0)),
)


@few
@given(st.lists(STEPS, max_size=60))
def test_it_is_as_if_each_message_had_its_own_expiry(steps):
    bench = Bench()
    expected, ttl_ms, number, expired = [], None, 0, 0
    for what, value in steps:
        match what:
            case "publish":
                for _ in range(value):
                    number += 1
                    due = None if ttl_ms is None else bench.now_ms + ttl_ms
                    expected.append((b"%d" % number, due))
                    bench.publish(b"%d" % number)
            case "ttl":
                put(bench.broker, value)
                ttl_ms = value
            case "advance":
                bench.advance(value)
                bench.turn()
            case "get":
                entry = bench.queue.get(no_ack=True)
                if expected:
                    assert entry.run.first_seq + entry.indexes.start == int(expected.pop(0)[0])
                else:
                    assert entry is None
        while expected and expected[0][1] is not None and expected[0][1] <= bench.now_ms:
            expected.pop(0)
            expired += 1
        assert (bench.bodies(), bench.queue.expired) == ([body for body, _ in expected], expired)
