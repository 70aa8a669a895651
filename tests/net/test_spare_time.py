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


def test_steps_are_taken_in_their_order(spare):
    taken = []
    for n in range(20):
        spare.do_later(lambda n=n: taken.append(n))
    assert not taken
    assert len(spare) == 20
    until(lambda: not spare)
    assert taken == list(range(20))


def test_a_step_may_ask_for_more(spare):
    taken = []
    spare.do_later(lambda: spare.do_later(lambda: taken.append(1)))
    until(lambda: taken)


def test_the_loop_looks_for_events_in_between(spare, turns, monkeypatch):
    monkeypatch.setattr(spare_time, "CHUNK_NS", 0)
    for _ in range(10):
        spare.do_later(lambda: None)
    until(lambda: not spare)
    assert len(turns) == 10


def test_beside_others_each_period_has_its_budget(spare, others, monkeypatch):
    monkeypatch.setattr(spare_time, "CHUNK_NS", 0)
    monkeypatch.setattr(spare_time, "LEAST_NS", 1)
    monkeypatch.setattr(spare_time, "PART", 1 << 40)
    budgets = []
    begin = SpareTime._begin
    monkeypatch.setattr(
        SpareTime, "_begin", lambda self, now, budget: (budgets.append(budget), begin(self, now, budget))
    )
    others.append(1)
    for _ in range(10):
        spare.do_later(lambda: None)
    until(lambda: not spare)
    assert set(budgets) == {1}
    assert len(budgets) >= 10


def test_it_waits_for_a_loop_that_has_something_else_to_do_but_not_for_ever(spare, turns, monkeypatch, busy):
    monkeypatch.setattr(spare_time, "CHUNK_NS", 0)
    busy()
    gevent.sleep(0.01)
    for _ in range(10):
        spare.do_later(lambda: None)
    until(lambda: not spare)
    assert len(turns) == 10


def test_those_that_are_in_go_first_but_not_for_ever(spare):
    taken = []
    for n in range(2):
        spare.let_in(lambda n=n: taken.append(f"entry {n}"))
    for n in range(STEPS_PER_ENTRY + 2):
        spare.do_later(lambda n=n: taken.append(n))
    until(lambda: not spare)
    assert taken == [*range(STEPS_PER_ENTRY), "entry 0", STEPS_PER_ENTRY, STEPS_PER_ENTRY + 1, "entry 1"]


def test_a_bug_in_one_step_stops_no_other(spare, caplog):
    taken = []
    spare.do_later(lambda: 1 // 0)
    spare.do_later(lambda: taken.append(1))
    with caplog.at_level(logging.ERROR):
        until(lambda: taken)
    assert "internal error in spare time" in caplog.text


def test_with_nothing_to_do_it_costs_nothing(spare):
    spare.do_later(lambda: None)
    until(lambda: not spare)
    assert (spare._idle.active, spare._timer.active) == (False, False)
