"""Settled ranges are what was added, in as few ranges as can be; never is much brought in order at once."""

import random
from array import array
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from pybroker.store.segments import ack_ranges as settleds
from pybroker.store.segments.ack_ranges import AckRanges, normalized, ranges, whole
from tests.searches import searched

MANY = 60_000


def pairs_of(*ranges):
    return array("Q", [seq for each in ranges for seq in each])


def seqs_of(pairs):
    return [seq for first, last in ranges(pairs) for seq in range(first, last + 1)]


def apart(pairs):
    return all(last + 1 < first for last, first in zip(pairs[1::2], pairs[2::2], strict=False))


def joined(seqs):
    """Return seqs as ranges, worked out one by one."""
    made = []
    for seq in sorted(seqs):
        if made and made[-1][1] + 1 == seq:
            made[-1][1] = seq
        else:
            made.append([seq, seq])
    return pairs_of(*made)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(settleds, "NORMALIZE_AT", 4)
    monkeypatch.setattr(settleds, "PART_MAX", 8)
    monkeypatch.setattr(settleds, "JOIN_BELOW", 6)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5)), max_size=40))
def test_ranges_become_ascending_and_apart(some):
    pairs = pairs_of(*[(first, first + more) for first, more in some])
    assert normalized(pairs) == joined(set(seqs_of(pairs)))


def test_ranges_that_are_in_order_are_not_copied():
    pairs = pairs_of((1, 2), (4, 9))
    assert normalized(pairs) is pairs


def test_arrays_that_ascend_are_joined_where_they_touch():
    assert whole([]) == pairs_of()
    parts = [pairs_of((5, 6), (1, 2)), pairs_of(), pairs_of((9, 9), (7, 8)), pairs_of((11, 12))]
    assert whole(parts) == pairs_of((1, 2), (5, 9), (11, 12))


def test_what_is_settled_in_order_is_one_range():
    settled = AckRanges()
    for seq in range(10_000):
        settled.add(seq, seq)
    assert settled.copies() == [pairs_of((0, 9_999))]


def test_ranges_are_joined_now_and_then(monkeypatch):
    monkeypatch.setattr(settleds, "NORMALIZE_AT", 8)
    settled = AckRanges()
    for seq in (2, 1, 4, 3, 6, 5, 8, 7, 10, 9):
        settled.add(seq, seq)
    assert len(settled.copy()) <= 8


def shuffled(seqs, seed=1):
    made = list(seqs)
    random.Random(seed).shuffle(made)
    return made


@pytest.mark.parametrize(
    "seqs",
    [
        shuffled(range(MANY)),
        shuffled(range(0, MANY, 2)) + shuffled(range(1, MANY, 2)),
        [*range(0, MANY, 2), *range(1, MANY, 2)],
        [*range(MANY, 0, -2), *range(MANY - 1, 0, -2)],
    ],
    ids=["random", "every other one", "every other one in order", "backwards"],
)
def test_few_are_brought_in_order_at_once_and_all_is_one_in_the_end(monkeypatch, seqs):
    sizes = []
    monkeypatch.setattr(settleds, "normalized", lambda *a: sizes.append(len(a[0])) or normalized(*a))
    settled = AckRanges()
    for seq in seqs:
        settled.add(seq, seq)
    assert max(sizes) <= 2 * settleds.PART_MAX + settleds.NORMALIZE_AT + 2
    assert sum(sizes) < 40 * len(seqs)
    assert settled.normalize() == pairs_of((min(seqs), max(seqs)))


def test_parts_whose_gaps_were_filled_become_one():
    settled = AckRanges()
    most = 0
    for seq in shuffled(range(MANY)):
        settled.add(seq, seq)
        most = max(most, len(settled.copies())) if seq % 100 == 0 else most
    assert len(settled.copies()) < most // 2


def test_looking_at_ranges_again_and_again_does_not_make_what_is_sorted_longer(monkeypatch):
    sizes = []
    monkeypatch.setattr(settleds, "normalized", lambda *a: sizes.append(len(a[0])) or normalized(*a))
    settled = AckRanges()
    for n, seq in enumerate(shuffled(range(0, MANY, 2)), 1):
        settled.add(seq, seq)
        if n % 500 == 0:
            found = [pairs for pairs in settled.within(seq, seq) if seq in pairs]
            assert len(found) == 1
    assert max(sizes) <= 2 * settleds.PART_MAX + settleds.NORMALIZE_AT + 2


def test_ranges_from_a_checkpoint_are_cut_at_once(monkeypatch):
    settled = AckRanges(pairs_of(*[(seq, seq) for seq in shuffled(range(0, MANY, 4))]))
    assert max(map(len, settled.copies())) <= settleds.PART_MAX
    sizes = []
    monkeypatch.setattr(settleds, "normalized", lambda *a: sizes.append(len(a[0])) or normalized(*a))
    for seq in shuffled(seq for seq in range(MANY) if seq % 4):
        settled.add(seq, seq)
    assert max(sizes) <= 2 * settleds.PART_MAX + settleds.NORMALIZE_AT + 2
    assert settled.normalize() == pairs_of((0, MANY - 1))


def test_only_the_parts_that_are_asked_for_are_brought_in_order(monkeypatch):
    settled = AckRanges()
    for seq in shuffled(range(0, MANY, 2)):
        settled.add(seq, seq)
    sizes = []
    monkeypatch.setattr(settleds, "normalized", lambda *a: sizes.append(len(a[0])) or normalized(*a))
    assert sum(len(list(settled.within(seq, seq))) for seq in (0, MANY // 2, MANY)) == 3
    assert len(sizes) <= 3 < len(settled.copies())


def test_copies_do_not_change(small_parts):
    settled = AckRanges(pairs_of(*[(seq, seq) for seq in range(0, 60, 2)]))
    copies, copy = settled.copies(), settled.copy()
    assert len(copies) > 1
    assert [seq for each in copies for seq in each] == list(copy)
    settled.add(1, 1)
    settled.add(59, 59)
    assert [seq for each in copies for seq in each] == list(copy)
    assert seqs_of(copy) == list(range(0, 60, 2))


# Seqs from 0 on in pieces of these lengths, and what puts them in some order.
ORDERS = st.tuples(st.lists(st.integers(1, 6), min_size=1, max_size=120), st.randoms(use_true_random=False))


@searched(60, 1_000)
@given(ORDERS, st.integers(0, 30), st.integers(0, 100), st.booleans())
def test_settled_is_a_set_of_seqs(lengths_and_rng, every, begin_with, reverse):
    lengths, rng = lengths_and_rng
    pieces, at = [], 0
    for length in lengths:
        pieces.append((at, at + length - 1))
        at += length
    pieces = sorted(pieces, reverse=True) if reverse else rng.sample(pieces, len(pieces))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settleds, "NORMALIZE_AT", 4)
        patch.setattr(settleds, "PART_MAX", 8)
        patch.setattr(settleds, "JOIN_BELOW", 6)
        settled = AckRanges(pairs_of(*pieces[:begin_with]))
        model = set(seqs_of(pairs_of(*pieces[:begin_with])))
        for n, (first, last) in enumerate(pieces[begin_with:]):
            settled.add(first, last)
            model.update(range(first, last + 1))
            if every and n % every == 0:
                low = rng.randrange(at)
                high = rng.randrange(low, at)
                looked = list(settled.within(low, high))
                assert all(map(apart, looked))
                near = {seq for pairs in looked for seq in seqs_of(pairs)}
                assert {seq for seq in model if low <= seq <= high} <= near <= model
            assert model == set(seqs_of(settled.copy()))
        assert len(model) == len(seqs_of(settled.copy()))
        copies = settled.copies()
        assert [one for one in copies if not one] == ([] if model else [array("Q")])
        assert all(max(one) < min(other) for one, other in pairwise(copies))
        assert joined(model) == whole(copies) == settled.normalize() == normalized(settled.copy())
