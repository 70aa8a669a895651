"""Confirms against a naive list: each publish is answered once, in order, when all its logs are done or one failed."""

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from pybroker.core.channel.confirm import ConfirmLine
from pybroker.core.channel.receipt import Receipt
from pybroker.store.log import Log
from tests.searches import share

LOGS = 3


class Counting:
    """An exchange that counts what was confirmed."""

    def __init__(self) -> None:
        self.confirmed = 0

    def count_confirmed(self, messages: int) -> None:
        assert messages > 0
        self.confirmed += messages


EXCHANGE = Counting()


def waiting(*waits: tuple[Log, int]) -> Receipt:
    receipt = Receipt()
    for log, position in waits:
        receipt.wait(log, position)
    return receipt


class ConfirmMachine(RuleBasedStateMachine):
    """`waits` has for each publish the logs that it waits for, `rejected` those that a queue refused, `told` answers.

    `to` has the exchange of each, all of which count their own confirms.

    A receipt that the line does not keep is used again, as a channel does.
    """

    def __init__(self) -> None:
        super().__init__()
        self.line = ConfirmLine()
        self.logs = [Log() for _ in range(LOGS)]
        self.positions = [1] * LOGS  # of what each log gathers
        self.waits: list[dict[int, int]] = []
        self.rejected: set[int] = set()
        self.told: list[bool] = []
        self.receipt = Receipt()
        self.exchanges = [Counting() for _ in range(3)]
        self.to: list[Counting] = []

    @rule(count=st.integers(1, 20), reached=st.sets(st.integers(0, LOGS - 1)), data=st.data())
    def publish(self, count, reached, data):
        receipt, first = self.receipt, len(self.waits)
        exchange = data.draw(st.sampled_from(self.exchanges))
        self.to += [exchange] * count
        for number in data.draw(st.permutations(sorted(reached))):
            receipt.wait(self.logs[number], self.positions[number])
        refused = data.draw(st.sets(st.integers(0, count - 1), max_size=3))
        for _ in range(2):  # by two queues
            for index in refused:
                receipt.reject(range(index, index + 1))
        # With nothing to wait for it is answered with the one before it.
        waits = {number: self.positions[number] for number in reached}
        if not waits and len(self.told) < first:
            waits = self.waits[-1]
        self.waits += [waits] * count
        self.rejected |= {first + index for index in refused}
        if self.line.add(count, receipt, exchange) or receipt.log is not None or receipt.rejected:
            self.receipt = Receipt()

    @rule(number=st.integers(0, LOGS - 1))
    def seal(self, number):
        self.positions[number] += 1

    @precondition(lambda self: any(log.completed + 1 < at for log, at in zip(self.logs, self.positions, strict=True)))
    @rule(data=st.data())
    def complete(self, data):
        number = data.draw(st.integers(0, LOGS - 1))
        log, last = self.logs[number], self.positions[number] - 1
        if not log.failed and log.completed < last:
            log.completed = data.draw(st.integers(log.completed + 1, last))

    @rule(number=st.integers(0, LOGS - 1), often=st.integers(0, 9))
    def fail(self, number, often):
        if not often:
            self.logs[number].failed = "Input/output error"

    def expected(self) -> list[bool]:
        """Return what the publishes that have no answer get now."""
        out = []
        for seq in range(len(self.told), len(self.waits)):
            left = [self.logs[number] for number, at in self.waits[seq].items() if at > self.logs[number].completed]
            if left and not any(log.failed for log in left):
                break
            out.append(not left and seq not in self.rejected)
        return out

    @rule()
    def take(self):
        expected, found = self.expected(), []
        begin = len(self.told)
        for ack, seq, multiple in self.line.pop():
            count = seq - begin - len(found)
            assert multiple == (count > 1)
            found += [ack] * count
        assert expected == found
        self.told += found
        if self.line.awaited is None:
            assert len(self.told) == len(self.waits)
        else:
            number = self.logs.index(self.line.awaited)
            assert self.waits[len(self.told)][number] > self.line.awaited.completed

    @invariant()
    def counts_what_waits(self):
        assert len(self.waits) - len(self.told) == self.line.unconfirmed
        assert len(self.waits) + 1 == self.line.next_seq
        assert sum(self.told) == self.line.confirmed
        for exchange in self.exchanges:
            confirmed = [told for told, to in zip(self.told, self.to, strict=False) if to is exchange]
            assert sum(confirmed) == exchange.confirmed

    def teardown(self):
        for log, at in zip(self.logs, self.positions, strict=True):
            if not log.failed:
                log.completed = at
        self.take()
        assert len(self.waits) == len(self.told), "a publish without an answer"
        assert not self.line.line


@pytest.mark.search
def test_any_story_of_publishes_commits_and_failures_answers_each_once():
    run_state_machine_as_test(ConfirmMachine, settings=settings(max_examples=share(40, 1_000), stateful_step_count=25))


def test_what_arrived_together_is_confirmed_by_one_frame():
    line = ConfirmLine()
    line.add(500, Receipt(), EXCHANGE)
    line.add(20, Receipt(), EXCHANGE)
    assert [(True, 520, True)] == line.pop()


def test_a_single_one_is_not_multiple():
    line = ConfirmLine()
    line.add(1, Receipt(), EXCHANGE)
    assert [(True, 1, False)] == line.pop()
    line.add(1, Receipt(), EXCHANGE)
    assert [(True, 2, False)] == line.pop()


def test_nothing_new_is_nothing_to_say():
    line = ConfirmLine()
    assert [] == line.pop()
    line.add(1, Receipt(), EXCHANGE)
    line.pop()
    assert [] == line.pop()


def test_rejected_ones_stand_in_their_place():
    line, receipt = ConfirmLine(), Receipt()
    for index in (4, 1, 2):
        receipt.reject(range(index, index + 1))
    line.add(6, receipt, EXCHANGE)
    found = [(True, 1, False), (False, 2, False), (False, 3, False), (True, 4, False), (False, 5, False)]
    assert [*found, (True, 6, False)] == line.pop()


def test_a_transient_one_waits_for_the_persistent_ones_before_it():
    line, log = ConfirmLine(), Log()
    for count, receipt in ((2, waiting((log, 7))), (1, Receipt()), (1, waiting((log, 8))), (1, Receipt())):
        line.add(count, receipt, EXCHANGE)
    told = []
    for log.completed in (6, 7, 8):
        told.append(line.pop())
    assert [[], [(True, 3, True)], [(True, 5, True)]] == told


def test_a_rejection_behind_an_uncommitted_one_waits_too():
    line, log = ConfirmLine(), Log()
    line.add(1, waiting((log, 1)), EXCHANGE)
    receipt = Receipt()
    receipt.reject(range(1))
    line.add(1, receipt, EXCHANGE)
    assert [] == line.pop()
    log.completed = 1
    assert [(True, 1, False), (False, 2, False)] == line.pop()


def test_the_line_is_as_long_as_there_are_positions_not_messages():
    line, logs = ConfirmLine(), (Log(), Log())
    kept = 0
    for _ in range(1_000):
        kept += line.add(3, waiting((logs[0], 1), (logs[1], 9)), EXCHANGE)
        kept += line.add(3, Receipt(), EXCHANGE)
    assert (1, 1) == (len(line.line), kept)


def test_what_waits_for_another_log_than_the_one_that_failed_is_not_refused():
    line, broken, sound = ConfirmLine(), Log(), Log()
    waits = [[(broken, 1)], [(broken, 2)], [(sound, 1)], [(sound, 1), (broken, 2)], [(sound, 2)]]
    for each in waits:
        line.add(2, waiting(*each), EXCHANGE)
    broken.completed = sound.completed = 1
    broken.failed = "Input/output error"
    assert [(True, 2, True), (False, 4, True), (True, 6, True), (False, 8, True)] == line.pop()
    assert (2, sound) == (line.unconfirmed, line.awaited)


def test_what_will_never_be_on_disk_is_refused_by_one_frame():
    line, log = ConfirmLine(), Log()
    line.add(2, waiting((log, 1)), EXCHANGE)
    receipt = waiting((log, 2))
    receipt.reject(range(1, 2))
    line.add(3, receipt, EXCHANGE)
    line.add(1, Receipt(), EXCHANGE)
    line.add(1, waiting((log, 3)), EXCHANGE)
    log.completed, log.failed = 1, "Input/output error"
    assert [(True, 2, True), (False, 7, True)] == line.pop()
    assert ([], 0, 0) == (line.pop(), line.unconfirmed, len(line.line))
    line.add(1, waiting((log, 3)), EXCHANGE)
    assert [(False, 8, False)] == line.pop()
