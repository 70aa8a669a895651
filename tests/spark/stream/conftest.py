import dataclasses
import os

import pytest

from pybroker.client import Address, Options
from pybroker.spark.stream.address import stream_options
from pybroker.spark.stream.link import Link
from tests.interop.broker_process import BrokerProcess
from tests.spark.conftest import WAIT_S
from tests.stream_peer import FIRST


@pytest.fixture
def options(broker) -> Options:
    """Options of a link to the broker; with another one, RabbitMQ, INTEROP_STREAM_PORT says where that is."""
    options = Options(addresses=(Address(broker.host, broker.port),), rpc_timeout_s=WAIT_S)
    return stream_options(options, stream_port(broker))


def stream_port(broker: BrokerProcess) -> int:
    if not broker.is_ours:
        return int(os.environ["INTEROP_STREAM_PORT"])
    return int(broker.places["stream listener"][0].rpartition(":")[2])


@pytest.fixture
def link(options):
    with Link(options) as link:
        yield link


@pytest.fixture
def stream(channel, name):
    """The name of a stream that ends with the test."""
    channel.queue_declare(name, durable=True, arguments={"x-queue-type": "stream"})
    yield name
    channel.queue_delete(name)


@pytest.fixture
def publish(link, stream):
    """Publish bodies to the stream, as the stream protocol's messages."""
    publisher = link.publisher(stream)
    ids = iter(range(1, 1 << 30, 1 << 20))

    def publish(*bodies: bytes) -> None:
        publisher.publish(next(ids), list(map(encoded, bodies)), WAIT_S)
        publisher.settle(WAIT_S)

    return publish


def encoded(body: bytes) -> bytes:
    """Return a message of AMQP 1.0 of one section of data."""
    return b"\x00Su\xb0" + len(body).to_bytes(4) + body


def read(link: Link, stream: str, begin=FIRST, count: int = 1, **properties: str) -> list[bytes]:
    """Return so many bodies from a place on."""
    found: list[bytes] = []
    with link.subscribe(stream, begin, **properties) as subscription:
        while len(found) < count:
            chunk = subscription.chunk(WAIT_S)
            assert chunk is not None
            found += [message[8:] for message in chunk.messages()]
    return found


def with_password(options: Options, password: str) -> Options:
    return dataclasses.replace(options, password=password)


def packed_batch(compress, *messages: bytes) -> bytes:
    """Return messages as one sub-batch, which says that it is compressed by gzip."""
    plain = b"".join(len(each).to_bytes(4) + each for each in map(encoded, messages))
    packed = compress(plain, wbits=31)
    return bytes([0x90]) + len(messages).to_bytes(2) + len(plain).to_bytes(4) + len(packed).to_bytes(4) + packed


def publish_batch(link, stream, compress, *messages):
    """Publish messages as one sub-batch."""
    publisher = link.publisher(stream)
    content = bytes([publisher.id]) + (1).to_bytes(4) + (1).to_bytes(8) + packed_batch(compress, *messages)
    publisher.open += 1
    link.send_octets((len(content) + 4).to_bytes(4) + b"\0\2\0\1" + content)
    publisher.settle(10.0)
