"""Recovery after a lost connection, with a scripted broker, step by step: what comes back and what does not (G4).

The same against a real broker that is restarted: test_threading_model.py.
"""

import queue as queues
import socket
import threading
from contextlib import suppress

import pytest
from pamqp import commands

from pybroker.client import Properties
from pybroker.client.errors import ClientError, ConnectionClosed, ConnectionLost, NotFound, PublishUnconfirmed
from pybroker.wire.frame import BODY, HEADER, frame
from tests.client.scripted import WAIT_S, ScriptedBroker, in_thread


@pytest.fixture
def ends(scripted):
    connection, peer = scripted.connect()
    return connection, peer, scripted.open_channel(connection, peer)


def do(peer, reply, call, *arguments, _values=None, **options):
    """Let the application call something, and the broker answer it; return what the call returned."""
    future = in_thread(call, *arguments, **options)
    kind, channel, _ = peer.read()
    assert kind == 1
    peer.say(reply, channel, **(_values or {}))
    return future.result(WAIT_S)


def reopen(scripted, channels=1):
    """Be the broker of a recovery until the channels are open; return its end."""
    peer = scripted.accept()
    for _ in range(channels):
        peer.expect(commands.Channel.Open)
        peer.say(commands.Channel.OpenOk, peer.channel)
    return peer


def answer(peer, wanted, reply, **values):
    method = peer.expect(wanted)
    peer.say(reply, peer.channel, **values)
    return method


def test_g4_a_channel_comes_back_with_its_modes(scripted, ends):
    connection, peer, channel = ends
    do(peer, commands.Basic.QosOk, channel.basic_qos, 7)
    do(peer, commands.Basic.QosOk, channel.basic_qos, 9, global_=True)
    do(peer, commands.Confirm.SelectOk, channel.confirm_select)
    other = scripted.open_channel(connection, peer)
    do(peer, commands.Tx.SelectOk, other.tx_select)
    recovered = threading.Event()
    connection.on_recovered(recovered.set)
    peer.close()
    peer = reopen(scripted)
    qos = [answer(peer, commands.Basic.Qos, commands.Basic.QosOk) for _ in range(2)]
    assert [(q.prefetch_count, q.global_) for q in qos] == [(7, False), (9, True)]
    answer(peer, commands.Confirm.Select, commands.Confirm.SelectOk)
    answer(peer, commands.Channel.Open, commands.Channel.OpenOk)
    assert peer.channel == other.number
    answer(peer, commands.Tx.Select, commands.Tx.SelectOk)
    assert recovered.wait(WAIT_S)
    assert channel.basic_publish("", "q", b"x") == 1


def test_g4_topology_comes_back_in_order_and_server_named_queues_get_new_names(scripted, ends):
    connection, peer, channel = ends
    got, renamed = queues.Queue(), queues.Queue()
    connection.on_queue_renamed(lambda old, new: renamed.put((old, new)))
    do(peer, commands.Exchange.DeclareOk, channel.exchange_declare, "e", "topic", durable=True)
    do(peer, commands.Exchange.BindOk, channel.exchange_bind, "e", "amq.fanout")
    do(peer, commands.Queue.DeclareOk, channel.queue_declare, exclusive=True, _values={"queue": "amq.gen-1"})
    do(peer, commands.Queue.BindOk, channel.queue_bind, "", "e", "k", {"x": 1})
    do(peer, commands.Basic.ConsumeOk, channel.basic_consume, "", got.put, consumer_tag="c", no_ack=True)
    recovered = threading.Event()
    connection.on_recovered(recovered.set)
    peer.close()
    peer = reopen(scripted, channels=2)  # ours, and one to declare with
    assert peer.channel == 2
    exchange = answer(peer, commands.Exchange.Declare, commands.Exchange.DeclareOk)
    assert (exchange.exchange, exchange.exchange_type, exchange.durable) == ("e", "topic", True)
    assert answer(peer, commands.Queue.Declare, commands.Queue.DeclareOk, queue="amq.gen-2").queue == ""
    assert answer(peer, commands.Exchange.Bind, commands.Exchange.BindOk).destination == "e"
    bind = answer(peer, commands.Queue.Bind, commands.Queue.BindOk)
    assert (bind.queue, bind.routing_key, bind.arguments) == ("amq.gen-2", "k", {"x": 1})
    answer(peer, commands.Channel.Close, commands.Channel.CloseOk)
    consume = answer(peer, commands.Basic.Consume, commands.Basic.ConsumeOk, consumer_tag="c")
    assert (consume.queue, consume.consumer_tag, consume.no_ack) == ("amq.gen-2", "c", True)
    assert recovered.wait(WAIT_S)
    assert renamed.get(timeout=WAIT_S) == ("amq.gen-1", "amq.gen-2")
    deliver(peer, "c", 1, b"again")
    assert got.get(timeout=WAIT_S).body == b"again"


def deliver(peer, tag, number, body):
    peer.say(commands.Basic.Deliver, consumer_tag=tag, delivery_tag=number, routing_key="q")
    peer.socket.sendall(frame(HEADER, 1, b"\0\x3c\0\0" + len(body).to_bytes(8) + b"\0\0") + frame(BODY, 1, body))


def test_g4_what_was_not_confirmed_fails_and_is_not_sent_again(scripted, ends):
    connection, peer, channel = ends
    do(peer, commands.Confirm.SelectOk, channel.confirm_select)
    future = channel.publish_future("", "q", b"first", Properties(delivery_mode=2))
    channel.basic_publish("", "q", b"second")
    peer.expect(commands.Basic.Publish)
    peer.close()
    with pytest.raises(PublishUnconfirmed, match="publish 1 was not confirmed and may or may not have been accepted"):
        future.result(WAIT_S)
    peer = reopen(scripted)
    answer(peer, commands.Confirm.Select, commands.Confirm.SelectOk)
    connection.wait_until_open(WAIT_S)
    assert channel.basic_publish("", "third", b"third") == 1
    assert peer.expect(commands.Basic.Publish).routing_key == "third"
    peer.say(commands.Basic.Ack, delivery_tag=1)
    with pytest.raises(PublishUnconfirmed, match="1 publishes were not confirmed"):
        channel.wait_for_confirms(WAIT_S)
    channel.wait_for_confirms(WAIT_S)


def test_g4_a_delivery_from_before_is_not_settled_after(scripted, ends):
    _, peer, channel = ends
    got = queues.Queue()
    do(peer, commands.Basic.ConsumeOk, channel.basic_consume, "q", got.put, consumer_tag="c")
    deliver(peer, "c", 1, b"old")
    deliver(peer, "c", 2, b"old")
    old = [got.get(timeout=WAIT_S) for _ in range(2)]
    lost = threading.Event()
    channel.connection.on_lost(lambda error: lost.set())
    peer.close()
    assert lost.wait(WAIT_S)
    old[0].ack()  # while it is recovered: nothing happens
    peer = reopen(scripted)
    answer(peer, commands.Basic.Consume, commands.Basic.ConsumeOk, consumer_tag="c")
    channel.connection.wait_until_open(WAIT_S)
    deliver(peer, "c", 1, b"new")
    new = got.get(timeout=WAIT_S)
    assert new.delivery_tag == 3
    old[1].ack(multiple=True)
    new.ack()
    ack = peer.expect(commands.Basic.Ack)
    assert (ack.delivery_tag, ack.multiple) == (1, False)


def test_g4_what_the_broker_refuses_is_told_and_left_out(scripted, ends):
    connection, peer, channel = ends
    failures = queues.Queue()
    connection.on_recovery_failure(lambda what, error: failures.put((what, type(error))))
    do(peer, commands.Queue.DeclareOk, channel.queue_declare, "one", _values={"queue": "one"})
    do(peer, commands.Queue.DeclareOk, channel.queue_declare, "two", _values={"queue": "two"})
    peer.close()
    peer = reopen(scripted, channels=2)
    assert peer.expect(commands.Queue.Declare).queue == "one"
    peer.say(commands.Channel.Close, 2, reply_code=404, reply_text="NOT_FOUND - whatever")
    peer.expect(commands.Channel.CloseOk)
    answer(peer, commands.Channel.Open, commands.Channel.OpenOk)
    assert answer(peer, commands.Queue.Declare, commands.Queue.DeclareOk, queue="two").queue == "two"
    answer(peer, commands.Channel.Close, commands.Channel.CloseOk)
    connection.wait_until_open(WAIT_S)
    assert failures.get(timeout=WAIT_S) == ("queue one", NotFound)


def test_g4_calls_are_refused_meanwhile_and_a_link_lost_in_between_begins_it_anew(scripted, ends):
    connection, peer, channel = ends
    peer.close()
    peer = scripted.accept()
    peer.expect(commands.Channel.Open)
    for call in (connection.channel, channel.queue_declare, lambda: channel.basic_publish("", "q", b"")):
        with pytest.raises(ConnectionLost):
            call()
    peer.close()
    reopen(scripted)
    connection.wait_until_open(WAIT_S)
    assert channel.is_open


def test_g4_a_broker_that_is_silent_meanwhile_is_tried_again(scripted):
    connection, peer = scripted.connect(rpc_timeout_s=0.1)
    channel = scripted.open_channel(connection, peer)
    peer.close()
    scripted.accept().expect(commands.Channel.Open)
    reopen(scripted)
    connection.wait_until_open(WAIT_S)
    assert channel.is_open


def test_g4_not_after_a_close_by_the_application(scripted, ends):
    connection, peer, _ = ends
    connection.close()
    peer.expect(commands.Connection.Close)
    with pytest.raises(queues.Empty):
        scripted.peers.get(timeout=0.1)


def test_g4_a_close_ends_a_recovery(scripted, ends):
    connection, peer, _ = ends
    scripted.greets = False
    lost = threading.Event()
    connection.on_lost(lambda error: lost.set())
    peer.close()
    assert lost.wait(WAIT_S)
    connection.close()
    with pytest.raises(ConnectionClosed):
        connection.wait_until_open(WAIT_S)


def test_g4_a_close_in_the_middle_of_a_recovery_leaves_no_transport(scripted, ends):
    connection, peer, _ = ends
    peer.close()
    peer = scripted.accept()
    peer.expect(commands.Channel.Open)
    connection.close()
    # It says so if it is in time: the recovery that it interrupts may have hung up before.
    with suppress(EOFError):
        peer.expect(commands.Connection.Close)
    with pytest.raises(EOFError):
        peer.read()
    assert connection.is_closed


def test_g4_not_after_refused_credentials(scripted, ends):
    connection, peer, _ = ends
    closed = queues.Queue()
    connection.on_close(closed.put)
    scripted.greets = False
    peer.close()
    peer = scripted.accept()
    peer.socket.recv(8)
    peer.say(commands.Connection.Start, 0, version_minor=9, mechanisms="PLAIN", locales="en_US")
    peer.expect(commands.Connection.StartOk)
    peer.say(commands.Connection.Close, 0, reply_code=403, reply_text="ACCESS_REFUSED - no more")
    assert "no more" in str(closed.get(timeout=WAIT_S))
    assert connection.is_closed


def test_g4_not_after_an_error_of_our_own(ends):
    connection, peer, _ = ends
    closed = queues.Queue()
    connection.on_close(closed.put)
    peer.say(commands.Connection.Close, 0, reply_code=530, reply_text="NOT_ALLOWED - attempt to reuse consumer tag 't'")
    assert closed.get(timeout=WAIT_S).reply_code == 530
    assert connection.is_closed


def test_g4_only_channels_where_topology_recovery_is_off(scripted):
    connection, peer = scripted.connect(topology_recovery=False)
    channel = scripted.open_channel(connection, peer)
    do(peer, commands.Queue.DeclareOk, channel.queue_declare, "q", _values={"queue": "q"})
    peer.close()
    reopen(scripted)
    connection.wait_until_open(WAIT_S)
    assert channel.is_open


def test_g4_a_channel_above_the_new_limit_is_closed(scripted, ends):
    connection, peer, channel = ends
    other = scripted.open_channel(connection, peer)
    scripted.tune["channel_max"] = 1
    peer.close()
    reopen(scripted)
    connection.wait_until_open(WAIT_S)
    assert (channel.is_open, other.is_open) == (True, False)
    assert "allows only 1 channels" in repr(other)


def test_g4_deliveries_that_come_before_the_recovery_is_done_are_delivered_and_settled(scripted, ends):
    connection, peer, channel = ends
    do(peer, commands.Basic.ConsumeOk, channel.basic_consume, "q", lambda message: message.ack(), consumer_tag="c")
    do(peer, commands.Basic.ConsumeOk, channel.basic_consume, "r", lambda message: message.ack(), consumer_tag="d")
    peer.close()
    peer = reopen(scripted)
    peer.expect(commands.Basic.Consume)
    deliver(peer, "c", 1, b"x")
    assert peer.expect(commands.Basic.Ack).delivery_tag == 1
    peer.say(commands.Basic.ConsumeOk, consumer_tag="c")
    answer(peer, commands.Basic.Consume, commands.Basic.ConsumeOk, consumer_tag="d")
    connection.wait_until_open(WAIT_S)


def test_g4_another_address_is_taken_when_the_first_is_gone(scripted):
    with ScriptedBroker() as second:
        connection, peer = scripted.connect(addresses=(scripted.address, second.address))
        channel = scripted.open_channel(connection, peer)
        got = queues.Queue()
        do(peer, commands.Basic.ConsumeOk, channel.basic_consume, "q", got.put, consumer_tag="c")
        scripted.listener.shutdown(socket.SHUT_RDWR)
        peer.close()
        peer = reopen(second)
        answer(peer, commands.Basic.Consume, commands.Basic.ConsumeOk, consumer_tag="c")
        connection.wait_until_open(WAIT_S)
        deliver(peer, "c", 1, b"from the second")
        assert got.get(timeout=WAIT_S).body == b"from the second"
        assert connection._transport.address == second.address
        connection.close()


def test_g27_closing_the_connection_wakes_calls_confirms_and_blocked_publishes(ends):
    connection, peer, channel = ends
    do(peer, commands.Confirm.SelectOk, channel.confirm_select)
    channel.basic_publish("", "q", b"x")
    calling = in_thread(channel.queue_declare, "q")
    peer.expect(commands.Queue.Declare)
    confirming = in_thread(channel.wait_for_confirms)
    told = threading.Event()
    connection.on_blocked(lambda reason: told.set())
    peer.say(commands.Connection.Blocked, 0, reason="low on memory")
    assert told.wait(WAIT_S)
    publishing = in_thread(channel.basic_publish, "", "q", b"x")
    in_thread(connection.close)
    with pytest.raises(ConnectionClosed, match="the connection is closed: closed by the application"):
        calling.result(WAIT_S)
    with pytest.raises(PublishUnconfirmed, match="closed by the application"):
        confirming.result(WAIT_S)
    with pytest.raises(ClientError, match="closed by the application"):
        publishing.result(WAIT_S)
