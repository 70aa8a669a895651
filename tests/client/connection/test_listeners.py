"""Handlers are callbacks like others; failing callbacks are told and do no harm."""

import logging
import queue as queues
import threading

from tests.client.scripted import WAIT_S


def test_handlers_are_called_in_order_on_the_executor(connect):
    connection = connect(connection_name="mine")
    told = queues.Queue()
    for number in (1, 2):
        connection.on_blocked(lambda reason, n=number: told.put((n, reason, threading.current_thread().name)))
    connection._tell("blocked", "low on memory")
    got = [told.get(timeout=WAIT_S) for _ in range(2)]
    assert [each[:2] for each in got] == [(1, "low on memory"), (2, "low on memory")]
    assert all(each[2].startswith("mine-callback") for each in got)


def test_g28_a_failing_callback_is_logged_and_handed_over_and_the_channel_goes_on(connect, caplog):
    failed = queues.Queue()
    connection = connect(on_error=lambda *given: failed.put(given))
    channel = connection.channel()
    queue = channel.queue_declare(exclusive=True).queue
    got = queues.Queue()

    def on_message(message):
        got.put(message.body)
        if message.body == b"bad":
            raise ValueError("no good")

    channel.basic_consume(queue, on_message, no_ack=True)
    with caplog.at_level(logging.ERROR, "pybroker.client"):
        for body in (b"1", b"bad", b"3"):
            channel.basic_publish("", queue, body)
        where, error, argument = failed.get(timeout=WAIT_S)
    assert [got.get(timeout=WAIT_S) for _ in range(3)] == [b"1", b"bad", b"3"]
    assert (where, str(error), argument.body) == (channel, "no good", b"bad")
    assert "a callback failed for <Message 2" in caplog.text
    assert channel.is_open


def test_g28_a_failing_callback_closes_the_channel_where_that_is_wished_for(connect):
    connection = connect(close_channel_on_callback_error=True)
    channel, other = connection.channel(), connection.channel()
    queue = other.queue_declare(exclusive=True).queue
    channel.basic_consume(queue, lambda message: message.nonsense)
    other.basic_publish("", queue, b"x")
    assert channel._lane.wait_idle(WAIT_S)
    got = queues.Queue()
    other.basic_consume(queue, got.put)
    assert got.get(timeout=WAIT_S).redelivered
    assert (channel.is_open, other.is_open) == (False, True)
