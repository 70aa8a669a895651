"""A channel's life: numbers, closing, context managers, flow."""

import queue as queues

import pytest
from pamqp import commands

from pybroker.client.errors import CallTimeout, ChannelClosed, ChannelsExhausted, ConnectionClosed
from tests.client.scripted import WAIT_S, in_thread


def test_g10_channels_have_numbers_of_their_own_and_closed_ones_are_used_again(connection):
    first, second = connection.channel(), connection.channel()
    assert (first.number, second.number) == (1, 2)
    first.close()
    first.close()  # twice is no error
    assert connection.channel().number == 1
    assert connection.channel(77).number == 77


def test_g9_channel_max_is_kept(connect):
    connection = connect(channel_max=2)
    connection.channel()
    connection.channel()
    with pytest.raises(ChannelsExhausted, match="all 2 channels are open: close some, or raise channel_max"):
        connection.channel()
    with pytest.raises(ChannelsExhausted, match="channel number 3 is not in the range 1 to 2"):
        connection.channel(3)
    with pytest.raises(ChannelsExhausted, match="channel number 2 is in use"):
        connection.channel(2)


def test_g11_hundreds_of_channels(connection):
    channels = [connection.channel() for _ in range(300)]
    assert channels[-1].queue_declare(exclusive=True).message_count == 0


def test_a_closed_channel_refuses_calls(connection):
    with connection.channel() as channel:
        assert channel.is_open
    assert not channel.is_open
    for act in (channel.queue_declare, lambda: channel.basic_publish("", "", b""), lambda: channel.basic_ack(1)):
        with pytest.raises(ChannelClosed, match="channel 1 is closed: closed by the application"):
            act()


def test_g27_closing_a_channel_wakes_a_call_that_waits(scripted):
    connection, peer = scripted.connect()
    channel = scripted.open_channel(connection, peer)
    waiting = in_thread(channel.queue_declare, "q")
    peer.expect(commands.Queue.Declare)
    closing = in_thread(channel.close)
    with pytest.raises(ChannelClosed):
        waiting.result(WAIT_S)
    peer.expect(commands.Channel.Close)
    peer.say(commands.Queue.DeclareOk, queue="q")  # the late reply is nobody's
    peer.say(commands.Channel.CloseOk)
    assert closing.result(WAIT_S) is None
    assert connection.is_open


def test_closes_that_cross_are_both_answered(scripted):
    connection, peer = scripted.connect(close_timeout_s=WAIT_S)
    channel = scripted.open_channel(connection, peer)
    closing = in_thread(channel.close)
    peer.expect(commands.Channel.Close)
    peer.say(commands.Channel.Close, reply_code=404, reply_text="NOT_FOUND - x")
    peer.expect(commands.Channel.CloseOk)
    peer.say(commands.Channel.CloseOk)
    assert closing.result(WAIT_S) is None
    connection._transport.lose("end of the test")


def test_a_number_without_a_close_ok_is_not_used_again(scripted):
    connection, peer = scripted.connect()
    channel = scripted.open_channel(connection, peer)
    channel.close()
    assert scripted.open_channel(connection, peer_without_close(peer)).number == 2


def peer_without_close(peer):
    peer.expect(commands.Channel.Close)
    return peer


def test_a_call_that_times_out_closes_its_channel_only(scripted):
    connection, peer = scripted.connect(rpc_timeout_s=0.05)
    channel = scripted.open_channel(connection, peer)
    with pytest.raises(CallTimeout, match=r"no Queue\.DeclareOk within 0\.05 s"):
        channel.queue_declare("q")
    with pytest.raises(ChannelClosed, match="did not reply to a call in time"):
        channel.queue_declare("q")
    peer.expect(commands.Queue.Declare)
    peer.expect(commands.Channel.Close)
    peer.say(commands.Queue.DeclareOk, queue="q")
    peer.say(commands.Channel.CloseOk)
    assert connection.is_open


def test_flow_pauses_deliveries_and_goes_on(broker, channel, queue):
    if not broker.is_ours:
        pytest.skip("RabbitMQ refuses channel.flow(active=false) with 540")
    got = queues.Queue()
    assert channel.flow(False) is False
    channel.basic_consume(queue, got.put, no_ack=True)
    channel.basic_publish("", queue, b"x")
    assert channel.queue_declare(queue, passive=True).message_count == 1
    assert channel.flow(True) is True
    assert got.get(timeout=WAIT_S).body == b"x"


def test_closing_the_connection_closes_its_channels(connection, channel):
    connection.close()
    with pytest.raises((ChannelClosed, ConnectionClosed)):
        channel.queue_declare()
    assert "closed by the application" in repr(channel)
