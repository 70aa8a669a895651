"""RabbitMQ's six tutorials, and the seventh about confirms, written with this client."""

import queue as queues
import threading
import uuid

import pytest

from pybroker.client import Properties
from tests.client.scripted import WAIT_S

PERSISTENT = Properties(delivery_mode=2)


@pytest.fixture
def got():
    return queues.Queue()


def test_1_hello_world(channel, name, got):
    channel.queue_declare(name, exclusive=True)
    channel.basic_consume(name, lambda message: got.put(message.body), no_ack=True)
    channel.basic_publish("", name, b"Hello World!")
    assert got.get(timeout=WAIT_S) == b"Hello World!"


def test_2_work_queues(connection, name):
    """Durable queue, persistent messages, acknowledgements, fair dispatch."""
    channel = connection.channel()
    channel.queue_declare(name, durable=True)
    done, finished = [], threading.Event()

    def work(message):
        done.append((message.consumer_tag, message.body))
        message.ack()
        if len(done) == 20:
            finished.set()

    for worker in ("one", "two"):
        workers_channel = connection.channel()
        workers_channel.basic_qos(1)
        workers_channel.basic_consume(name, work, consumer_tag=worker)
    for number in range(20):
        channel.basic_publish("", name, b"task %d" % number, PERSISTENT)
    assert finished.wait(WAIT_S)
    assert {worker for worker, _ in done} == {"one", "two"}
    assert len({body for _, body in done}) == 20
    channel.queue_delete(name)


def test_3_publish_and_subscribe(connection, channel, name, got):
    channel.exchange_declare(name, "fanout")
    for _ in range(2):
        subscriber = connection.channel()
        queue = subscriber.queue_declare(exclusive=True).queue
        subscriber.queue_bind(queue, name)
        subscriber.basic_consume(queue, lambda message: got.put(message.body), no_ack=True)
    channel.basic_publish(name, "", b"info: Hello World!")
    assert [got.get(timeout=WAIT_S) for _ in range(2)] == [b"info: Hello World!"] * 2
    channel.exchange_delete(name)


def test_4_routing(channel, name, got):
    channel.exchange_declare(name, "direct")
    queue = channel.queue_declare(exclusive=True).queue
    for severity in ("warning", "error"):
        channel.queue_bind(queue, name, severity)
    channel.basic_consume(queue, lambda message: got.put((message.routing_key, message.body)), no_ack=True)
    for severity in ("info", "error", "warning"):
        channel.basic_publish(name, severity, b"text")
    assert [got.get(timeout=WAIT_S)[0] for _ in range(2)] == ["error", "warning"]
    channel.exchange_delete(name)


def test_5_topics(channel, name, got):
    channel.exchange_declare(name, "topic")
    queue = channel.queue_declare(exclusive=True).queue
    for key in ("kern.*", "*.critical"):
        channel.queue_bind(queue, name, key)
    channel.basic_consume(queue, lambda message: got.put(message.routing_key), no_ack=True)
    for key in ("kern.info", "mail.info", "mail.critical", "kern.critical"):
        channel.basic_publish(name, key, b"text")
    assert [got.get(timeout=WAIT_S) for _ in range(3)] == ["kern.info", "mail.critical", "kern.critical"]
    channel.exchange_delete(name)


def test_6_remote_procedure_call(connect, name):
    def fibonacci(number):
        return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)

    def on_request(message):
        answer = str(fibonacci(int(message.body))).encode()
        properties = Properties(correlation_id=message.properties.correlation_id)
        message.channel.basic_publish("", message.properties.reply_to, answer, properties)
        message.ack()

    server = connect().channel()
    server.queue_declare(name, exclusive=False, auto_delete=True)
    server.basic_qos(1)
    server.basic_consume(name, on_request)

    answers = queues.Queue()
    client = connect().channel()
    client.basic_consume("amq.rabbitmq.reply-to", answers.put, no_ack=True)
    correlation_id = str(uuid.uuid4())
    request = Properties(reply_to="amq.rabbitmq.reply-to", correlation_id=correlation_id)
    client.basic_publish("", name, b"12", request)
    answer = answers.get(timeout=WAIT_S)
    assert (answer.body, answer.properties.correlation_id) == (b"144", correlation_id)


def test_7_publisher_confirms(channel, queue):
    """One by one, in batches, and each by its own handle."""
    channel.confirm_select()
    channel.publish_and_wait("", queue, b"one by one")
    for _ in range(100):
        channel.basic_publish("", queue, b"in a batch")
    channel.wait_for_confirms()
    answered = []
    for _ in range(100):
        channel.publish_future("", queue, b"by its handle").add_done_callback(answered.append)
    channel.wait_for_confirms()
    assert channel._lane.wait_idle(WAIT_S)
    assert [confirmation.exception() for confirmation in answered] == [None] * 100
    assert channel.queue_declare(queue, passive=True).message_count == 201
