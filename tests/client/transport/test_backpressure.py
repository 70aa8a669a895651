"""When the reader may go on."""

import threading

import pytest

from pybroker.client.transport import backpressure as module
from pybroker.client.transport.backpressure import Backpressure
from tests.client.scripted import WAIT_S, in_thread


@pytest.fixture
def backpressure():
    return Backpressure()


def held(backpressure, awaits=lambda: False, goes_on=lambda: True):
    """Let a thread be held; return its future when it is."""
    future = in_thread(backpressure.hold, goes_on, awaits)
    waited = threading.Event()
    for _ in range(1_000):
        if backpressure.paused:
            return future
        waited.wait(0.005)
    raise AssertionError("not held")


def test_nobody_is_held_while_no_lane_is_full(backpressure):
    backpressure.hold(lambda: True, lambda: False)
    assert not backpressure.paused


def test_a_full_lane_holds_the_reader_until_it_has_room(backpressure):
    backpressure.fill()
    future = held(backpressure)
    backpressure.ease()
    assert future.result(WAIT_S) is None
    assert not backpressure.paused


def test_g8_whoever_waits_for_an_answer_lets_the_reader_go_on(backpressure):
    backpressure.fill()
    future = held(backpressure)
    with backpressure:
        assert future.result(WAIT_S) is None
        backpressure.hold(lambda: True, lambda: False)


def test_the_end_of_the_connection_ends_the_wait(backpressure):
    going = [True]
    backpressure.fill()
    future = held(backpressure, goes_on=lambda: going[0])
    going.clear()
    going.append(False)
    with backpressure:
        pass
    assert future.result(WAIT_S) is None


def test_an_answer_that_nobody_waits_for_here_comes_all_the_same(backpressure, monkeypatch):
    monkeypatch.setattr(module, "TRICKLE_S", 0.01)
    backpressure.fill()
    assert in_thread(backpressure.hold, lambda: True, lambda: True).result(WAIT_S) is None
