import contextlib

import pika
import pytest

from pybroker.testing import Broker


@pytest.fixture(scope="session")
def server():
    """One for all tests of a process; those that end it have their own."""
    with Broker() as broker:
        yield broker


@pytest.fixture
def vhost(request, server):
    server.revive()
    with server.vhost("test", unique=True) as vhost:
        yield vhost


@pytest.fixture
def connect(vhost):
    """Return a function that opens pika's connection to the test's virtual host, with a channel that wants confirms."""
    opened = []

    def connect(**parameters):
        given = pika.URLParameters(vhost.uri)
        for name, value in parameters.items():
            setattr(given, name, value)
        connection = pika.BlockingConnection(given)
        opened.append(connection)
        channel = connection.channel()
        channel.confirm_delivery()
        return connection, channel

    yield connect
    for connection in opened:
        # Some tests have cut it.
        with contextlib.suppress(pika.exceptions.AMQPError):
            connection.close()
