"""Confirms against a naive list: each publish is answered once, in order, when its tickets are on disk."""

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from pybroker.core.confirm import ConfirmLine


class ConfirmMachine(RuleBasedStateMachine):
    """`waits` is the ticket of each publish, `rejected` those that get a nack, `told` what the publisher has heard."""

    def __init__(self) -> None:
        super().__init__()
        self.line = ConfirmLine()
        self.waits: dict[int, int] = {}
        self.rejected: set[int] = set()
        self.told: dict[int, bool] = {}
        self.ticket = 0
        self.completed = 0

    @rule(count=st.integers(1, 20), lasting=st.booleans(), data=st.data())
    def publish(self, count, lasting, data):
        self.ticket += lasting
        first = self.line.add(count, self.ticket if lasting else 0)
        assert len(self.waits) + 1 == first
        for seq in range(first, first + count):
            self.waits[seq] = self.ticket if lasting else 0
        for seq in data.draw(st.sets(st.integers(first, first + count - 1), max_size=3)):
            self.line.reject(seq)
            self.rejected.add(seq)

    @rule()
    def rejected_by_two_queues(self):
        for seq in sorted(self.rejected - self.told.keys()):
            self.line.reject(seq)

    @precondition(lambda self: self.completed < self.ticket)
    @rule(data=st.data())
    def commit(self, data):
        self.completed = data.draw(st.integers(self.completed + 1, self.ticket))

    @rule()
    def take(self):
        found = self.line.take(self.completed)
        for ack, seq, multiple in found:
            begin = max(self.told, default=0) + 1 if multiple else seq
            for each in range(begin, seq + 1):
                assert each not in self.told, f"publish {each} answered twice"
                self.told[each] = ack
        assert list(range(1, len(self.told) + 1)) == sorted(self.told)

    @invariant()
    def answers_are_true_and_not_too_early(self):
        for seq, ack in self.told.items():
            assert self.waits[seq] <= self.completed
            assert (seq not in self.rejected) == ack

    @invariant()
    def counts_what_waits(self):
        assert len(self.waits) - len(self.told) == self.line.unconfirmed

    def teardown(self):
        self.completed = self.ticket
        self.take()
        assert len(self.waits) == len(self.told), "a publish without an answer"


def test_any_story_of_publishes_and_commits_answers_each_once():
    run_state_machine_as_test(ConfirmMachine, settings=settings(max_examples=100, deadline=None))


def test_what_arrived_together_is_confirmed_by_one_frame():
    line = ConfirmLine()
    assert 1 == line.add(500)
    assert 501 == line.add(20)
    assert [(True, 520, True)] == line.take(0)


def test_a_single_one_is_not_multiple():
    line = ConfirmLine()
    line.add(1)
    assert [(True, 1, False)] == line.take(0)
    line.add(1)
    assert [(True, 2, False)] == line.take(0)


def test_nothing_new_is_nothing_to_say():
    line = ConfirmLine()
    assert [] == line.take(0)
    line.add(1)
    line.take(0)
    assert [] == line.take(99)


def test_rejected_ones_stand_in_their_place():
    line = ConfirmLine()
    line.add(6)
    for seq in (5, 2, 3):
        line.reject(seq)
    found = [(True, 1, False), (False, 2, False), (False, 3, False), (True, 4, False), (False, 5, False)]
    assert [*found, (True, 6, False)] == line.take(0)


def test_a_transient_one_waits_for_the_persistent_ones_before_it():
    line = ConfirmLine()
    line.add(2, ticket=7)
    line.add(1)
    line.add(1, ticket=8)
    line.add(1)
    assert [] == line.take(6)
    assert [(True, 3, True)] == line.take(7)
    assert [(True, 5, True)] == line.take(8)


def test_a_rejection_behind_an_uncommitted_one_waits_too():
    line = ConfirmLine()
    line.add(1, ticket=1)
    line.add(1)
    line.reject(2)
    assert [] == line.take(0)
    assert [(True, 1, False), (False, 2, False)] == line.take(1)


def test_the_line_is_as_long_as_there_are_tickets_not_messages():
    line = ConfirmLine()
    for _ in range(1_000):
        line.add(3, ticket=1)
        line.add(3)
    assert 1 == len(line.line)


def test_what_will_never_be_on_disk_is_refused_by_one_frame():
    line = ConfirmLine()
    line.add(2, ticket=1)
    line.add(3, ticket=2)
    line.add(1)
    line.reject(4)
    assert [1, 2] == [ticket for ticket, _ in line.line]
    assert [(True, 2, True)] == line.take(1)
    assert [(False, 6, True)] == line.give_up()
    assert ([], [], 0, 0) == (line.give_up(), line.take(9), line.unconfirmed, len(line.line))
    line.add(1, ticket=3)
    assert [(False, 7, False)] == line.give_up()
