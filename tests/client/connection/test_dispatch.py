"""Callbacks: in order, never two of a lane at a time, lanes beside each other."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pybroker.client.connection.dispatch import SHARE, Lane
from pybroker.client.transport.backpressure import Backpressure
from tests.client.scripted import WAIT_S


@pytest.fixture
def executor():
    with ThreadPoolExecutor(4) as executor:
        yield executor


@pytest.fixture
def failures():
    return []


@pytest.fixture
def backpressure():
    return Backpressure()


@pytest.fixture
def lane(executor, backpressure, failures):
    return make(executor, backpressure, failures)


def make(executor, backpressure, failures=None, items_max=1_000, octets_max=1_000):
    return Lane(
        executor, backpressure, lambda error, argument: failures.append((str(error), argument)), items_max, octets_max
    )


def test_g7_callbacks_of_a_lane_are_called_in_order_and_one_at_a_time(lane):
    seen, inside = [], []

    def callback(argument):
        inside.append(argument)
        assert len(inside) == 1
        seen.append(argument)
        inside.clear()

    for number in range(SHARE * 3):
        lane.put(callback, number)
    assert lane.wait_idle(WAIT_S)
    assert seen == list(range(SHARE * 3))


@pytest.mark.parametrize(("lanes", "threads"), [(2, 4), (6, 3)])
def test_g24_parallelism_is_the_lower_of_lanes_and_threads(backpressure, lanes, threads):
    most = min(lanes, threads)
    together = threading.Barrier(most)
    running, seen = [], []
    lock = threading.Lock()

    def callback(_):
        with lock:
            running.append(1)
            seen.append(len(running))
        together.wait(WAIT_S)  # passes only if as many run at the same time
        with lock:
            running.pop()

    with ThreadPoolExecutor(threads) as executor:
        made = [make(executor, backpressure) for _ in range(lanes)]
        for lane in made:
            lane.put(callback, None)
        assert all(lane.wait_idle(WAIT_S) for lane in made)
    assert max(seen) == most


def test_g7_a_busy_lane_leaves_its_thread_to_the_others(backpressure):
    order = []
    go = threading.Event()
    with ThreadPoolExecutor(1) as executor:
        busy, other = make(executor, backpressure), make(executor, backpressure)
        busy.put(lambda _: go.wait(WAIT_S), None)
        for _ in range(SHARE * 2):
            busy.put(lambda _: order.append("busy"), None)
        other.put(lambda _: order.append("other"), None)
        go.set()
        assert busy.wait_idle(WAIT_S)
        assert other.wait_idle(WAIT_S)
    assert order.index("other") == SHARE - 1


def fail(argument):
    raise ValueError(argument)


def leave(argument):
    raise SystemExit(argument)


def test_g28_a_callback_that_raises_is_handed_over_and_the_next_one_is_called(lane, failures):
    seen = []
    for callback in (fail, leave, seen.append):
        lane.put(callback, 1)
    assert lane.wait_idle(WAIT_S)
    assert (failures, seen) == ([("1", 1), ("1", 1)], [1])


def test_g28_a_handler_that_raises_itself_does_no_harm(executor, backpressure):
    lane = Lane(executor, backpressure, lambda error, argument: fail("handler"), 10, 10)
    seen = []
    lane.put(fail, 1)
    lane.put(seen.append, 2)
    assert lane.wait_idle(WAIT_S)
    assert seen == [2]


def test_what_is_cleared_is_not_called(lane):
    began, go, seen = threading.Event(), threading.Event(), []
    lane.put(lambda _: (began.set(), go.wait(WAIT_S)), None)
    lane.put(seen.append, 1)
    assert began.wait(WAIT_S)
    lane.clear()
    go.set()
    assert lane.wait_idle(WAIT_S)
    assert seen == []


def test_a_callback_does_not_wait_for_itself(lane):
    seen = []
    lane.put(lambda _: seen.append(lane.wait_idle(WAIT_S)), None)
    assert lane.wait_idle(WAIT_S)
    assert seen == [False]


@pytest.mark.parametrize(("count", "octets"), [(4, 1), (2, 10)])
def test_a_lane_is_full_by_items_or_octets_and_eases_at_half(executor, backpressure, count, octets):
    lane = make(executor, backpressure, items_max=4, octets_max=20)
    began, go = threading.Event(), threading.Event()
    lane.put(lambda _: (began.set(), go.wait(WAIT_S)), None)
    assert began.wait(WAIT_S)
    for _ in range(count):
        assert backpressure._full == 0
        lane.put(lambda _: None, None, octets)
    assert backpressure._full == 1
    go.set()
    assert lane.wait_idle(WAIT_S)
    assert backpressure._full == 0


def test_an_executor_that_was_shut_down_drops_callbacks_without_an_error(executor, backpressure):
    lane = make(executor, backpressure, items_max=1)
    executor.shutdown()
    lane.put(fail, 1)
    assert (len(lane), backpressure._full, lane.wait_idle(0)) == (0, 0, True)
