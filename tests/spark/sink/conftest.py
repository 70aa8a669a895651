"""Streams of the tests' broker, and the port by which rows reach them."""

import pytest

from tests.spark.stream.conftest import link, options, stream, stream_port

__all__ = ["link", "options", "stream"]


@pytest.fixture
def link_port(broker) -> int:
    """The port of the stream protocol."""
    return stream_port(broker)
