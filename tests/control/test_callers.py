"""Which caller gives way to a newcomer."""

import pytest

from pybroker.control.callers import IDLE_S_MIN, STUCK_S_MIN, Caller, Callers


@pytest.fixture
def callers():
    """Return a function that makes callers, idle since the given seconds; None: one that is being served."""

    def make(*since):
        all_ = Callers()
        for idle_since_s in since:
            caller = Caller(None, 0.0)
            caller.idle_since_s = idle_since_s
            all_.add(caller)
        return all_

    return make


def test_the_one_that_was_idle_longest_gives_way(callers):
    assert callers(7.0, 5.0, None, 6.0).longest_idle(100.0).idle_since_s == 5.0


def test_nobody_gives_way_who_is_served_or_has_just_come(callers):
    assert callers(None, None).longest_idle(100.0) is None
    assert callers(None, 100.0 - IDLE_S_MIN / 2).longest_idle(100.0) is None


@pytest.mark.parametrize("amid", ["asking", "is_amid_line"])
def test_one_amid_a_request_or_a_line_gives_way_later(callers, amid):
    both = callers(90.0, 95.0)
    first, second = both._all
    setattr(first, amid, True)
    assert both.longest_idle(89.9 + STUCK_S_MIN) is second
    assert both.longest_idle(90.0 + STUCK_S_MIN) is first


def test_callers_take_an_eighth_of_the_descriptors_at_most(callers, monkeypatch):
    some = callers(*[None] * 8)
    assert (len(some), some.full) == (8, False)
    monkeypatch.setattr("resource.getrlimit", lambda _: (64, 64))
    assert some.full
    gone = next(iter(some._all))
    some.remove(gone)
    some.remove(gone)
    assert (len(some), some.full) == (7, False)
