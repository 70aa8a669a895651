"""Channel 0: the broker's word about the connection."""

import queue as queues

import pytest
from pamqp import commands

from pybroker.client.connection.channel_zero import ChannelZero
from pybroker.client.errors import CallTimeout, ConnectionForced, ConnectionLost, UnexpectedFrame
from pybroker.client.transport.backpressure import Backpressure
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
def transport():
    return FakeLink()


@pytest.fixture
def blocked():
    return []


@pytest.fixture
def channel_zero(transport, blocked):
    return ChannelZero(transport, blocked.append, Backpressure(), lambda: 0.0)


def receive(channel_zero, kind, **values):
    channel_zero.receive_method(encode_method(0, make_method(kind, **values))[7:-1])


def test_a_close_is_answered_and_ends_the_transport_with_its_reason(channel_zero, transport):
    receive(channel_zero, commands.Connection.Close, reply_code=320, reply_text="CONNECTION_FORCED - bye")
    assert transport.sent.get_nowait().name == "Connection.CloseOk"
    assert (type(transport.reason), transport.reason.text, transport.reason.hard) == (ConnectionForced, "bye", True)


def test_blocked_and_unblocked_are_told(channel_zero, blocked):
    receive(channel_zero, commands.Connection.Blocked, reason="low on memory")
    receive(channel_zero, commands.Connection.Unblocked)
    assert blocked == ["low on memory", None]


def test_close_ok_is_waited_for(channel_zero):
    assert not channel_zero.close_ok.is_set()
    receive(channel_zero, commands.Connection.CloseOk)
    assert channel_zero.close_ok.is_set()


def test_nothing_else_belongs_there(channel_zero):
    with pytest.raises(UnexpectedFrame):
        receive(channel_zero, commands.Connection.OpenOk)
    with pytest.raises(UnexpectedFrame):
        channel_zero.receive_header(bytes(14))
    with pytest.raises(UnexpectedFrame):
        channel_zero.receive_body(b"x")


def test_a_secret_is_sent_and_its_answer_waited_for(channel_zero, transport):
    updating = in_thread(channel_zero.update_secret, "new", "rotation", WAIT_S)
    update = transport.sent.get(timeout=WAIT_S)
    assert (update.new_secret, update.reason) == ("new", "rotation")
    assert not updating.done()
    receive(channel_zero, commands.Connection.UpdateSecretOk)
    assert updating.result(WAIT_S) is None


def test_the_end_of_the_transport_wakes_who_waits(channel_zero, transport):
    updating = in_thread(channel_zero.update_secret, "new", "rotation", WAIT_S)
    transport.sent.get(timeout=WAIT_S)
    channel_zero.end(ConnectionLost("gone"))
    with pytest.raises(ConnectionLost, match="gone"):
        updating.result(WAIT_S)
    assert channel_zero.close_ok.is_set()


def test_an_answer_that_comes_too_late_is_left_aside(channel_zero):
    with pytest.raises(CallTimeout, match=r"no Connection\.UpdateSecretOk within"):
        channel_zero.update_secret("new", "rotation", 0.01)
    receive(channel_zero, commands.Connection.UpdateSecretOk)
