import pytest

from pybroker.client import parse_uri
from pybroker.spark.stream.link import Link, stream_options
from tests.spark.stream.conftest import stream_port


@pytest.fixture
def link_port(broker):
    """The port of the stream protocol."""
    return stream_port(broker)


@pytest.fixture
def link(uri, link_port):
    with Link(stream_options(parse_uri(uri), link_port)) as link:
        yield link


@pytest.fixture
def stream(channel, name):
    """The name of a stream that ends with the test."""
    channel.queue_declare(name, durable=True, arguments={"x-queue-type": "stream"})
    yield name
    channel.queue_delete(name)
