"""How much leaves at a time: a turn's share, portions for several consumers, an outbox full for a lonely one."""

import pytest
from hypothesis import given, strategies as st

from pybroker.core.queue.dispatch import (
    ALONE_COST,
    DEAL_MESSAGES_MAX,
    POUR_OCTETS_MAX,
    REDELIVERED_COST,
    TURN_MESSAGES_MAX,
)
from pybroker.run import RunAttributes
from tests.readers import Bench, Reader


def deliver(bench: Bench) -> None:
    bench.queue.deliver(bench.now_ms)


def test_one_turn_is_one_share_and_the_rest_wakes_the_queue_again():
    bench = Bench()
    bench.flood(TURN_MESSAGES_MAX)
    bench.flood(TURN_MESSAGES_MAX)
    reader = bench.reader(no_ack=True)
    bench.broker.pump()
    assert TURN_MESSAGES_MAX == len(reader.seqs)
    assert [bench.queue] == list(bench.broker.turn.queues)
    bench.turn()
    assert list(range(1, 2 * TURN_MESSAGES_MAX + 1)) == reader.seqs


def test_several_share_a_turn_too():
    bench = Bench()
    bench.flood(3 * TURN_MESSAGES_MAX)
    readers = [bench.reader(str(i)) for i in range(3)]
    bench.broker.pump()
    assert TURN_MESSAGES_MAX == sum(len(reader.seqs) for reader in readers)
    bench.turn()
    assert [TURN_MESSAGES_MAX] * 3 == [len(reader.seqs) for reader in readers]


def test_a_backlog_is_dealt_in_portions_so_that_all_begin_at_once():
    bench = Bench()
    bench.flood(1_000)
    a, b = bench.reader("a"), bench.reader("b")
    order: list[Reader] = []
    for reader in (a, b):
        reader.channel.session.queued = lambda _octets, reader=reader: order.append(reader)
    bench.turn()
    assert list(range(1, 2 * DEAL_MESSAGES_MAX, 2)) == a.seqs[:DEAL_MESSAGES_MAX]
    assert [a, b, a, b] == order


class Asked(Reader):
    """A consumer that counts how often anybody asks for its credit."""

    times = 0

    def credit(self):
        Asked.times += 1
        return super().credit()


def test_a_few_messages_at_a_time_for_very_many_consumers_cost_no_look_at_each_consumer():
    bench = Bench()
    for i in range(300):
        bench.queue.consumers.add(Asked(bench.queue, bench.channel(), str(i), no_ack=True))
    for _ in range(100):
        bench.flood(2)
    Asked.times = 0
    bench.turn()
    assert [] == bench.ready()
    assert Asked.times <= 3 * 200


class Bucket(Reader):
    """A consumer whose outbox fills up."""

    def deliver(self, run, indexes, deliveries, first_tag):
        super().deliver(run, indexes, deliveries, first_tag)
        return sum(len(one) for one in run.contents_at(indexes))


@pytest.mark.parametrize("size", [16, 10_000, 300_000])
def test_a_lonely_consumer_gets_an_outbox_full_at_a_time(size):
    bench = Bench()
    for _ in range(60):
        bench.publish(b"x" * size)
    reader = Bucket(bench.queue, bench.channel(), "c")
    session = reader.channel.session

    def queued(octets: int) -> None:
        session.octets += octets
        session.outbox_full = session.octets > POUR_OCTETS_MAX

    session.queued = queued
    bench.queue.consumers.add(reader)
    deliver(bench)
    whole = POUR_OCTETS_MAX // size + 1
    assert min(60, whole) - 1 <= len(reader.seqs) <= min(60, whole) + 1
    assert 60 - len(reader.seqs) == len(bench.ready())


# -- what is counted --------------------------------------------------------------------------------------------------


@given(
    runs=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=9), min_size=1, max_size=6),
    readers=st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=3),
)
def test_counts_are_those_of_the_messages_however_they_were_dealt(runs, readers):
    bench = Bench()
    for sizes in runs:
        bench.publish(*[b"x" * size for size in sizes])
    found = [bench.reader(str(i), no_ack=no_ack, prefetch=n) for i, (no_ack, n) in enumerate(readers)]
    bench.turn()
    queue, sizes = bench.queue, [size for run in runs for size in run]
    delivered = sorted(seq for reader in found for seq in reader.seqs)
    held = [seq for reader in found if not reader.no_ack for seq in reader.seqs]
    assert list(range(len(delivered) + 1, len(sizes) + 1)) == bench.ready()
    assert sum(sizes[len(delivered) :]) == queue.backlog.octets_ready
    assert (len(held), sum(sizes[seq - 1] for seq in held)) == (
        queue.messages_unacknowledged,
        queue.backlog.octets_unacknowledged,
    )
    assert (len(held), len(delivered) - len(held), 0) == (queue.delivered, queue.delivered_no_ack, queue.redelivered)
    for reader in found:
        assert (0 if reader.no_ack else len(reader.seqs)) == reader.unacked == reader.channel.unacked_consumed
        assert len(reader.seqs) + 1 == reader.channel.next_tag


@pytest.mark.parametrize("readers", [1, 2])
def test_what_comes_a_second_time_is_counted_as_redelivered(readers):
    bench = Bench()
    found = [bench.reader(str(i)) for i in range(readers)]
    bench.flood(6)
    bench.turn()
    for reader in found:
        reader.channel.give_back(reader.channel.unacked.pop_up_to(0) or [], requeue=True)
    bench.turn()
    assert [1, 2, 3, 4, 5, 6] == sorted(seq for reader in found for seq in reader.redelivered)
    assert (12, 6, 6) == (bench.queue.delivered, bench.queue.redelivered, bench.queue.messages_unacknowledged)


# -- levels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("readers", [1, 2])
def test_f35_the_highest_level_leaves_first_at_each_moment(readers):
    bench = Bench(x_max_priority=5)
    for priority in (0, 3, 5, 3, 9):
        bench.flood(2, RunAttributes(priority=priority))
    assert [5, 6, 9, 10, 3, 4, 7, 8, 1, 2] == bench.ready()
    found = [bench.reader(str(i), prefetch=6 // readers) for i in range(readers)]
    bench.turn()
    assert [3, 4, 5, 6, 9, 10] == sorted(seq for reader in found for seq in reader.seqs)


def test_nothing_is_dealt_by_a_deleted_queue():
    bench = Bench()
    reader = bench.reader()
    bench.flood(3)
    bench.vhost.delete_queue(bench.queue)
    bench.turn()
    assert ([], 1, 0) == (reader.seqs, reader.told, bench.queue.messages)


@pytest.mark.parametrize("readers", [1, 2])
@pytest.mark.parametrize("no_ack", [True, False])
def test_f38_without_acknowledgement_the_log_may_forget_what_was_delivered(monkeypatch, readers, no_ack):
    bench = Bench()
    forgotten: list[int] = []
    monkeypatch.setattr(
        type(bench.broker.log),
        "settle",
        lambda _log, _id, run, indexes: forgotten.extend(run.first_seq + i for i in indexes),
    )
    for i in range(readers):
        bench.reader(str(i), no_ack=no_ack)
    bench.flood(5, RunAttributes(persistent=True))
    bench.turn()
    assert ([1, 2, 3, 4, 5] if no_ack else []) == sorted(forgotten)


def test_a_turn_has_fewer_messages_that_lie_apart_or_were_delivered_before():
    bench = Bench()
    for _ in range(TURN_MESSAGES_MAX):
        bench.flood(1)
    reader = bench.reader()
    bench.broker.pump()
    apart = len(reader.seqs)
    assert TURN_MESSAGES_MAX // ALONE_COST == apart
    bench.turn()
    bench.queue.consumers.remove(reader)
    bench.queue.give_back(reader.channel.unacked.pop_up_to(0))
    again = bench.reader("again")
    bench.broker.pump()
    assert 0 < len(again.seqs) <= TURN_MESSAGES_MAX // REDELIVERED_COST
    bench.turn()
    assert TURN_MESSAGES_MAX == len(again.redelivered)
    readers = [bench.reader(str(i)) for i in range(2)]
    bench.queue.consumers.remove(again)
    bench.queue.give_back(again.channel.unacked.pop_up_to(0))
    bench.broker.pump()
    assert 0 < sum(len(reader.seqs) for reader in readers) <= TURN_MESSAGES_MAX // REDELIVERED_COST
