"""A connection's life, on a real broker and on one that misbehaves."""

import queue as queues
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from pamqp import commands

import pybroker.client
from pybroker.client.errors import (
    AuthenticationFailed,
    CallTimeout,
    ConnectionBlocked,
    ConnectionClosed,
    ConnectionForced,
    ConnectionLost,
    NotAllowed,
)
from tests.client.scripted import WAIT_S, ScriptedBroker, in_thread


def test_a_uri_is_enough(broker):
    with pybroker.client.connect(f"amqp://guest:guest@{broker.host}:{broker.port}/") as connection:
        assert connection.is_open
        assert connection.server_properties["product"] == "RabbitMQ"
    assert connection.is_closed
    with pytest.raises(ConnectionClosed, match="closed by the application"):
        connection.channel()
    connection.close()  # twice is no error


def test_wrong_credentials_and_virtual_hosts_are_told(connect):
    with pytest.raises(AuthenticationFailed, match="ACCESS_REFUSED"):
        connect(password="wrong")
    with pytest.raises(NotAllowed, match="vhost nowhere not found"):
        connect(virtual_host="nowhere")


def test_g3_connections_are_independent(connect):
    one, two = connect(), connect()
    one.close()
    assert two.channel().queue_declare(exclusive=True).message_count == 0


def test_g4_addresses_are_tried_in_turn(broker, connect):
    addresses = (pybroker.client.Address("127.0.0.1", 1), pybroker.client.Address(broker.host, broker.port))
    assert connect(addresses=addresses)._transport.address == addresses[1]


def test_g5_a_connection_has_one_reader_and_callbacks_run_elsewhere(connect):
    before = set(threading.enumerate())
    connection = connect(connection_name="mine")
    channels = [connection.channel() for _ in range(3)]
    started = {thread.name for thread in threading.enumerate() if thread not in before}
    assert started == {"mine-reader", "mine-writer"}
    got = queues.Queue()
    queue = channels[0].queue_declare(exclusive=True).queue
    channels[1].basic_consume(queue, lambda message: got.put(threading.current_thread().name), no_ack=True)
    channels[0].basic_publish("", queue, b"x")
    assert got.get(timeout=WAIT_S).startswith("mine-callback")


def test_g6_callbacks_run_on_the_executor_that_was_given(connect):
    with ThreadPoolExecutor(1, thread_name_prefix="given") as executor:
        connection = connect(executor=executor)
        channel = connection.channel()
        got = queues.Queue()
        queue = channel.queue_declare(exclusive=True).queue
        channel.basic_consume(queue, lambda message: got.put(threading.current_thread().name), no_ack=True)
        channel.basic_publish("", queue, b"x")
        assert got.get(timeout=WAIT_S).startswith("given")
        connection.close()
        assert executor.submit(lambda: "still there").result(WAIT_S) == "still there"


def test_a_callback_may_close_the_connection(connect):
    connection = connect()
    channel = connection.channel()
    queue = channel.queue_declare(exclusive=True).queue
    closed = threading.Event()
    channel.basic_consume(queue, lambda message: (connection.close(), closed.set()))
    channel.basic_publish("", queue, b"x")
    assert closed.wait(WAIT_S)
    assert connection.is_closed


def test_close_waits_for_the_callback_that_runs(connect):
    connection = connect()
    channel = connection.channel()
    queue = channel.queue_declare(exclusive=True).queue
    began, go, done = threading.Event(), threading.Event(), []
    channel.basic_consume(queue, lambda message: (began.set(), go.wait(WAIT_S), done.append(1)), no_ack=True)
    channel.basic_publish("", queue, b"x")
    assert began.wait(WAIT_S)
    closing = in_thread(connection.close)
    go.set()
    closing.result(WAIT_S)
    assert done == [1]


def test_e9_publishes_wait_while_the_broker_takes_none_and_the_handlers_hear_why(scripted):
    connection, peer = scripted.connect(blocked_timeout_s=0.05)
    channel = scripted.open_channel(connection, peer)
    told = queues.Queue()
    connection.on_blocked(told.put)
    connection.on_unblocked(lambda: told.put("over"))
    peer.say(commands.Connection.Blocked, 0, reason="low on memory")
    assert told.get(timeout=WAIT_S) == "low on memory"
    assert connection.blocked_reason == "low on memory"
    with pytest.raises(ConnectionBlocked, match="the broker has blocked the connection, low on memory"):
        channel.basic_publish("", "q", b"x")
    peer.say(commands.Connection.Unblocked, 0)
    assert told.get(timeout=WAIT_S) == "over"
    channel.basic_publish("", "q", b"x")
    assert peer.expect(commands.Basic.Publish).routing_key == "q"


def test_e9_a_call_may_take_longer_while_the_broker_does_not_read(scripted):
    connection, peer = scripted.connect(blocked_timeout_s=WAIT_S, rpc_timeout_s=0.2)
    channel = scripted.open_channel(connection, peer)
    told = threading.Event()
    connection.on_blocked(lambda reason: told.set())
    peer.say(commands.Connection.Blocked, 0, reason="low on disk")
    assert told.wait(WAIT_S)
    calling = in_thread(channel.queue_declare, "q")
    peer.expect(commands.Queue.Declare)
    time.sleep(0.3)  # longer than a call may take otherwise
    peer.say(commands.Connection.Unblocked, 0)
    peer.say(commands.Queue.DeclareOk, queue="q")
    assert calling.result(WAIT_S).queue == "q"


def test_a_blocked_publish_ends_with_the_connection(scripted):
    connection, peer = scripted.connect(blocked_timeout_s=WAIT_S, recovery=False)
    channel = scripted.open_channel(connection, peer)
    told = threading.Event()
    connection.on_blocked(lambda reason: told.set())
    peer.say(commands.Connection.Blocked, 0, reason="low on disk")
    assert told.wait(WAIT_S)
    publishing = in_thread(channel.basic_publish, "", "q", b"x")
    peer.close()
    with pytest.raises((ConnectionClosed, ConnectionLost)):
        publishing.result(WAIT_S)


def test_a_silent_broker_is_lost_after_two_heartbeats(scripted):
    scripted.tune["heartbeat"] = 1
    connection, peer = scripted.connect(recovery=False)
    lost = queues.Queue()
    connection.on_close(lost.put)
    assert "no data from the broker for 2 s" in str(lost.get(timeout=WAIT_S))
    assert peer.read()[0] == 8  # ours came


def test_without_recovery_the_end_is_for_good(scripted):
    connection, peer = scripted.connect(recovery=False)
    closed = queues.Queue()
    connection.on_close(closed.put)
    peer.say(commands.Connection.Close, 0, reply_code=320, reply_text="CONNECTION_FORCED - bye")
    assert type(closed.get(timeout=WAIT_S)) is ConnectionForced
    with pytest.raises(ConnectionClosed, match="CONNECTION_FORCED - bye"):
        connection.wait_until_open(WAIT_S)


def test_a_broker_that_does_not_answer_close_is_left(scripted):
    connection, peer = scripted.connect()
    connection.close()
    assert peer.expect(commands.Connection.Close).reply_code == 200
    assert connection.is_closed


def test_waiting_for_a_recovery_has_a_time_out():
    with ScriptedBroker() as scripted:
        connection, peer = scripted.connect(recovery_delay_s=WAIT_S)
        lost = threading.Event()
        connection.on_lost(lambda error: lost.set())
        peer.close()
        assert lost.wait(WAIT_S)
        with pytest.raises(CallTimeout):
            connection.wait_until_open(0.01)
        assert "recovering" in repr(connection)


def test_a_new_secret_is_told_to_the_broker(connection):
    connection.update_secret("another", "rotation")
    assert connection.is_open
    assert connection.options.password == "another"


def test_a_recovery_logs_in_with_the_new_secret(scripted):
    connection, peer = scripted.connect(username="me", password="old")
    updating = in_thread(connection.update_secret, "new", "rotation")
    assert peer.expect(commands.Connection.UpdateSecret).new_secret == "new"
    peer.say(commands.Connection.UpdateSecretOk, 0)
    updating.result(WAIT_S)
    peer.close()
    assert scripted.accept().start_ok.response == "\0me\0new"


def test_a_secret_that_is_refused_or_comes_in_a_recovery(scripted):
    connection, peer = scripted.connect(password="old", recovery_delay_s=WAIT_S)
    closed, lost = queues.Queue(), threading.Event()
    connection.on_close(closed.put)
    updating = in_thread(connection.update_secret, "wrong", "rotation")
    peer.expect(commands.Connection.UpdateSecret)
    peer.say(commands.Connection.Close, 0, reply_code=530, reply_text="NOT_ALLOWED - New secret was refused")
    with pytest.raises(NotAllowed, match="New secret was refused"):
        updating.result(WAIT_S)
    assert type(closed.get(timeout=WAIT_S)) is NotAllowed
    other, peer = scripted.connect(password="old", recovery_delay_s=WAIT_S)
    other.on_lost(lambda error: lost.set())
    peer.close()
    assert lost.wait(WAIT_S)
    with pytest.raises(ConnectionLost):
        other.update_secret("new", "rotation")
    assert other.options.password == "new"


def test_e9_a_block_that_ends_with_the_link_is_told_to_be_over_once(scripted):
    connection, peer = scripted.connect()
    told = queues.Queue()
    connection.on_blocked(told.put)
    connection.on_unblocked(lambda: told.put("over"))
    connection.on_recovered(lambda: told.put("recovered"))
    peer.say(commands.Connection.Blocked, 0, reason="low on memory")
    assert told.get(timeout=WAIT_S) == "low on memory"
    peer.close()
    peer = scripted.accept()
    assert [told.get(timeout=WAIT_S) for _ in range(2)] == ["recovered", "over"]
    assert connection.blocked_reason is None
    peer.say(commands.Connection.Unblocked, 0)
    peer.say(commands.Connection.Blocked, 0, reason="low on disk")
    assert told.get(timeout=WAIT_S) == "low on disk"


def test_a_program_waits_while_its_callbacks_work(connect):
    connection = connect()
    with pytest.raises(CallTimeout, match=r"not closed after 0\.01 s"):
        connection.wait_until_closed(0.01)
    waiting = in_thread(connection.wait_until_closed, WAIT_S)
    channel = connection.channel()
    queue = channel.queue_declare(exclusive=True).queue
    channel.basic_consume(queue, lambda message: connection.close(), no_ack=True)
    channel.basic_publish("", queue, b"that is all")
    assert waiting.result(WAIT_S) is None


def test_a_program_that_waits_hears_what_ended_its_connection(scripted):
    connection, peer = scripted.connect(recovery=False)
    waiting = in_thread(connection.wait_until_closed)
    peer.say(commands.Connection.Close, 0, reply_code=320, reply_text="CONNECTION_FORCED - bye")
    with pytest.raises(ConnectionClosed, match="CONNECTION_FORCED - bye") as caught:
        waiting.result(WAIT_S)
    assert type(caught.value.reason) is ConnectionForced
