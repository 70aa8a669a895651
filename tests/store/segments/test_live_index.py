"""The live messages are counted, whatever the order of settles; those that a queue has not settled are found again."""

from array import array

import pytest
from hypothesis import given, strategies as st

from pybroker.store.segments import ack_ranges as settleds
from pybroker.store.segments.ack_ranges import normalized, ranges, whole
from pybroker.store.segments.live_index import INDEX_EVERY_OCTETS, Index, LiveIndex, Segment, Target
from pybroker.store.segments.tidy import unsettled
from tests.store.records import SEED, listed, run_of

TARGET = Target(0, False, (1, 2))


def pairs_of(*ranges):
    return array("Q", [seq for each in ranges for seq in each])


def seqs_of(pairs):
    return [seq for first, last in ranges(pairs) for seq in range(first, last + 1)]


def test_an_index_has_a_point_every_few_octets_and_says_where_the_next_may_be():
    index = Index()
    due = index.add(1, 64)
    assert due == 64 + INDEX_EVERY_OCTETS
    assert [index.add(2, due - 1), index.add(3, due), index.add(4, due + 5)] == [due, *[due + INDEX_EVERY_OCTETS] * 2]
    assert (list(index.seqs), list(index.offsets)) == ([1, 3], [64, due])


def segments(*first_seqs):
    """Return a live_index with segments that begin with these seqs, ten messages for queues 1 and 2 in each."""
    made = LiveIndex()
    for number, first in enumerate(first_seqs, 1):
        segment = Segment(number, SEED, first, 1_000, 64)
        segment.publish(TARGET, run_of([b"x"] * 10, first), range(10))
        made.add(segment)
    return made


def live(live_index):
    return [(segment.live, dict(segment.pairs)) for segment in live_index.segments]


def test_messages_count_once_for_each_queue():
    live_index = segments(1)
    assert live(live_index) == [(20, {1: 10, 2: 10})]
    assert live_index.segments[0].published == 20


def test_messages_are_known_by_their_size():
    segment = Segment(1, SEED, 1, 1_000, 64)
    segment.publish(TARGET, run_of([b"xx"] * 3, 1), range(1, 3))
    segment.publish(TARGET, run_of([b"x", b"", b"xxx"], 4), range(3))
    segment.publish(Target(1, False, (1,)), run_of([b"x"], 9), range(1))
    assert {target: list(seq_ranges.ranges()) for target, seq_ranges in segment.by_target.items()} == {
        TARGET: [(2, 2, 2), (4, 1, 1), (5, 1, 0), (6, 1, 3)],
        Target(1, False, (1,)): [(9, 1, 1)],
    }


def test_what_is_settled_is_not_live():
    live_index = segments(1, 11, 21)
    live_index.settle(1, pairs_of((1, 4), (8, 12)))
    live_index.settle(2, pairs_of((25, 25)))
    assert live(live_index) == [(13, {1: 3, 2: 10}), (18, {1: 8, 2: 10}), (19, {1: 10, 2: 9})]
    assert live_index.settled() == {
        1: {1: pairs_of((1, 4), (8, 10))},
        2: {1: pairs_of((11, 12))},
        3: {2: pairs_of((25, 25))},
    }


def test_what_is_all_settled_keeps_its_ranges():
    # else a start would bring the messages back
    live_index = segments(1)
    live_index.settle(1, pairs_of((1, 10)))
    assert live(live_index) == [(10, {1: 0, 2: 10})]
    assert live_index.settled() == {1: {1: pairs_of((1, 10))}}


def test_a_checkpoint_has_copies():
    live_index = segments(1)
    live_index.settle(1, pairs_of((1, 4)))
    taken = live_index.settled()
    live_index.settle(1, pairs_of((5, 6)))
    assert taken == {1: {1: pairs_of((1, 4))}}


def test_of_a_queue_that_is_gone_nothing_is_live_and_nothing_is_kept():
    live_index = segments(1, 11)
    live_index.settle(1, pairs_of((1, 4)))
    live_index.forget_queue(1)
    live_index.forget_queue(7)
    live_index.settle(1, pairs_of((5, 12)))
    assert live(live_index) == [(10, {2: 10}), (10, {2: 10})]
    assert live_index.settled() == {}


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 60), st.integers(0, 60))
def test_seqs_are_located_in_the_segment_that_has_them(sizes, first, last):
    live_index = LiveIndex()
    seq = 5
    owner = {}
    for number, size in enumerate(sizes, 1):
        live_index.add(Segment(number, SEED, seq, 1_000, 64))
        owner.update(dict.fromkeys(range(seq, seq + size), number))
        seq += size
    # The last segment is still growing: what is above is in it.
    owner.update(dict.fromkeys(range(seq, 100), len(sizes)))
    found = [(s.number, each) for s, low, high in live_index.locate(first, last) for each in range(low, high + 1)]
    assert found == [(owner[each], each) for each in range(max(first, 5), last + 1)]


@given(st.randoms(use_true_random=False), st.integers(0, 200), st.integers(0, 210), st.integers(0, 210))
def test_what_is_not_settled_is_found_however_scattered_it_is(rng, count, first, last):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settleds, "NORMALIZE_AT", 4)
        patch.setattr(settleds, "PART_MAX", 8)
        patch.setattr(settleds, "JOIN_BELOW", 6)
        segment = Segment(1, SEED, 0, 1_000, 64)
        segment.count((1,), 200)
        segment.last_seq = 199
        gone = rng.sample(range(200), count)
        for seq in gone:
            segment.settle(1, seq, seq)
        gone_ranges = whole(segment.settled[1].within(first, last) if gone else ())
        found = [part[:2] for part in unsettled([(first, last, 1, 0)] if first <= last else [], gone_ranges)]
    assert segment.live == 200 - count
    assert [seq for low, high in found for seq in range(low, high + 1)] == sorted(
        set(range(first, last + 1)) - set(gone)
    )
    flat = pairs_of(*found)
    assert normalized(flat) == flat


def test_nothing_is_located_in_an_empty_ledger():
    assert list(LiveIndex().locate(1, 5)) == []


def test_a_segment_that_goes_leaves_the_others():
    live_index = segments(1, 11, 21)
    live_index.remove(live_index.segments[1])
    assert [segment.number for segment in live_index.segments] == [1, 3]
    live_index.settle(1, pairs_of((21, 22)))
    assert live(live_index) == [(20, {1: 10, 2: 10}), (18, {1: 8, 2: 10})]


def test_what_came_back_is_told_while_it_is_live():
    live_index = segments(1, 11)
    live_index.returned.add(1, 1, 0, pairs_of((3, 5), (12, 12)))
    live_index.returned.add(1, 2, 0, pairs_of((4, 4)))
    live_index.returned.add(2, 1, 0, pairs_of((4, 4)))
    assert listed(live_index.returned.tidy(live_index.settled(), 0)) == [
        (1, 3, 3, 1),
        (1, 4, 4, 2),
        (1, 5, 5, 1),
        (1, 12, 12, 1),
        (2, 4, 4, 1),
    ]
    live_index.settle(1, pairs_of((4, 5)))
    assert listed(live_index.returned.tidy(live_index.settled(), 0)) == [(1, 3, 3, 1), (1, 12, 12, 1), (2, 4, 4, 1)]
    live_index.settle(2, pairs_of((1, 20)))
    live_index.forget_queue(1)
    assert listed(live_index.returned.tidy(live_index.settled(), 0)) == []
    assert not live_index.returned
