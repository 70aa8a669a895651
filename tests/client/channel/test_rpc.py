"""One call in flight, answered by order and class."""

import threading

import pytest

from pybroker.client.channel.rpc import Rpc
from pybroker.client.errors import CallTimeout, ChannelClosed
from pybroker.client.transport.backpressure import Backpressure
from tests.client.scripted import WAIT_S, in_thread


class Ok:
    name = "Test.Ok"


class Other:
    name = "Test.Other"


@pytest.fixture
def abandoned():
    return []


@pytest.fixture
def rpc(abandoned):
    return Rpc(Backpressure(), lambda: 0.0, lambda: abandoned.append(1))


def begin(rpc, timeout_s=WAIT_S):
    """Start a call in a thread; return its future when the request is sent."""
    sent = threading.Event()
    future = in_thread(rpc.call, sent.set, (Ok,), timeout_s)
    assert sent.wait(WAIT_S)
    return future


def test_g8_a_reply_goes_to_the_call_in_flight(rpc):
    future = begin(rpc)
    assert rpc.answer(Ok, "reply")
    assert future.result(WAIT_S) == "reply"


def test_g8_a_second_call_waits_for_the_first_ones_reply(rpc):
    first = begin(rpc)
    sent = threading.Event()
    second = in_thread(rpc.call, sent.set, (Ok,), WAIT_S)
    assert not sent.wait(0.05)
    rpc.answer(Ok, 1)
    assert first.result(WAIT_S) == 1
    assert sent.wait(WAIT_S)
    rpc.answer(Ok, 2)
    assert second.result(WAIT_S) == 2


def test_g8_a_reply_of_another_class_is_nobodys(rpc):
    future = begin(rpc)
    assert not rpc.answer(Other, "reply")
    rpc.answer(Ok, "reply")
    assert future.result(WAIT_S) == "reply"
    assert not rpc.answer(Ok, "late")


def test_g27_a_failure_wakes_the_call(rpc):
    future = begin(rpc)
    rpc.fail(ChannelClosed("gone"))
    with pytest.raises(ChannelClosed, match="gone"):
        future.result(WAIT_S)


def test_a_failure_while_nobody_calls_is_forgotten(rpc):
    rpc.fail(ChannelClosed("gone"))
    future = begin(rpc)
    rpc.answer(Ok, 1)
    assert future.result(WAIT_S) == 1


def test_a_call_without_a_reply_gives_the_channel_up(rpc, abandoned):
    with pytest.raises(CallTimeout, match=r"no Test\.Ok within 0\.01 s"):
        rpc.call(lambda: None, (Ok,), 0.01)
    assert abandoned == [1]


def test_a_call_that_never_had_its_turn_does_not(rpc, abandoned):
    first = begin(rpc)
    with pytest.raises(CallTimeout, match="another call"):
        rpc.call(lambda: None, (Ok,), 0.01)
    assert abandoned == []
    rpc.answer(Ok, 1)
    first.result(WAIT_S)


def test_an_interrupted_call_gives_the_channel_up_too(abandoned):
    def interrupt():
        raise KeyboardInterrupt

    rpc = Rpc(Backpressure(), interrupt, lambda: abandoned.append(1))
    with pytest.raises(KeyboardInterrupt):
        rpc.call(lambda: None, (Ok,), 0.01)
    assert abandoned == [1]
    assert not rpc.answer(Ok, "late")


def test_more_time_is_asked_for_when_it_is_over():
    more = iter([0.01, 0.0])
    rpc = Rpc(Backpressure(), lambda: next(more), lambda: None)
    with pytest.raises(CallTimeout):
        rpc.call(lambda: None, (Ok,), 0.01)
    assert list(more) == []


def test_what_sending_raises_is_raised_and_the_next_call_works(rpc):
    def fail():
        raise ChannelClosed("closed before")

    with pytest.raises(ChannelClosed):
        rpc.call(fail, (Ok,), WAIT_S)
    future = begin(rpc)
    rpc.answer(Ok, 1)
    assert future.result(WAIT_S) == 1
