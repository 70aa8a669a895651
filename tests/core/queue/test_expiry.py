"""When a message is due: computed from its run's arrival, looked at in the head of each level only."""

import pytest

from pybroker.core.events.cause import BROKER
from pybroker.core.queue.expiry import TURN_ENTRIES_MAX, ttl_ms
from pybroker.run import RunAttributes
from tests.readers import Bench, run_of
from tests.topology import new_vhost


def with_ttl(ttl: int, **values) -> RunAttributes:
    return RunAttributes(ttl_ms=ttl, **values)


@pytest.mark.parametrize(
    ("of_queue", "of_message", "expected"),
    [(None, None, None), (5, None, 5), (None, 7, 7), (5, 7, 5), (7, 5, 5), (0, 5, 0), (5, 0, 0)],
)
def test_f32_the_lower_of_both_counts(of_queue, of_message, expected):
    arguments = {} if of_queue is None else {"x_message_ttl": of_queue}
    bench = Bench(**arguments)
    assert expected == ttl_ms(bench.queue, run_of([b"x"], attributes=RunAttributes(ttl_ms=of_message)))


def test_a_run_that_is_due_goes_as_one_entry():
    bench = Bench(x_message_ttl=100)
    bench.flood(5_000)
    bench.advance(99)
    assert 5_000 == bench.queue.messages_ready
    bench.advance(1)
    assert (0, 5_000) == (bench.queue.messages, bench.queue.expired)
    assert 0 == bench.queue.backlog.octets_ready


def test_a_message_is_never_delivered_when_it_is_due():
    bench = Bench()
    bench.flood(1, with_ttl(1_000))
    bench.flood(1, with_ttl(10))
    bench.flood(1)
    bench.flood(1, with_ttl(10))
    bench.broker.clock.advance(10)
    reader = bench.reader()
    bench.turn()
    assert ([1, 3], 2) == (reader.seqs, bench.queue.expired)


@pytest.mark.parametrize("readers", [1, 3])
def test_heads_behind_heads_expire_one_after_the_other_while_they_are_dealt(readers):
    bench = Bench()
    for i in range(9):
        bench.flood(2, with_ttl(10 if i % 3 else 1_000))
    bench.broker.clock.advance(10)
    found = [bench.reader(str(i)) for i in range(readers)]
    bench.turn()
    assert [1, 2, 7, 8, 13, 14] == sorted(seq for reader in found for seq in reader.seqs)
    assert 12 == bench.queue.expired


def test_each_level_has_its_own_head():
    bench = Bench(x_max_priority=3)
    bench.flood(1, with_ttl(1_000, priority=3))
    bench.flood(1, with_ttl(10, priority=3))
    bench.flood(1, with_ttl(10, priority=1))
    bench.flood(1, with_ttl(500, priority=0))
    bench.advance(10)
    assert [1, 2, 4] == bench.ready()
    bench.advance(490)
    assert [1, 2] == bench.ready()
    bench.advance(500)
    assert [] == bench.ready()


@pytest.mark.parametrize("of_queue", [True, False])
@pytest.mark.parametrize("count", [1, 5])
def test_ttl_zero_is_for_who_waits_and_for_nobody_else(of_queue, count):
    bench = Bench(x_message_ttl=0) if of_queue else Bench()
    attributes = RunAttributes() if of_queue else with_ttl(0)
    bench.flood(count, attributes)
    assert ([], count) == (bench.ready(), bench.queue.expired)
    reader = bench.reader(prefetch=2)
    bench.flood(count, attributes)
    assert list(range(count + 1, count + 1 + min(count, 2))) == reader.seqs
    assert [] == bench.ready()
    assert count + max(0, count - 2) == bench.queue.expired


def test_ttl_zero_behind_a_head_that_stays_waits_for_it():
    # Only heads are looked at: RabbitMQ does not see it either.
    bench = Bench()
    bench.flood(1)
    bench.flood(1, with_ttl(0))
    assert [1, 2] == bench.ready()
    entry = bench.queue.get(no_ack=True)
    assert entry is not None
    assert [] == bench.ready()


def test_get_passes_over_what_is_due():
    bench = Bench(x_message_ttl=100)
    bench.flood(2)
    bench.broker.clock.advance(100)
    bench.flood(1)
    entry = bench.queue.get(no_ack=False)
    assert entry is not None
    assert (3, 2) == (entry.first_seq, bench.queue.expired)


def test_unacknowledged_messages_do_not_expire_and_returned_ones_do_at_once():
    bench = Bench(x_message_ttl=100)
    reader = bench.reader(prefetch=2)
    bench.flood(2)
    bench.turn()
    bench.advance(5_000)
    assert 2 == bench.queue.messages_unacknowledged
    reader.channel.give_back(reader.channel.unacked.pop_up_to(1) or [], requeue=True)
    assert (1, 0, 1) == (bench.queue.messages_unacknowledged, bench.queue.messages_ready, bench.queue.expired)


def test_a_returned_head_sets_the_timer_anew():
    bench = Bench(x_message_ttl=100)
    reader = bench.reader(prefetch=1)
    bench.flood(1)
    bench.turn()
    bench.queue.consumers.remove(reader)
    bench.advance(40)
    reader.channel.give_back(reader.channel.unacked.pop_up_to(0) or [], requeue=True)
    assert bench.now_ms + 60 == bench.queue.timer_ms
    bench.advance(60)
    assert [] == bench.ready()


@pytest.mark.parametrize("reason", ["expired", "maxlen"])
def test_who_has_a_dead_letter_exchange_loses_nothing(reason):
    arguments = {"x_message_ttl": 100} if reason == "expired" else {"x_max_length": 0}
    bench = Bench(**arguments, x_dead_letter_exchange="", x_dead_letter_routing_key="dead")
    dead = Bench(bench.vhost, "dead")
    bench.flood(3)
    bench.advance(100)
    assert ([], 3) == (bench.ready(), len(dead.ready()))


# -- the queue itself -------------------------------------------------------------------------------------------------


def test_f32_an_unused_queue_goes_after_x_expires():
    bench = Bench(x_expires=1_000)
    bench.queue.touch()
    bench.flood(3)
    bench.advance(999)
    assert not bench.queue.deleted
    bench.advance(1)
    assert bench.queue.deleted
    assert {} == bench.vhost.queues


def test_f32_use_starts_the_time_anew():
    bench = Bench(x_expires=1_000)
    bench.queue.touch()
    for use in (bench.queue.touch, lambda: bench.queue.get(no_ack=True)):
        bench.advance(900)
        use()
    bench.advance(999)
    assert not bench.queue.deleted
    bench.advance(1)
    assert bench.queue.deleted


def test_f32_a_queue_with_a_consumer_is_used():
    bench = Bench(x_expires=1_000)
    bench.queue.touch()
    reader = bench.reader()
    bench.advance(5_000)
    assert not bench.queue.deleted
    bench.queue.consumers.remove(reader)
    bench.queue.consumer_left(BROKER)
    bench.advance(999)
    assert not bench.queue.deleted
    bench.advance(1)
    assert bench.queue.deleted


def test_two_queues_do_not_share_a_timer():
    vhost = new_vhost()
    one, other = Bench(vhost, "one", x_message_ttl=100), Bench(vhost, "other", x_message_ttl=150)
    one.flood(1)
    other.flood(1)
    one.advance(100)
    assert ([], [2]) == (one.ready(), other.ready())
    one.advance(50)
    assert [] == other.ready()


# -- very many, each a run of its own ---------------------------------------------------------------------------------

MANY = 3 * TURN_ENTRIES_MAX + 1


def crowd(**arguments) -> Bench:
    """Return a queue in which very many messages are due, and one behind them is not."""
    bench = Bench(**arguments)
    for _ in range(MANY):
        bench.flood(1, with_ttl(10))
    bench.flood(1, with_ttl(1_000))
    bench.broker.clock.advance(10)
    return bench


def test_very_many_that_are_due_at_once_go_a_share_in_each_turn():
    bench = crowd()
    bench.broker.timers.run(bench.now_ms)
    assert TURN_ENTRIES_MAX == bench.queue.expired
    bench.broker.pump()
    assert 2 * TURN_ENTRIES_MAX == bench.queue.expired
    bench.turn()
    assert (MANY, [MANY + 1]) == (bench.queue.expired, bench.ready())


def test_none_of_them_is_delivered_meanwhile():
    bench = crowd()
    reader = bench.reader()
    bench.broker.pump()
    bench.flood(1)
    bench.queue.catch_up()
    assert ([], TURN_ENTRIES_MAX) == (reader.seqs, bench.queue.expired)
    bench.turn()
    assert ([MANY + 1, MANY + 2], MANY) == (reader.seqs, bench.queue.expired)


def test_enqueuing_and_returning_leave_them_to_the_turn():
    bench = crowd(x_max_length=1_000_000)
    bench.broker.timers.run(bench.now_ms)
    for _ in range(5):
        bench.flood(1)
    assert TURN_ENTRIES_MAX == bench.queue.expired
    bench.turn()
    assert MANY == bench.queue.expired


def test_a_get_finds_what_is_not_due_behind_all_of_them():
    bench = crowd()
    entry = bench.queue.get(no_ack=True)
    assert entry is not None
    assert (MANY + 1, MANY) == (entry.first_seq, bench.queue.expired)
