"""Channel 0: the broker's word about the connection."""

import queue as queues

import pytest
from pamqp import commands

from pybroker.client.connection.channel_zero import Control
from pybroker.client.errors import CallTimeout, ConnectionForced, ConnectionLost, UnexpectedFrame
from pybroker.client.transport.backpressure import Pressure
from pybroker.wire.methods import decode_method, encode_method, make_method
from tests.client.scripted import WAIT_S, in_thread


class FakeLink:
    def __init__(self):
        self.sent = queues.Queue()
        self.reason = None

    def send(self, octets):
        self.sent.put(decode_method(octets[7:-1]))

    def end(self, reason):
        self.reason = reason


@pytest.fixture
def link():
    return FakeLink()


@pytest.fixture
def blocked():
    return []


@pytest.fixture
def control(link, blocked):
    return Control(link, blocked.append, Pressure(), lambda: 0.0)


def receive(control, kind, **values):
    control.receive_method(encode_method(0, make_method(kind, **values))[7:-1])


def test_a_close_is_answered_and_ends_the_link_with_its_reason(control, link):
    receive(control, commands.Connection.Close, reply_code=320, reply_text="CONNECTION_FORCED - bye")
    assert link.sent.get_nowait().name == "Connection.CloseOk"
    assert (type(link.reason), link.reason.text, link.reason.hard) == (ConnectionForced, "bye", True)


def test_blocked_and_unblocked_are_told(control, blocked):
    receive(control, commands.Connection.Blocked, reason="low on memory")
    receive(control, commands.Connection.Unblocked)
    assert blocked == ["low on memory", None]


def test_close_ok_is_waited_for(control):
    assert not control.close_ok.is_set()
    receive(control, commands.Connection.CloseOk)
    assert control.close_ok.is_set()


def test_nothing_else_belongs_there(control):
    with pytest.raises(UnexpectedFrame):
        receive(control, commands.Connection.OpenOk)
    with pytest.raises(UnexpectedFrame):
        control.receive_header(bytes(14))
    with pytest.raises(UnexpectedFrame):
        control.receive_body(b"x")


def test_a_secret_is_sent_and_its_answer_waited_for(control, link):
    updating = in_thread(control.update_secret, "new", "rotation", WAIT_S)
    update = link.sent.get(timeout=WAIT_S)
    assert (update.new_secret, update.reason) == ("new", "rotation")
    assert not updating.done()
    receive(control, commands.Connection.UpdateSecretOk)
    assert updating.result(WAIT_S) is None


def test_the_end_of_the_link_wakes_who_waits(control, link):
    updating = in_thread(control.update_secret, "new", "rotation", WAIT_S)
    link.sent.get(timeout=WAIT_S)
    control.end(ConnectionLost("gone"))
    with pytest.raises(ConnectionLost, match="gone"):
        updating.result(WAIT_S)
    assert control.close_ok.is_set()


def test_an_answer_that_comes_too_late_is_left_aside(control):
    with pytest.raises(CallTimeout, match=r"no Connection\.UpdateSecretOk within"):
        control.update_secret("new", "rotation", 0.01)
    receive(control, commands.Connection.UpdateSecretOk)
