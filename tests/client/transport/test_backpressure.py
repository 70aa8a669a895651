"""When the reader may go on."""

import threading

import pytest

from pybroker.client.transport import backpressure as module
from pybroker.client.transport.backpressure import Pressure
from tests.client.scripted import WAIT_S, in_thread


@pytest.fixture
def pressure():
    return Pressure()


def held(pressure, awaits=lambda: False, goes_on=lambda: True):
    """Let a thread be held; return its future when it is."""
    future = in_thread(pressure.hold, goes_on, awaits)
    waited = threading.Event()
    for _ in range(1_000):
        if pressure.paused:
            return future
        waited.wait(0.005)
    raise AssertionError("not held")


def test_nobody_is_held_while_no_lane_is_full(pressure):
    pressure.hold(lambda: True, lambda: False)
    assert not pressure.paused


def test_a_full_lane_holds_the_reader_until_it_has_room(pressure):
    pressure.fill()
    future = held(pressure)
    pressure.ease()
    assert future.result(WAIT_S) is None
    assert not pressure.paused


def test_g8_whoever_waits_for_an_answer_lets_the_reader_go_on(pressure):
    pressure.fill()
    future = held(pressure)
    with pressure:
        assert future.result(WAIT_S) is None
        pressure.hold(lambda: True, lambda: False)


def test_the_end_of_the_connection_ends_the_wait(pressure):
    going = [True]
    pressure.fill()
    future = held(pressure, goes_on=lambda: going[0])
    going.clear()
    going.append(False)
    with pressure:
        pass
    assert future.result(WAIT_S) is None


def test_an_answer_that_nobody_waits_for_here_comes_all_the_same(pressure, monkeypatch):
    monkeypatch.setattr(module, "TRICKLE_S", 0.01)
    pressure.fill()
    assert in_thread(pressure.hold, lambda: True, lambda: True).result(WAIT_S) is None
