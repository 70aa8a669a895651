"""Outstanding deliveries against a naive dict from tag to message."""

import gc
import weakref
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from pybroker.core.channel.unacked import COMPACT_AT, Batch, Unacked
from pybroker.run import PLAIN_ATTRIBUTES, Names, Run
from tests.readers import run_of, seqs
from tests.searches import share
from tests.topology import new_vhost, queue

QUEUE = queue(new_vhost(), "q")


def batch(first_tag: int, run: Run, indexes: range | None = None, deliveries: int = 0) -> Batch:
    return Batch(first_tag, QUEUE, None, run, range(run.count) if indexes is None else indexes, deliveries, 0)


def filled(*counts: int) -> Unacked:
    """Return what a channel has after deliveries of so many messages each; tags and seqs are the same numbers."""
    unacked = Unacked()
    tag = 1
    for count in counts:
        unacked.append(batch(tag, run_of([b"x"] * count, tag)))
        tag += count
    return unacked


def tags(batches: Any) -> list[int]:
    return [tag for one in batches for tag in range(one.first_tag, one.last_tag + 1)]


class UnackedMachine(RuleBasedStateMachine):
    """`model` is what is outstanding: tag -> seq. Seqs are not tags here, and ranges have steps."""

    def __init__(self) -> None:
        super().__init__()
        self.unacked = Unacked()
        self.model: dict[int, int] = {}
        self.next_tag = 1
        self.next_seq = 1_000
        self.taken: list[Batch] = []

    def check(self, found: list[Batch], expected: list[int]) -> None:
        """Compare what was taken with these tags, and with what the model has for them."""
        assert expected == tags(found)
        assert [self.model.pop(tag) for tag in expected] == seqs(found)
        self.taken += found

    @rule(count=st.integers(1, 9), start=st.integers(0, 2), step=st.integers(1, 3))
    def deliver(self, count, start, step):
        indexes = range(start, start + count * step, step)
        run = run_of([b"x"] * (indexes[-1] + 1), self.next_seq)
        self.unacked.append(batch(self.next_tag, run, indexes))
        for i, index in enumerate(indexes):
            self.model[self.next_tag + i] = self.next_seq + index
        self.next_tag += count
        self.next_seq += run.count

    @precondition(lambda self: self.next_tag > 1)
    @rule(data=st.data())
    def take(self, data):
        tag = data.draw(st.integers(0, self.next_tag))
        found = self.unacked.pop(tag)
        if tag in self.model:
            assert found is not None
            self.check([found], [tag])
        else:
            assert found is None

    @precondition(lambda self: self.model)
    @rule()
    def take_the_oldest(self):
        tag = min(self.model)
        found = self.unacked.pop(tag)
        assert found is not None
        self.check([found], [tag])

    @precondition(lambda self: self.next_tag > 1)
    @rule(data=st.data(), count=st.integers(1, 12))
    def pop_range(self, data, count):
        first = data.draw(st.sampled_from(sorted(self.model)) if self.model else st.integers(1, self.next_tag))
        expected = []
        while len(expected) < count and first + len(expected) in self.model:
            expected.append(first + len(expected))
        self.check(self.unacked.pop_range(first, first + count - 1), expected)

    @precondition(lambda self: self.next_tag > 1)
    @rule(data=st.data())
    def pop_up_to(self, data):
        tag = data.draw(st.integers(0, self.next_tag))
        found = self.unacked.pop_up_to(tag)
        if tag and tag not in self.model:
            assert found is None
        else:
            assert found is not None
            self.check(found, sorted(t for t in self.model if not tag or t <= tag))

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def put_back(self, data):
        # A rollback brings back what this transaction took: some of all, in any order.
        back = data.draw(st.lists(st.sampled_from(self.taken), unique=True))
        self.taken = [one for one in self.taken if one not in back]
        for tag, seq in zip(tags(back), seqs(back), strict=True):
            self.model[tag] = seq
        self.unacked.put_back(back)

    @rule()
    def clear(self):
        self.unacked.clear()
        self.model.clear()
        self.taken = []

    @invariant()
    def holds_the_same(self):
        assert sorted(self.model) == tags(self.unacked)
        assert [self.model[tag] for tag in sorted(self.model)] == seqs(self.unacked)
        assert len(self.model) == self.unacked.count
        oldest = next(self.unacked.oldest_first(1), None)
        assert (min(self.model) if self.model else None) == (None if oldest is None else oldest.first_tag)


@pytest.mark.search
def test_any_story_of_acknowledgements_ends_as_a_dict_would_have_it():
    run_state_machine_as_test(UnackedMachine, settings=settings(max_examples=share(48, 1_200), stateful_step_count=40))


def test_in_order_acks_of_one_delivery_split_nothing():
    unacked = filled(100)
    for tag in range(1, 100):
        found = unacked.pop(tag)
        assert [tag] == seqs([found])
        assert 1 == len(list(unacked))
    assert 1 == unacked.count


def test_a_range_behind_an_unacked_message_is_taken_in_one_piece():
    # One slow message in front of very many: each ack behind it must not move all that lies behind that one.
    unacked = filled(1, 3, 3, 3)
    _, second, third, _ = list(unacked)
    taken = unacked.pop_range(2, 8)
    assert [second, third] == taken[:2]
    assert [2, 3, 4, 5, 6, 7, 8] == tags(taken)
    assert [1, 9, 10] == tags(unacked)


def test_a_range_takes_whole_deliveries_as_they_are():
    unacked = filled(3, 3, 3)
    first, second, _ = list(unacked)
    taken = unacked.pop_range(1, 7)
    assert [first, second] == taken[:2]
    assert [1, 2, 3, 4, 5, 6, 7] == seqs(taken)
    assert [8, 9] == tags(unacked)


def test_a_range_ends_at_the_first_gap():
    unacked = filled(5)
    unacked.pop(3)
    assert [1, 2] == tags(unacked.pop_range(1, 5))
    assert [4, 5] == tags(unacked)


def test_a_range_may_begin_behind_older_ones():
    unacked = filled(5)
    assert [3, 4] == tags(unacked.pop_range(3, 4))
    assert [1, 2, 5] == tags(unacked)


def test_an_unknown_tag_of_a_multiple_takes_nothing():
    unacked = filled(5)
    unacked.pop(3)
    for tag in (3, 6, 1 << 63):
        assert unacked.pop_up_to(tag) is None
    assert 4 == unacked.count


def test_tag_zero_takes_all_and_all_may_be_nothing():
    unacked = filled(2, 2)
    assert [1, 2, 3, 4] == tags(unacked.pop_up_to(0) or [])
    assert [] == unacked.pop_up_to(0)
    assert unacked.pop_up_to(4) is None


def test_batches_since_a_tag_begin_with_its_own_or_the_next():
    unacked = filled(2, 1, 3)  # tags 1-2, 3, 4-6
    found = {tag: [each.first_tag for each in unacked.since(tag, 2)] for tag in range(9)}
    assert found == {0: [1, 3], 1: [1, 3], 2: [1, 3], 3: [3, 4], 4: [4], 5: [4], 6: [4], 7: [], 8: []}
    unacked.pop(3)
    assert [4] == [each.first_tag for each in unacked.since(3, 2)]
    unacked.pop_up_to(4)
    assert [5] == [each.first_tag for each in unacked.since(0, 2)]
    unacked.clear()
    assert [] == unacked.since(0, 2)


def test_what_was_taken_is_cut_from_the_front():
    unacked = filled(*[1] * (4 * COMPACT_AT))
    for tag in range(1, 3 * COMPACT_AT):
        unacked.pop(tag)
    assert len(unacked._batches) < 3 * COMPACT_AT
    assert 4 * COMPACT_AT == tags(unacked)[-1]


def test_a_taken_delivery_is_not_kept_alive_by_its_place():
    plain = run_of([b"x"])
    watched = Run(plain.names, plain.attributes, 1, [b""], 0, 0, 0, 0)
    unacked = Unacked()
    unacked.append(batch(1, watched))
    unacked.append(batch(2, plain))
    gone = weakref.ref(watched)
    unacked.pop(1)
    del watched
    gc.collect()
    assert gone() is None


def test_part_keeps_who_and_how_often():
    whole = Batch(10, QUEUE, None, run_of([b"x"] * 9), range(0, 9, 2), 3, 77)
    part = whole.part(1, 3)
    assert (11, 12, range(2, 6, 2), 3, 77) == (
        part.first_tag,
        part.last_tag,
        part.indexes,
        part.deliveries,
        part.delivered_ms,
    )
    assert (QUEUE, whole.run) == (part.queue, part.run)


def test_what_is_left_of_an_old_delivery_does_not_pin_its_run():
    run = Run(Names("", "q", b""), PLAIN_ATTRIBUTES, 100, [bytes([i]) * 40 for i in range(64)], 64 * 40, 64, 1, 0)
    unacked = Unacked()
    unacked.append(Batch(1, None, None, run, range(64), 0, 0))  # type: ignore[arg-type]
    unacked.pop_range(1, 30)
    unacked.pop_range(32, 64)
    unacked.unpin(999)
    assert [run] == [batch.run for batch in unacked]
    unacked.unpin(1_000)
    (left,) = unacked
    assert (1, 130, [bytes([30]) * 40]) == (left.run.count, left.run.first_seq, left.run.contents_at(left.indexes))
    assert 31 == left.first_tag
    assert [31] == [batch.first_tag for batch in unacked.pop_range(31, 31)]


def test_deliveries_that_are_most_of_their_run_stay_where_they_are():
    run = Run(Names("", "q", b""), PLAIN_ATTRIBUTES, 1, [b"x"] * 16, 16, 16, 1, 0)
    unacked = Unacked()
    unacked.append(Batch(1, None, None, run, range(2), 0, 0))  # type: ignore[arg-type]
    unacked.append(Batch(3, None, None, run, range(2, 16, 4), 0, 0))  # type: ignore[arg-type]
    unacked.unpin(10_000)
    assert [run, run] == [batch.run for batch in unacked]
