"""Streams for tests of sinks: made by AMQP, read by the stream protocol."""

import pytest

from pybroker.spark.stream.link import Link
from pybroker.spark.stream.places import FIRST
from pybroker.wire.amqp10.to_content import parts_of

WAIT_S = 30.0


def bodies(link: Link, stream: str, count: int) -> list[bytes]:
    """Return the first bodies of a stream."""
    found: list[bytes] = []
    with link.subscribe(stream, FIRST) as subscription:
        while len(found) < count:
            chunk = subscription.chunk(WAIT_S)
            assert chunk is not None
            found += parts_of(list(chunk.messages()))[0]
    return found


def super_stream(channel, name: str, *keys: str, kind: str = "direct") -> list[str]:
    """Make a super stream with a partition for each key; return their names."""
    channel.exchange_declare(name, kind, durable=True, arguments={"x-super-stream": True})
    partitions = [f"{name}-{key}" for key in keys]
    for order, (partition, key) in enumerate(zip(partitions, keys, strict=True)):
        channel.queue_declare(partition, durable=True, arguments={"x-queue-type": "stream"})
        channel.queue_bind(partition, name, key, arguments={"x-stream-partition-order": order})
    return partitions


def skip_unless_numbered(broker, how: str = "task") -> None:
    """Skip a test of numbered transactions where the broker has none."""
    if how == "task" and not broker.is_ours:
        pytest.skip("RabbitMQ does not know a transaction again: it is refused for exactlyOnce=task")
