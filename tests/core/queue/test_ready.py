"""A level against a sorted list: what is ready, what was returned, and in which order it leaves."""

from itertools import pairwise

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from pybroker.core.queue.ready import Level
from pybroker.run import Entry, Run
from tests.readers import run_of, seqs
from tests.searches import share


class LevelMachine(RuleBasedStateMachine):
    """`model` is (seq, deliveries) in order; `out` are entries that left and may come back, strides of them too."""

    def __init__(self) -> None:
        super().__init__()
        self.level = Level()
        self.model: list[tuple[int, int]] = []
        self.out: list[Entry] = []
        self.next_seq = 1
        self.growing: Run | None = None

    def flat(self, entry: Entry) -> list[tuple[int, int]]:
        return [(seq, entry.deliveries) for seq in seqs([entry])]

    @rule(count=st.integers(1, 8))
    def push(self, count):
        self.growing = run_of([b"x"] * count, self.next_seq)
        self.next_seq += count
        self.level.push(self.growing, range(count))
        self.model += [(self.growing.first_seq + i, 0) for i in range(count)]

    @precondition(lambda self: self.growing is not None)
    @rule(count=st.integers(1, 5))
    def push_more_of_the_same_run(self, count):
        run = self.growing
        assert run is not None
        more = run_of([b"x"] * count)
        start = run.count
        run.extend(more.contents, more.octets, more.body_octets, more.body_size)
        self.next_seq += count
        self.level.push(run, range(start, start + count))
        self.model += [(run.first_seq + i, 0) for i in range(start, start + count)]

    @precondition(lambda self: self.model)
    @rule(count=st.integers(1, 9))
    def take(self, count):
        entry = self.level.pop(count)
        found = self.flat(entry)
        assert self.model[: len(found)] == found
        assert 1 <= len(found) <= count
        del self.model[: len(found)]
        self.out.append(entry)

    @precondition(lambda self: self.model)
    @rule(count=st.integers(2, 9), consumers=st.integers(2, 4))
    def deal(self, count, consumers):
        entry = self.level.pop(count)
        del self.model[: len(entry.indexes)]
        for i in range(consumers):
            if entry.indexes[i::consumers]:
                self.out.append(Entry(entry.run, entry.indexes[i::consumers], entry.deliveries))

    @precondition(lambda self: self.model)
    @rule(count=st.integers(1, 9))
    def pop_tail(self, count):
        # Only what was just published is refused, never what came back.
        count = min(count, sum(len(entry) for entry in self.level.ready))
        found = [one for entry in self.level.pop_tail(count) for one in self.flat(entry)]
        assert self.model[len(self.model) - count :] == found
        del self.model[len(self.model) - count :]
        self.growing = None

    @precondition(lambda self: self.out)
    @rule(data=st.data())
    def give_back(self, data):
        back = data.draw(st.lists(st.sampled_from(self.out), unique=True, min_size=1))
        self.out = [entry for entry in self.out if entry not in back]
        returned = [Entry(entry.run, entry.indexes, entry.deliveries + 1) for entry in back]
        # The first message of this level is the lowest that left: what comes back is below all that never did.
        self.model = sorted(self.model + [one for entry in returned for one in self.flat(entry)])
        self.level.give_back(returned)

    @precondition(lambda self: self.out)
    @rule(data=st.data())
    def settle_some(self, data):
        entry = data.draw(st.sampled_from(self.out))
        self.out.remove(entry)
        keep = data.draw(st.integers(0, len(entry.indexes)))
        if keep:
            self.out.append(Entry(entry.run, entry.indexes[:keep], entry.deliveries))

    @rule()
    def clear(self):
        assert [seq for seq, _ in self.model] == sorted(seqs([entry for part in self.level.clear() for entry in part]))
        self.model = []
        self.growing = None

    @invariant()
    def holds_the_same_in_the_same_order(self):
        assert self.model == [one for entry in self.level for one in self.flat(entry)]
        assert len(self.model) == self.level.count
        head = self.level.head()
        assert (self.model[0] if self.model else None) == (None if head is None else self.flat(head)[0])

    @invariant()
    def returned_entries_never_overlap(self):
        ascending = list(reversed(self.level.returned))
        for one, other in pairwise(ascending):
            assert one.last_seq < other.first_seq


@pytest.mark.search
def test_any_story_of_takes_and_returns_leaves_in_the_order_of_seqs():
    run_state_machine_as_test(LevelMachine, settings=settings(max_examples=share(50, 1_500), stateful_step_count=40))


def test_neighbours_of_one_run_are_one_entry():
    level = Level()
    run = run_of([b"x"] * 9)
    level.push(run, range(4))
    level.push(run, range(4, 9))
    assert [range(9)] == [entry.indexes for entry in level.ready]


def test_a_gap_or_another_run_is_another_entry():
    level = Level()
    run = run_of([b"x"] * 9)
    level.push(run, range(4))
    level.push(run, range(5, 9))
    level.push(run_of([b"x"], 10), range(1))
    assert 3 == len(level.ready)


def test_a_long_list_of_returned_is_entered_at_the_right_place():
    level = Level()
    runs = [run_of([b"x"] * 3, 1 + 3 * i) for i in range(50)]
    for run in runs:
        level.push(run, range(3))
    entries = [level.pop(3) for _ in runs]
    for entry in entries[::2] + entries[1::2]:
        level.give_back([entry])
    assert list(range(1, 151)) == seqs(level)
    assert 50 == len(level.returned)


def test_strides_of_three_consumers_come_back_as_one_entry():
    level = Level()
    level.push(run_of([b"x"] * 30), range(30))
    entry = level.pop(30)
    level.give_back([Entry(entry.run, entry.indexes[i::3], 1) for i in (2, 0, 1)])
    assert [range(30)] == [one.indexes for one in level.returned]


def test_strides_of_different_counts_stay_apart_in_order():
    level = Level()
    level.push(run_of([b"x"] * 6), range(6))
    entry = level.pop(6)
    level.give_back([Entry(entry.run, entry.indexes[0::2], 1), Entry(entry.run, entry.indexes[1::2], 2)])
    assert [1, 2, 3, 4, 5, 6] == seqs(level)
    assert [1, 2, 1, 2, 1, 2] == [one.deliveries for one in level]


def test_the_last_message_of_an_old_delivery_returns_amidst_the_strides_of_another():
    level = Level()
    level.push(run_of([b"x"] * 20), range(20))
    run = level.pop(20).run
    level.give_back([Entry(run, range(0, 20, 2), 1), Entry(run.part(range(5, 6)), range(1), 1)])
    assert sorted([*range(1, 20, 2), 6]) == seqs(level)
    assert 11 == level.count
