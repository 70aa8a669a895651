"""Streams of the tests' broker, and readers of them as Spark makes them."""

from contextlib import ExitStack

import pytest

from pybroker.spark.stream.link import Link
from tests.spark.conftest import WAIT_S
from tests.spark.stream.conftest import encoded, link, options, stream, stream_port

__all__ = ["link", "options", "stream"]


@pytest.fixture
def given(broker, uri) -> dict[str, str]:
    """Options of a connection."""
    return {"uri": uri, "streamPort": str(stream_port(broker)), "pollTimeoutMs": "20000"}


@pytest.fixture
def publish(options):
    """Publish bodies to a stream by its name."""
    with ExitStack() as stack:
        links = [stack.enter_context(Link(options))]

        def publish(stream, *bodies):
            publisher = links[0].publisher(stream)
            publisher.publish(1, list(map(encoded, bodies)), WAIT_S)
            publisher.settle(WAIT_S)

        yield publish


@pytest.fixture
def super_stream(channel, name):
    """The name of a super stream of three partitions, the second of which has the first routing key."""
    channel.exchange_declare(name, "direct", durable=True, arguments={"x-super-stream": True})
    partitions = [f"{name}-{number}" for number in range(3)]
    for number, partition in enumerate(partitions):
        channel.queue_declare(partition, durable=True, arguments={"x-queue-type": "stream"})
        channel.queue_bind(partition, name, str(number), {"x-stream-partition-order": number})
    yield name
    for partition in partitions:
        channel.queue_delete(partition)
    channel.exchange_delete(name)


def rows(reader, partitions, column="value"):
    """Return a column of all rows that a reader gives of partitions."""
    return [
        value
        for partition in partitions
        for batch in reader.read(partition)
        for value in batch.column(column).to_pylist()
    ]


def skip_unless_ours(broker):
    """Skip a test of what RabbitMQ has not: numbers of streams, and truncation."""
    if not broker.is_ours:
        pytest.skip("RabbitMQ tells no number of a stream, and truncates none")
