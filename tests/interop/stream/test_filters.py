"""Filters: chunks that cannot have a wanted value are not delivered. RabbitMQ has them since 3.13."""

import struct

import pika
import pytest

from tests.interop.stream.client import FIRST, published
from tests.interop.stream.peer import Code, amqp_data, octets

# In a chunk of its own by its number, and not joined with others.
GROUP = 120


@pytest.fixture(autouse=True)
def only_ours(door):
    if not door.is_ours:
        pytest.skip("RabbitMQ has them since 3.13")


def filtered(value, body):
    """Return what stands behind an id in a Publish of version 2."""
    return (b"\xff\xff" if value is None else struct.pack(">H", len(value)) + value) + octets(body)


@pytest.fixture
def channel(door):
    connection = door.amqp.pika()
    channel = connection.channel()
    channel.confirm_delivery()
    yield channel
    connection.close()


@pytest.fixture
def groups(client, stream):
    """Publish a group of messages with the value a, one with b, and one without a value, one behind the other."""
    client.declare(1, stream)
    for at, value in enumerate((b"a", b"b", None)):
        ids = range(at * GROUP, (at + 1) * GROUP)
        messages = [(number, filtered(value, amqp_data(b"%d" % number))) for number in ids]
        client.socket.sendall(published(1, messages, version=2))
        assert client.confirmed(1, GROUP) == list(ids)
    return stream


@pytest.mark.parametrize(
    ("properties", "wanted"),
    [
        ({"filter.0": "a"}, [0]),
        ({"filter.0": "b", "filter.1": "c"}, [1]),
        ({"filter.0": "c"}, []),
        ({"filter.0": "a", "match-unfiltered": "true"}, [0, 2]),
        ({"match-unfiltered": "true"}, [0, 1, 2]),
    ],
)
def test_a_subscription_gets_chunks_that_may_match(client, groups, properties, wanted):
    assert client.subscribe(1, groups, FIRST, **properties) == Code.OK
    offsets = [message.offset for chunk in client.chunks() for message in chunk.messages]
    assert offsets == [offset for at in wanted for offset in range(at * GROUP, (at + 1) * GROUP)]


def test_a_consumer_of_amqp_gets_the_same(channel, groups):
    channel.basic_qos(prefetch_count=500)
    arguments = {"x-stream-offset": "first", "x-stream-filter": "b"}
    got = []
    for method, properties, _ in channel.consume(groups, arguments=arguments, inactivity_timeout=0.3):
        if method is None:
            break
        got.append(properties.headers["x-stream-offset"])
    channel.cancel()
    assert got == list(range(GROUP, 2 * GROUP))


def test_values_of_amqp_publishers_count_for_stream_clients(client, stream, channel):
    for value in ("a", "b"):
        for number in range(3):
            properties = pika.BasicProperties(delivery_mode=2, headers={"x-stream-filter-value": value})
            channel.basic_publish("", stream, b"%d" % number, properties)
    assert client.subscribe(1, stream, FIRST, **{"filter.0": "b"}) == Code.OK
    assert [message.offset for message in client.take(3)] == [3, 4, 5]
