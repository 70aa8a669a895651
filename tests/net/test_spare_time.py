"""Work that waits for the others: in order, in small pieces, not for ever; a bug in it is nobody else's."""

import logging

import gevent
import pytest
from gevent import get_hub

from pybroker.net import spare_time
from pybroker.net.spare_time import STEPS_PER_ENTRY, SpareTime
from tests.loop import until


@pytest.fixture
def turns():
    return []


@pytest.fixture
def others():
    """Anything in it stands for others that are served."""
    return []


@pytest.fixture
def spare(turns, others):
    def around(work):
        turns.append(1)
        work()

    return SpareTime(get_hub().loop, around, lambda: bool(others))


@pytest.fixture
def busy():
    """Return a function that gives the loop an event in each of its rounds, so that it is never idle."""
    watchers = []

    def busy():
        watchers.append(get_hub().loop.timer(0, 1e-9))
        watchers[-1].start(lambda: None)

    yield busy
    for each in watchers:
        each.stop()
        each.close()


def take_ten(spare):
    """Wait until ten steps are taken."""
    for _ in range(10):
        spare.do_later("step", lambda: None)
    until(lambda: not spare)


def test_steps_of_a_kind_are_taken_in_their_order(spare):
    taken = []
    for n in range(20):
        spare.do_later("step", lambda n=n: taken.append(n))
    assert not taken
    assert len(spare) == 20
    until(lambda: not spare)
    assert taken == list(range(20))


def test_steps_of_a_kind_follow_each_other_but_not_for_ever(spare, monkeypatch):
    monkeypatch.setattr(spare_time, "ROW_MAX", 3)
    taken = []
    for _ in range(5):
        for kind in ("a", "b"):
            spare.do_later(kind, lambda kind=kind: taken.append(kind))
    spare.do_later("c", lambda: taken.append("c"))
    assert len(spare) == 11
    until(lambda: not spare)
    assert "".join(taken) == "aaabbbcaabb"


def test_a_step_may_ask_for_more(spare):
    taken = []
    spare.do_later("step", lambda: spare.do_later("step", lambda: taken.append(1)))
    until(lambda: taken)


def test_the_loop_looks_for_events_in_between(spare, turns, monkeypatch):
    monkeypatch.setattr(spare_time, "CHUNK_NS", 0)
    take_ten(spare)
    assert len(turns) == 10


def test_beside_others_each_period_has_its_budget(spare, others, monkeypatch):
    monkeypatch.setattr(spare_time, "CHUNK_NS", 0)
    monkeypatch.setattr(spare_time, "LEAST_NS", 1)
    monkeypatch.setattr(spare_time, "PART", 1 << 40)
    budgets = []
    begin = SpareTime._begin
    monkeypatch.setattr(
        SpareTime, "_begin", lambda self, now, cpu, budget: (budgets.append(budget), begin(self, now, cpu, budget))
    )
    others.append(1)
    take_ten(spare)
    assert set(budgets) == {1}
    assert len(budgets) >= 10


def test_beside_others_the_loop_looks_for_events_after_each_step(spare, others, turns, monkeypatch):
    monkeypatch.setattr(spare_time, "CHUNK_NS", 1 << 62)
    monkeypatch.setattr(spare_time, "LEAST_NS", 1 << 61)
    monkeypatch.setattr(SpareTime, "_on_timer", lambda _: None)
    others.append(1)
    take_ten(spare)
    assert len(turns) == 10


def test_beside_others_that_leave_nothing_some_are_taken_in_each_period(spare, others, turns, monkeypatch, busy):
    monkeypatch.setattr(spare_time, "CHUNK_NS", 1 << 62)
    others.append(1)
    busy()
    gevent.sleep(0.01)
    take_ten(spare)
    assert len(turns) == 1


def test_it_waits_for_a_loop_that_has_something_else_to_do_but_not_for_ever(spare, turns, monkeypatch, busy):
    monkeypatch.setattr(spare_time, "CHUNK_NS", 0)
    busy()
    gevent.sleep(0.01)
    take_ten(spare)
    assert len(turns) == 10


def test_those_that_are_in_go_first_but_not_for_ever(spare):
    taken = []
    for n in range(2):
        spare.let_in(lambda n=n: taken.append(f"entry {n}"))
    for n in range(STEPS_PER_ENTRY + 2):
        spare.do_later("step", lambda n=n: taken.append(n))
    until(lambda: not spare)
    assert taken == [*range(STEPS_PER_ENTRY), "entry 0", STEPS_PER_ENTRY, STEPS_PER_ENTRY + 1, "entry 1"]


def test_a_bug_in_one_step_stops_no_other(spare, caplog):
    taken = []
    spare.do_later("step", lambda: 1 // 0)
    spare.do_later("step", lambda: taken.append(1))
    with caplog.at_level(logging.ERROR):
        until(lambda: taken)
    assert "internal error in spare time" in caplog.text


def test_with_nothing_to_do_it_costs_nothing(spare):
    spare.do_later("step", lambda: None)
    until(lambda: not spare)
    assert (spare._idle.active, spare._timer.active) == (False, False)


def walks(spare, taken, count, looks):
    """Start so many greenlets, each of which looks so often, and pauses behind each look."""

    def walk(n):
        for _ in range(looks):
            taken.append(n)
            spare.pause(0)

    return [gevent.spawn(walk, n) for n in range(count)]


def test_greenlets_that_pause_take_turns_and_the_loop_looks_for_events_in_between(spare, turns, monkeypatch):
    monkeypatch.setattr(spare_time, "CHUNK_NS", 0)
    taken = []
    gevent.joinall(walks(spare, taken, 3, 4))
    assert taken == [0, 1, 2] * 4
    assert len(turns) == 12


def test_a_greenlet_goes_on_until_its_step_is_over(spare, turns, monkeypatch):
    monkeypatch.setattr(spare_time, "CHUNK_NS", 1 << 62)
    taken = []
    gevent.joinall(walks(spare, taken, 2, 5))
    assert taken == [0, 1, *[0] * 4, *[1] * 4]
    assert len(turns) == 1


def test_beside_others_all_greenlets_together_have_the_budget_of_one(spare, others, turns, monkeypatch):
    monkeypatch.setattr(spare_time, "CHUNK_NS", 0)
    monkeypatch.setattr(spare_time, "LEAST_NS", 1)
    monkeypatch.setattr(spare_time, "PART", 1 << 40)
    began = []
    begin = SpareTime._begin
    monkeypatch.setattr(SpareTime, "_begin", lambda self, *given: (began.append(given), begin(self, *given)))
    others.append(1)
    gevent.joinall(walks(spare, [], 5, 2))
    assert len(began) >= len(turns) == 10


def test_newcomers_and_greenlets_take_turns(spare, monkeypatch):
    monkeypatch.setattr(spare_time, "CHUNK_NS", 0)
    taken = []
    walks(spare, taken, 1, 4)
    gevent.sleep(0)
    for _ in range(3):
        spare.do_later("step", lambda: taken.append("newcomer"))
    until(lambda: not spare)
    assert taken == [0, "newcomer", 0, "newcomer", 0, "newcomer", 0]


def test_a_greenlet_that_is_killed_in_the_line_holds_up_nobody(spare, monkeypatch):
    monkeypatch.setattr(spare_time, "CHUNK_NS", 0)
    taken = []
    walkers = walks(spare, taken, 2, 3)
    gevent.sleep(0)
    walkers[0].kill(block=False)
    gevent.joinall(walkers)
    assert taken == [0, 1, 1, 1]
    assert not spare


def test_a_longer_pause_lasts_and_ends_in_the_line(spare, turns):
    spare.pause(0.001)
    assert len(turns) == 1


def test_in_the_end_all_steps_are_taken_at_once(spare, caplog):
    done = []

    def first():
        done.append(1)
        spare.do_later("step", lambda: done.append(3))

    def broken():
        raise ValueError

    spare.do_later("step", first)
    spare.do_later("step", broken)
    spare.do_later("step", lambda: done.append(2))
    spare.let_in(lambda: done.append(4))
    spare.finish()
    assert done == [1, 2, 3]
    assert "internal error in spare time" in caplog.text


def test_a_greenlet_may_go_on_ahead_of_others(spare, others):
    others.append("served")
    order = []

    def command(name):
        spare.pause(0)
        order.append(name)

    def tick():
        spare.pause(0, ahead=True)
        order.append("tick")

    greenlets = [gevent.spawn(command, name) for name in range(5)]
    gevent.sleep(0)
    greenlets.append(gevent.spawn(tick))
    gevent.joinall(greenlets, timeout=60)
    assert order.index("tick") <= 1
    assert [each for each in order if each != "tick"] == [0, 1, 2, 3, 4]
