"""Publishing, confirms and transactions on a real broker; flow and limits with a scripted one."""

import threading

import pytest
from pamqp import commands

from pybroker.client import Properties, Table
from pybroker.client.errors import (
    CallTimeout,
    ClientError,
    ConnectionBlocked,
    MessageReturned,
    NotFound,
    PreconditionFailed,
    PublishUnconfirmed,
)
from tests.client.scripted import WAIT_S, in_thread


def test_ten_thousand_publishes_are_answered_by_one_wait(channel, queue):
    channel.confirm_select()
    tags = [channel.basic_publish("", queue, b"%d" % i) for i in range(10_000)]
    channel.wait_for_confirms()
    assert (tags[0], tags[-1], len(channel._confirms)) == (1, 10_000, 0)
    assert channel.queue_declare(queue, passive=True).message_count == 10_000


def test_each_future_tells_of_its_publish(channel, queue):
    channel.confirm_select()
    futures = [channel.publish_future("", key, b"x", mandatory=True) for key in (queue, "nowhere", queue)]
    outcomes = [future.exception(WAIT_S) for future in futures]
    assert [type(outcome) for outcome in outcomes] == [type(None), MessageReturned, type(None)]
    assert outcomes[1].message.reply_code == 312


def test_a_done_callback_is_called_on_the_executor(channel, queue):
    channel.confirm_select()
    called = in_thread(lambda: None)
    done = []
    future = channel.publish_future("", queue, b"x")
    future.add_done_callback(done.append)
    future.result(WAIT_S)
    assert called.result(WAIT_S) is None
    assert channel._lane.wait_idle(WAIT_S)
    assert done == [future]


def test_publish_and_wait_raises_what_the_broker_said(connection):
    channel = connection.channel()
    channel.confirm_select()
    with pytest.raises(MessageReturned, match="NO_ROUTE"):
        channel.publish_and_wait("", "nowhere", b"x", mandatory=True)
    with pytest.raises(NotFound, match="no exchange 'nope-nope'"):
        channel.publish_and_wait("nope-nope", "", b"x")


def test_what_is_unanswered_when_the_channel_closes_says_so(connection):
    channel = connection.channel()
    channel.confirm_select()
    future = channel.publish_future("nope-nope", "", b"x")
    with pytest.raises(PublishUnconfirmed, match="may or may not have been accepted: "):
        future.result(WAIT_S)


def test_returns_are_callbacks(channel):
    returned = []
    channel.on_return(returned.append)
    channel.confirm_select()
    channel.basic_publish("", "nowhere", b"x" * 300_000, Properties(headers=Table({"a": 1})), mandatory=True)
    channel.wait_for_confirms()
    assert channel._lane.wait_idle(WAIT_S)
    assert [(m.reply_code, m.routing_key, len(m.body)) for m in returned] == [(312, "nowhere", 300_000)]
    assert returned[0].properties.headers == {"a": 1}


def test_properties_arrive_as_they_were_sent(channel, queue):
    """G2: also those that are equal to the ones before, and those that were changed in place."""
    properties = Properties(content_type="a/b", delivery_mode=2, priority=3, timestamp=1_700_000_000, type="t")
    headed = Properties(headers=Table({"n": 1}))
    for each in (properties, properties, headed):
        channel.basic_publish("", queue, b"x", each)
    properties.priority = 4
    headed.headers["n"] = 2
    channel.basic_publish("", queue, b"x", properties)
    channel.basic_publish("", queue, b"x", headed)
    got = [channel.basic_get(queue, no_ack=True).properties for _ in range(5)]
    assert [p.priority for p in got] == [3, 3, None, 4, None]
    assert [p.headers for p in got] == [None, None, {"n": 1}, None, {"n": 2}]
    assert got[3] == properties


def test_bodies_are_octets(channel, queue):
    channel.basic_publish("", queue, bytearray(b"abc"))
    channel.basic_publish("", queue, memoryview(b"def"))
    assert [channel.basic_get(queue, no_ack=True).body for _ in range(2)] == [b"abc", b"def"]
    with pytest.raises(TypeError, match="a body is bytes, not str: encode it first"):
        channel.basic_publish("", queue, "text")


def test_a_transaction_is_committed_or_forgotten(connection, queue):
    channel = connection.channel()
    channel.tx_select()
    channel.basic_publish("", queue, b"1")
    channel.tx_rollback()
    channel.basic_publish("", queue, b"2")
    channel.tx_commit()
    assert channel.basic_get(queue, no_ack=True).body == b"2"
    with pytest.raises(PreconditionFailed):
        channel.confirm_select()


def test_confirms_need_confirm_mode(channel):
    with pytest.raises(ClientError, match="call confirm_select first"):
        channel.wait_for_confirms()
    assert channel.basic_publish("", "nowhere", b"") == 0


def test_channel_flow_stops_publishes_of_that_channel(scripted):
    connection, peer = scripted.connect(blocked_timeout_s=0.05)
    channel = scripted.open_channel(connection, peer)
    peer.say(commands.Channel.Flow, active=False)
    assert not peer.expect(commands.Channel.FlowOk).active
    with pytest.raises(ConnectionBlocked, match=r"channel\.flow"):
        channel.basic_publish("", "q", b"x")
    peer.say(commands.Channel.Flow, active=True)
    assert peer.expect(commands.Channel.FlowOk).active
    channel.basic_publish("", "q", b"x")
    assert peer.expect(commands.Basic.Publish).routing_key == "q"


def test_a_broker_that_does_not_read_makes_publishers_wait_in_vain(scripted):
    connection, peer = scripted.connect(blocked_timeout_s=0.05)
    channel = scripted.open_channel(connection, peer)
    publishing = in_thread(lambda: [channel.basic_publish("", "q", bytes(1 << 20)) for _ in range(100)])
    with pytest.raises(ConnectionBlocked, match=r"did not read for 0\.05 s"):
        publishing.result(WAIT_S)


def test_a_wait_in_vain_names_the_alarm(scripted):
    connection, peer = scripted.connect()
    channel = scripted.open_channel(connection, peer)
    select = in_thread(channel.confirm_select)
    peer.expect(commands.Confirm.Select)
    peer.say(commands.Confirm.SelectOk)
    select.result(WAIT_S)
    told = threading.Event()
    connection.on_blocked(lambda reason: told.set())
    channel.basic_publish("", "q", b"x")
    with pytest.raises(CallTimeout, match=r"^1 publishes are not confirmed after 0\.01 s$"):
        channel.wait_for_confirms(0.01)
    peer.say(commands.Connection.Blocked, 0, reason="low on disk")
    assert told.wait(WAIT_S)
    with pytest.raises(CallTimeout, match="the broker has blocked the connection, low on disk"):
        channel.wait_for_confirms(0.01)


def test_unanswered_publishes_are_bounded(scripted):
    connection, peer = scripted.connect(blocked_timeout_s=0.05, unconfirmed_max=10)
    channel = scripted.open_channel(connection, peer)
    select = in_thread(channel.confirm_select)
    peer.expect(commands.Confirm.Select)
    peer.say(commands.Confirm.SelectOk)
    select.result(WAIT_S)
    for _ in range(10):
        channel.basic_publish("", "q", b"x")
    with pytest.raises(ConnectionBlocked, match="10 publishes are not confirmed"):
        channel.basic_publish("", "q", b"x")
    peer.say(commands.Basic.Ack, delivery_tag=5, multiple=True)
    assert channel.basic_publish("", "q", b"x") == 11
