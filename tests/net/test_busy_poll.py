"""The moment before the loop sleeps: it is spent while it finds something, and given up where it does not."""

import gevent
import pytest

from pybroker.net.busy_poll import CREDIT_MAX, LOOKS_MAX, MISS, REST, BusyPoll


class Idle:
    """An idle watcher whose loop a test turns by hand."""

    def __init__(self):
        self.active, self.call = False, None

    def start(self, call):
        self.active, self.call = True, call

    def stop(self):
        self.active = False

    def idle(self, *, ref):
        assert not ref  # it must not keep a loop alive
        return self

    def starve(self):
        """Let the loop find nothing until it may sleep; return how often it looked."""
        looks = 0
        while self.active:
            self.call()
            looks += 1
        return looks


@pytest.fixture
def idle():
    return Idle()


def test_it_looks_so_often_and_then_the_loop_sleeps(idle):
    busy_poll = BusyPoll(idle)
    busy_poll.after_event()
    assert idle.active
    assert idle.starve() == LOOKS_MAX


def test_an_event_makes_it_look_as_often_again(idle):
    busy_poll = BusyPoll(idle)
    busy_poll.after_event()
    for _ in range(LOOKS_MAX - 1):
        idle.call()
    busy_poll.after_event()
    assert idle.starve() == LOOKS_MAX


def test_what_finds_nothing_is_given_up_for_a_while_and_tried_again(idle):
    busy_poll = BusyPoll(idle)
    looked = []
    for _ in range(1_000):
        busy_poll.after_event()
        looked.append(idle.starve())
    first = looked.index(0)
    assert first <= CREDIT_MAX // (MISS - 1) + 1
    assert [looks for looks in looked[first:] if looks] == [LOOKS_MAX] * ((1_000 - first) // (1 - REST))


def test_three_finds_in_four_are_enough(idle):
    busy_poll = BusyPoll(idle)
    for turn in range(1_000):
        busy_poll.after_event()
        assert idle.active
        if turn % 4 == 3:
            idle.starve()


def test_one_find_in_two_is_not(idle):
    busy_poll = BusyPoll(idle)
    looks = []
    for turn in range(100):
        busy_poll.after_event()
        if turn % 2:
            looks.append(idle.starve())
    assert looks.count(0) > len(looks) / 2


def test_while_a_thread_works_the_loop_sleeps(idle):
    busy_poll = BusyPoll(idle)
    busy_poll.after_event()
    busy_poll.working += 1
    assert idle.starve() == 1
    busy_poll.after_event()
    assert not idle.active
    busy_poll.working -= 1
    busy_poll.after_event()
    assert idle.starve() == LOOKS_MAX


def test_a_loop_with_nothing_to_do_sleeps():
    busy_poll = BusyPoll(gevent.get_hub().loop)
    for _ in range(3):
        busy_poll.after_event()
        gevent.sleep(0.01)
        assert not busy_poll._watcher.active
