"""Fixtures of the tests through the stream protocol: the broker's port of it, and a stream for a test alone.

With INTEROP_BROKER set to a RabbitMQ, INTEROP_STREAM_PORT is its port of the stream protocol, and INTEROP_CTL a
rabbitmqctl that finds it.
"""

import itertools
import os
import subprocess

import pytest

from tests.interop.broker_process import BrokerProcess
from tests.interop.stream.client import Client
from tests.interop.stream.peer import Code

NUMBERS = itertools.count()


class StreamBroker:
    """A broker as a client of streams meets it."""

    def __init__(self, broker: BrokerProcess, port: int) -> None:
        self.amqp, self.is_ours, self.address = broker, broker.is_ours, (broker.host, port)

    def client(self, **options: object) -> Client:
        """Return a client that has shaken hands."""
        return Client(self.address).open(**options)

    def stranger(self) -> Client:
        """Return a client that has said nothing yet."""
        return Client(self.address)

    def ctl(self, *words: str) -> None:
        """Run the control program."""
        if self.is_ours:
            self.amqp.ctl(*words)
        else:
            subprocess.run([os.environ["INTEROP_CTL"], "-q", *words], check=True, timeout=60, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    broker = BrokerProcess(tmp_path_factory.mktemp("broker"), config="stream.listeners.tcp.1 = 127.0.0.1:0\n")
    yield broker
    status = broker.stop()
    assert "Traceback" not in broker.log
    assert status == (0, "")


@pytest.fixture(scope="module")
def door(broker):
    if broker.is_ours:
        return StreamBroker(broker, int(broker.places["stream listener"][0].rpartition(":")[2]))
    return StreamBroker(broker, int(os.environ["INTEROP_STREAM_PORT"]))


@pytest.fixture
def client(door):
    with door.client() as client:
        yield client


@pytest.fixture
def stream(door):
    """Return the name of a stream that nobody else uses."""
    name = f"stream-{os.getpid()}-{next(NUMBERS)}"
    with door.client() as client:
        assert client.create(name) == Code.OK
        yield name
        client.delete(name)
