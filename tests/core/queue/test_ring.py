"""The next consumer (F18): round robin among the able of the highest priority; single active and exclusive ones."""

import pytest
from hypothesis import given, strategies as st

from tests.readers import Bench, Reader


def seqs(*readers: Reader) -> list[list[int]]:
    return [reader.seqs for reader in readers]


# -- round robin ------------------------------------------------------------------------------------------------------


def test_f18_single_messages_go_round():
    bench = Bench()
    a, b, c = (bench.reader(tag) for tag in "abc")
    for _ in range(7):
        bench.flood(1)
        bench.turn()
    assert [[1, 4, 7], [2, 5], [3, 6]] == seqs(a, b, c)


def test_f18_a_flood_is_dealt_like_cards():
    bench = Bench()
    a, b, c = (bench.reader(tag) for tag in "abc")
    bench.flood(8)
    bench.turn()
    assert [[1, 4, 7], [2, 5, 8], [3, 6]] == seqs(a, b, c)


def test_f18_the_next_flood_begins_where_the_last_one_ended():
    bench = Bench()
    a, b, c = (bench.reader(tag) for tag in "abc")
    for count in (2, 2, 1, 3):
        bench.flood(count)
        bench.turn()
    assert [[1, 4, 7], [2, 5, 8], [3, 6]] == seqs(a, b, c)


@given(counts=st.lists(st.integers(1, 600), min_size=1, max_size=6), readers=st.integers(1, 7))
def test_f18_nobody_gets_more_than_one_above_another(counts, readers):
    bench = Bench()
    found = [bench.reader(str(i)) for i in range(readers)]
    for count in counts:
        bench.flood(count)
        bench.turn()
        shares = [len(reader.seqs) for reader in found]
        assert max(shares) - min(shares) <= 1
    assert list(range(1, sum(counts) + 1)) == sorted(seq for reader in found for seq in reader.seqs)
    assert all(reader.seqs == sorted(reader.seqs) for reader in found)


# -- credit -----------------------------------------------------------------------------------------------------------


@given(
    prefetches=st.lists(st.integers(1, 5), min_size=1, max_size=5),
    count=st.integers(1, 30),
)
def test_f18_nobody_gets_more_than_its_prefetch(prefetches, count):
    bench = Bench()
    readers = [bench.reader(str(i), prefetch=prefetch) for i, prefetch in enumerate(prefetches)]
    bench.flood(count)
    bench.turn()
    assert all(len(reader.seqs) <= reader.prefetch for reader in readers)
    assert min(count, sum(prefetches)) == sum(len(reader.seqs) for reader in readers)
    assert list(range(1, min(count, sum(prefetches)) + 1)) == sorted(seq for r in readers for seq in r.seqs)


def test_f18_who_has_no_credit_is_passed_over_and_comes_back_with_it():
    bench = Bench()
    a, b = bench.reader("a", prefetch=1), bench.reader("b")
    bench.flood(4)
    bench.turn()
    assert [[1], [2, 3, 4]] == seqs(a, b)
    batch = a.channel.unacked.pop(1)
    assert batch is not None
    a.channel.settle([batch])
    bench.flood(2)
    bench.turn()
    assert 2 == len(a.seqs)
    assert 6 == len(a.seqs) + len(b.seqs)


@pytest.mark.parametrize("count", [3, 4, 20])
def test_g15_the_channels_limit_holds_for_two_consumers_of_one_queue(count):
    bench = Bench()
    channel = bench.channel()
    channel.prefetch_global = 3
    a, b = bench.reader("a", channel), bench.reader("b", channel)
    bench.flood(count)
    bench.turn()
    assert [1, 2, 3] == sorted(a.seqs + b.seqs)
    assert 3 == channel.unacked_consumed
    taken = channel.unacked.pop_up_to(2)
    assert taken is not None
    channel.settle(taken)
    bench.turn()
    assert min(count, 5) == len(a.seqs + b.seqs)


def test_g15_a_neighbour_without_a_limit_is_served_beside_it():
    bench = Bench()
    channel = bench.channel()
    channel.prefetch_global = 2
    a, b, free = bench.reader("a", channel), bench.reader("b", channel), bench.reader("free")
    bench.flood(10)
    bench.turn()
    assert (2, 8) == (len(a.seqs + b.seqs), len(free.seqs))


def test_a_paused_channel_gets_nothing_until_it_goes_on():
    bench = Bench()
    a = bench.reader("a")
    a.channel.may_deliver = False
    bench.flood(2)
    bench.turn()
    assert [] == a.seqs
    a.channel.may_deliver = True
    a.channel.resume_consumers()
    bench.turn()
    assert [1, 2] == a.seqs


def test_a_full_outbox_gets_nothing():
    bench = Bench()
    a, b = bench.reader("a"), bench.reader("b")
    a.channel.session.outbox_full = True
    bench.flood(3)
    bench.turn()
    assert [[], [1, 2, 3]] == seqs(a, b)


# -- priorities -------------------------------------------------------------------------------------------------------


def test_f18_higher_priority_is_served_while_it_is_able():
    bench = Bench()
    low, high = bench.reader("low", prefetch=2), bench.reader("high", prefetch=3, priority=5)
    bench.flood(4)
    bench.turn()
    assert [[4], [1, 2, 3]] == seqs(low, high)


def test_f18_equal_ones_of_the_highest_go_round():
    bench = Bench()
    low, a, b = bench.reader("low", priority=-1), bench.reader("a"), bench.reader("b")
    bench.flood(4)
    bench.turn()
    assert [[], [1, 3], [2, 4]] == seqs(low, a, b)


def test_a_consumer_without_credit_leaves_no_ring_behind():
    # Each priority has its ring; a client may use a new one each time.
    bench = Bench()
    bench.flood(100)
    for priority in range(50):
        reader = bench.reader(prefetch=1, priority=priority)
        bench.turn()
        assert 1 == len(reader.seqs)
        bench.queue.consumers.remove(reader)
    waiting = bench.queue.consumers._waiting
    assert ({}, []) == (waiting.rings, waiting.priorities)


# -- single active consumer -------------------------------------------------------------------------------------------


def test_the_first_is_the_single_active_consumer_and_the_oldest_its_heir():
    bench = Bench(x_single_active_consumer=True)
    a, b, c = (bench.reader(tag) for tag in "abc")
    consumers = bench.queue.consumers
    for expected in (a, b, c):
        assert expected is consumers.active
        assert [expected] == [one for one in (a, b, c) if one.active]
        bench.flood(2)
        bench.turn()
        assert 2 == len(expected.seqs)
        consumers.remove(expected)
    assert consumers.active is None
    assert [[1, 2], [3, 4], [5, 6]] == seqs(a, b, c)


def test_the_heir_is_the_one_of_highest_priority():
    bench = Bench(x_single_active_consumer=True)
    a, b, c, d = bench.reader("a"), bench.reader("b"), bench.reader("c", priority=3), bench.reader("d", priority=3)
    assert a is bench.queue.consumers.active  # a higher one that comes later does not replace it
    bench.queue.consumers.remove(b)
    assert a is bench.queue.consumers.active
    bench.queue.consumers.remove(a)
    assert c is bench.queue.consumers.active
    assert not d.active


def test_an_heir_gets_what_the_last_one_had_no_credit_for():
    bench = Bench(x_single_active_consumer=True)
    a, b = bench.reader("a", prefetch=1), bench.reader("b", prefetch=1)
    bench.flood(3)
    bench.turn()
    assert [[1], []] == seqs(a, b)
    bench.queue.consumers.remove(a)
    bench.queue.wake()
    bench.turn()
    assert [[1], [2]] == seqs(a, b)


def test_without_the_argument_there_is_no_single_active_consumer():
    bench = Bench()
    a, b = bench.reader("a"), bench.reader("b")
    assert bench.queue.consumers.active is None
    assert a.active
    assert b.active


# -- who there is -----------------------------------------------------------------------------------------------------


def test_the_exclusive_one_is_known_until_it_leaves():
    bench = Bench()
    consumers = bench.queue.consumers
    reader = bench.reader("x", exclusive=True)
    assert reader is consumers.exclusive
    consumers.remove(reader)
    assert consumers.exclusive is None


def test_all_are_listed_in_order_of_subscription_whatever_they_can_take():
    bench = Bench()
    a, b, c = bench.reader("a", prefetch=1), bench.reader("b", priority=9), bench.reader("c", prefetch=1)
    bench.flood(9)
    bench.turn()
    consumers = bench.queue.consumers
    assert [a, b, c] == list(consumers)
    consumers.remove(b)
    assert [a, c] == list(consumers)
    assert 2 == len(consumers) == bench.queue.consumer_count


def test_leaving_twice_is_leaving_once():
    bench = Bench()
    a, b = bench.reader("a"), bench.reader("b")
    for _ in range(2):
        bench.queue.consumers.remove(a)
    bench.flood(2)
    bench.turn()
    assert [[], [1, 2]] == seqs(a, b)


def test_who_left_gets_nothing_even_if_its_credit_comes_back():
    bench = Bench()
    a = bench.reader("a", prefetch=1)
    bench.flood(2)
    bench.turn()
    bench.queue.consumers.remove(a)
    batch = a.channel.unacked.pop(1)
    assert batch is not None
    a.channel.settle([batch])
    bench.turn()
    assert [1] == a.seqs
    assert [2] == bench.ready()


# -- very many --------------------------------------------------------------------------------------------------------


class Watched(Reader):
    """Counts how often somebody looks at a consumer's priority, or compares it with another one."""

    looks = 0
    __hash__ = Reader.__hash__

    @property
    def priority(self) -> int:
        Watched.looks += 1
        return self._priority

    @priority.setter
    def priority(self, value: int) -> None:
        self._priority = value

    def __eq__(self, other: object) -> bool:
        Watched.looks += 1
        return self is other


def watched(bench: Bench, count: int, **options: int) -> list[Watched]:
    readers = [Watched(bench.queue, bench.channel(), str(i), **options) for i in range(count)]
    for reader in readers:
        bench.queue.consumers.add(reader)
    Watched.looks = 0
    return readers


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("single", [False, True])
def test_very_many_leave_without_a_look_at_the_others(single, backwards):
    bench = Bench(x_single_active_consumer=True) if single else Bench()
    readers = watched(bench, 1_000)
    for reader in reversed(readers) if backwards else readers:
        bench.queue.consumers.remove(reader)
    assert Watched.looks < 10 * len(readers)
    assert 0 == len(bench.queue.consumers)


def test_who_comes_and_goes_leaves_nothing_behind():
    bench = Bench()
    first = bench.reader("first")
    for _ in range(1_000):
        bench.queue.consumers.remove(bench.reader("more"))
    waiting = bench.queue.consumers._waiting
    assert len(waiting.rings[0]) < 100
    bench.flood(3)
    bench.turn()
    assert [1, 2, 3] == first.seqs


def test_whoever_has_no_credit_is_not_looked_at_again_in_any_priority():
    bench = Bench()
    readers = [bench.reader(prefetch=1, priority=priority) for priority in range(100)]
    bench.flood(101)
    bench.turn()
    assert [1] * 100 == [len(reader.seqs) for reader in readers]
    assert 1 == len(bench.queue.consumers._waiting.priorities)
    batch = readers[50].channel.unacked.pop(1)
    assert batch is not None
    readers[50].channel.settle([batch])
    bench.turn()
    assert 2 == len(readers[50].seqs)


@given(st.lists(st.tuples(st.sampled_from(["join", "leave", "flood"]), st.integers(0, 7)), max_size=40), st.booleans())
def test_whose_turn_it_is_as_in_a_plain_list(steps, single):
    bench = Bench(x_single_active_consumer=True) if single else Bench()
    there: list[Reader] = []
    active: Reader | None = None
    for step, number in steps:
        if step == "join":
            there.append(bench.reader(priority=number % 3, prefetch=1 + number))
            active = active or there[0]
        elif step == "leave" and there:
            gone = there.pop(number % len(there))
            bench.queue.consumers.remove(gone)
            if gone is active:
                active = max(there, key=lambda reader: reader.priority) if there else None
        elif step == "flood":
            bench.flood(number)
            bench.turn()
        assert there == list(bench.queue.consumers)
        able = [reader for reader in there if reader.credit() and (not single or reader is active)]
        bench.queue.wake()
        bench.turn()
        assert not (able and bench.ready()) or not any(reader.credit() for reader in able)
        if single:
            assert active is bench.queue.consumers.active
