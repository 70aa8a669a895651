"""Channels by the thousand (requirement G9)."""

import pytest
from pamqp import commands, frame as codec

from tests.interop.broker_process import BrokerProcess

CHANNELS = 65_535


def open_many(peer, first, last):
    """Open the channels first..last in batches and return how many open-ok came."""
    opened = 0
    for start in range(first, last + 1, 4_096):
        numbers = range(start, min(start + 4_096, last + 1))
        peer.socket.sendall(b"".join(codec.marshal(commands.Channel.Open(), number) for number in numbers))
        for number in numbers:
            got = peer.read_frame()
            assert (1, number, b"\0\x14\0\x0b\0\0\0\0") == got
            opened += 1
    return opened


@pytest.fixture
def wide_broker(tmp_path):
    broker = BrokerProcess(tmp_path, config="channel_max = 65535\n")
    yield broker
    assert broker.stop() == (0, "")


def test_g9_65535_channels_are_open_on_one_connection(wide_broker, record_property):
    if not wide_broker.is_ours:
        pytest.skip("needs a configured channel_max")
    before = wide_broker.rss_octets()
    with wide_broker.peer(channel_max=CHANNELS, channels=0) as peer:
        assert open_many(peer, 1, CHANNELS) == CHANNELS
        octets = wide_broker.rss_octets() - before
        record_property("octets_per_channel", octets // CHANNELS)
        print(f"{octets // CHANNELS} octets a channel, {octets >> 20} MiB in all")
        queue = peer.call(commands.Queue.Declare(exclusive=True), commands.Queue.DeclareOk, CHANNELS).queue
        peer.publish("", queue, b"through the last one", channel=CHANNELS)
        peer.send(commands.Basic.Get(queue=queue, no_ack=True), 1)
        assert peer.read_delivery().body == b"through the last one"
        peer.close()
    assert octets / CHANNELS < 16 * 1024


def test_g9_one_channel_too_many_is_not_allowed(broker):
    with broker.peer(channel_max=20, channels=20) as peer:
        closed = peer.call(commands.Channel.Open(), commands.Connection.Close, channel=21)
    text = "NOT_ALLOWED - number of channels opened (20) has reached the negotiated channel_max (20)"
    assert (530, text) == (closed.reply_code, closed.reply_text)


def test_a_closed_channels_number_is_free_again(broker):
    with broker.peer(channel_max=2, channels=2) as peer:
        for _ in range(100):
            peer.call(commands.Channel.Close(200, "", 0, 0), commands.Channel.CloseOk, channel=2)
            peer.call(commands.Channel.Open(), commands.Channel.OpenOk, channel=2)
        peer.close()
