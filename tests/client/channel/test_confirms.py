"""Confirms against a model, and who is woken by them."""

import pytest
from hypothesis import given, strategies as st

from pybroker.client.channel.confirms import Confirmation, Confirms
from pybroker.client.errors import (
    CallTimeout,
    ChannelError,
    ConnectionLost,
    MessageReturned,
    PublishNacked,
    PublishUnconfirmed,
)
from pybroker.client.message import ReturnedMessage
from pybroker.client.transport.backpressure import Backpressure
from tests.client.scripted import WAIT_S, in_thread


@pytest.fixture
def called():
    return []


@pytest.fixture
def confirms(called):
    return make(called)


def make(called=None):
    return Confirms(Backpressure(), lambda callback, confirmation: called.append(confirmation), lambda: None)


def publish(confirms, content=None):
    confirmation = Confirmation(confirms, content)
    with confirms.lock:
        confirms.assign_tag(confirmation)
    return confirmation


def publish_plain(confirms, count):
    with confirms.lock:
        for _ in range(count):
            confirms.assign_tag(None)


@given(st.integers(1, 12), st.lists(st.tuples(st.integers(1, 12), st.booleans(), st.booleans())))
def test_answers_in_any_order_are_those_of_the_model(count, answers):
    confirms = make()
    confirmations = [publish(confirms) for _ in range(count)]
    model = {}
    for tag, multiple, acked in answers:
        if tag > count:
            with pytest.raises(ChannelError):
                confirms.settle(tag, multiple, acked)
            continue
        confirms.settle(tag, multiple, acked)
        for each in range(1, tag + 1) if multiple else (tag,):
            model.setdefault(each, acked)
    assert {c.delivery_tag: c._acked for c in confirmations if c.done()} == model
    first_open = next((tag for tag in range(1, count + 1) if tag not in model), count + 1)
    assert len(confirms) == count + 1 - first_open


def test_tag_0_with_multiple_answers_all(confirms):
    publish_plain(confirms, 5)
    confirms.settle(0, True, True)
    assert len(confirms) == 0
    confirms.wait(0)


def test_a_wait_ends_when_all_before_it_are_answered(confirms):
    publish_plain(confirms, 3)
    waiting = in_thread(confirms.wait, WAIT_S)
    confirms.settle(3, False, True)
    confirms.settle(2, True, True)
    assert waiting.result(WAIT_S) is None


def test_a_wait_tells_of_nacks_once(confirms):
    publish_plain(confirms, 3)
    confirms.settle(2, False, False)
    confirms.settle(3, True, True)
    with pytest.raises(PublishNacked, match=r"rejected \(basic.nack\): 2$"):
        confirms.wait(0)
    confirms.wait(0)


def test_a_wait_that_takes_too_long_says_how_many_are_open(confirms):
    publish_plain(confirms, 3)
    confirms.settle(1, False, True)
    with pytest.raises(CallTimeout, match="2 publishes are not confirmed"):
        confirms.wait(0)


def test_what_is_open_fails_with_the_channel_and_says_so(confirms):
    publish_plain(confirms, 2)
    confirmation = publish(confirms)
    waiting = in_thread(confirmation.result, WAIT_S)
    confirms.fail(ConnectionLost("gone"))
    with pytest.raises(
        PublishUnconfirmed, match="publish 3 was not confirmed and may or may not have been accepted: gone"
    ):
        waiting.result(WAIT_S)
    with pytest.raises(PublishUnconfirmed, match="2 publishes were not confirmed") as caught:
        confirms.wait(0)
    assert isinstance(caught.value.reason, ConnectionLost)


def test_after_a_recovery_tags_begin_at_one_and_losses_are_still_told(confirms):
    publish_plain(confirms, 2)
    confirms.fail(ConnectionLost("gone"))
    confirms.restart()
    assert publish(confirms).delivery_tag == 1
    confirms.settle(1, False, True)
    with pytest.raises(PublishUnconfirmed):
        confirms.wait(0)


def test_a_return_belongs_to_the_oldest_equal_publish(confirms):
    first, other, second = (publish(confirms, ("e", key, b"x")) for key in ("a", "b", "a"))
    confirms.returned(ReturnedMessage(312, "NO_ROUTE", "e", "a", b"\0\0", b"x"))
    confirms.settle(3, True, True)
    assert (other.result(0), second.result(0)) == (None, None)
    with pytest.raises(MessageReturned, match="publish 1 was returned: 312 NO_ROUTE") as caught:
        first.result(0)
    assert caught.value.message is first.returned
    assert confirms._mandatory == {}


def test_callbacks_are_called_when_it_is_done_also_if_it_is_already(confirms, called):
    confirmation = publish(confirms)
    confirmation.add_done_callback(print)
    assert called == []
    confirms.settle(1, False, True)
    confirmation.add_done_callback(print)
    assert called == [confirmation, confirmation]


def test_a_refused_one_raises(confirms):
    confirmation = publish(confirms)
    confirms.settle(1, False, False)
    with pytest.raises(PublishNacked, match="publish 1 was rejected"):
        confirmation.result(0)


def test_room_is_waited_for_down_to_half(confirms):
    publish_plain(confirms, 10)
    confirms.wait_for_room(11, 0)
    with pytest.raises(CallTimeout):
        confirms.wait_for_room(10, 0)
    confirms.settle(5, True, True)
    confirms.wait_for_room(10, 0)
