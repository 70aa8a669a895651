"""All rows of a task by one transaction: once, or not at all."""

import os
import queue
import signal

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")
pytest.importorskip("pyarrow", reason="no pyarrow here: pip install 'pybroker[spark]'")

from pybroker.client import Properties
from pybroker.client.errors import PreconditionFailed
from pybroker.spark.options import sink_options
from pybroker.spark.sink import task_publisher
from pybroker.spark.sink.publisher import ConfirmTimeout, PublisherBlocked
from pybroker.spark.sink.rows import Row
from pybroker.spark.sink.task_publisher import CannotNumberError, TaskPublisher, TaskTooLargeError
from pybroker.wire.properties import encode_properties
from tests.spark.sink.streams import bodies, skip_unless_numbered, super_stream


def options_of(uri, **given):
    return sink_options({"uri": uri, "exactlyOnce": "task", **given})


def published(options, batch, *rows):
    with TaskPublisher(options, "p", batch) as publisher:
        publisher.publish(rows)
        publisher.settle()


def row(value, stream, exchange="", properties=bytes(2)):
    return Row(exchange, stream, properties, value)


@pytest.fixture
def stream(broker, stream):
    skip_unless_numbered(broker)
    return stream


def test_a_task_that_is_run_again_is_there_once_in_any_order(uri, link, stream):
    options = options_of(uri, stream=stream)
    published(options, 0, row(b"0", stream), row(b"1", stream))
    published(options, 0, row(b"1", stream), row(b"0", stream))
    published(options, 1, row(b"2", stream))
    assert [b"0", b"1", b"2"] == bodies(link, stream, 3)
    assert 3 == link.ends(stream).next


def test_a_task_that_is_cut_off_left_nothing(uri, link, stream):
    options = options_of(uri, stream=stream)
    with TaskPublisher(options, "p", 0) as publisher:
        publisher.publish(row(b"%d" % number, stream) for number in range(1_200))
    published(options, 0, *(row(b"%d" % number, stream) for number in range(1_200)))
    assert [b"%d" % number for number in range(1_200)] == bodies(link, stream, 1_200)


def test_an_empty_task_is_no_error(uri, stream):
    published(options_of(uri, stream=stream), 0)


def test_the_first_row_keeps_its_own_headers(uri, channel, stream):
    octets = encode_properties(Properties(headers={"mine": 1}, message_id="m"))
    published(options_of(uri, stream=stream), 7, row(b"0", stream, properties=octets), row(b"1", stream))
    channel.basic_qos(prefetch_count=10)
    messages: queue.Queue = queue.Queue()
    channel.basic_consume(stream, messages.put, arguments={"x-stream-offset": "first"})
    found = [messages.get(timeout=30).properties for _ in range(2)]
    assert {"mine": 1, "x-pybroker-publisher": "p", "x-pybroker-sequence": 7}.items() <= found[0].headers.items()
    assert ("m", ["x-stream-offset"]) == (found[0].message_id, list(found[1].headers))


def test_a_super_stream_has_all_or_nothing(broker, uri, link, channel, name):
    skip_unless_numbered(broker)
    partitions = super_stream(channel, name, "a", "b")
    options = options_of(uri, superStream=name)
    with pytest.raises(PreconditionFailed, match="reaches no stream"):
        published(options, 0, row(b"0", "a", name), row(b"1", "nowhere", name))
    for _ in range(2):
        published(options, 0, row(b"0", "a", name), row(b"1", "b", name))
    assert [[b"0"], [b"1"]] == [bodies(link, each, 1) for each in partitions]
    assert [1, 1] == [link.ends(each).next for each in partitions]
    for each in partitions:
        channel.queue_delete(each)
    channel.exchange_delete(name)


def test_a_task_above_the_limit_is_told_what_to_do(uri, link, stream):
    with pytest.raises(TaskTooLargeError, match="have more partitions"):
        published(options_of(uri, stream=stream), 0, *[row(bytes(1_000_000), stream)] * 17)
    assert 0 == link.ends(stream).next


def test_a_broker_that_does_not_answer_is_waited_for_so_long(broker, uri, stream):
    if not broker.is_ours:
        pytest.skip("a broker that was given is not to be stopped")
    with TaskPublisher(options_of(uri, stream=stream, publisherConfirmTimeoutMs="300"), "p", 0) as publisher:
        publisher.publish([row(b"0", stream)])
        os.kill(broker.pid, signal.SIGSTOP)
        try:
            with pytest.raises(ConfirmTimeout, match=r"not committed within 0.3 s \(publisherConfirmTimeoutMs\)"):
                publisher.settle()
        finally:
            os.kill(broker.pid, signal.SIGCONT)


def test_a_blocked_broker_is_waited_for_longer_and_the_alarm_is_named(broker, uri, link, stream):
    if not broker.is_ours:
        pytest.skip("no pybrokerctl for a broker that was given")
    options = options_of(uri, stream=stream, publisherConfirmTimeoutMs="300", maxBlockedMs="700")
    with TaskPublisher(options, "p", 0) as publisher:
        broker.ctl("set_vm_memory_high_watermark", "0")
        try:
            publisher.publish([row(b"0", stream)])
            with pytest.raises(PublisherBlocked, match=r"for 0.7 s \(maxBlockedMs\), .*low on memory"):
                publisher.settle()
        finally:
            broker.ctl("set_vm_memory_high_watermark", "0.4")
    # The broker may take what it was sent: run again, the task is there once.
    published(options, 0, row(b"0", stream))
    assert 1 == link.ends(stream).next


def test_a_broker_that_would_not_know_it_again_is_refused(broker, uri, monkeypatch):
    if broker.is_ours:
        monkeypatch.setattr(task_publisher, "_CAPABILITY", "of nobody")
    with pytest.raises(CannotNumberError, match="use exactlyOnce=rows"):
        TaskPublisher(options_of(uri, stream="s"), "p", 0)
