"""One daemon for all tests of the client; with INTEROP_BROKER=HOST:PORT:PID in the environment that broker instead."""

import uuid
from collections.abc import Iterator

import pytest

from pybroker.client import Address, Connection, Options
from tests.client.scripted import ScriptedBroker
from tests.interop.broker_process import BrokerProcess
from tests.ports import free_port

WAIT_S = 60.0


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    broker = BrokerProcess(tmp_path_factory.mktemp("broker"))
    yield broker
    status = broker.stop()
    assert "Traceback" not in broker.log
    assert status == (0, "")


@pytest.fixture
def connect(broker):
    """Return a function that connects to the broker; whatever was connected is closed with the test."""
    made = []

    def connect(*, port=None, executor=None, on_error=None, **options):
        address = Address(broker.host, port or broker.port)
        options = {"addresses": (address,), "rpc_timeout_s": WAIT_S, "recovery_delay_s": 0.05} | options
        made.append(Connection(Options(**options), executor=executor, on_error=on_error))
        return made[-1]

    yield connect
    for connection in made:
        connection.close()
        threads = connection._transport.reader.thread, connection._transport.writer.thread
        assert [thread.name for thread in threads if thread.is_alive()] == []


@pytest.fixture
def connection(connect):
    return connect()


@pytest.fixture
def channel(connection):
    return connection.channel()


@pytest.fixture
def queue(channel):
    """Return the name of a queue that ends with the test."""
    return channel.queue_declare(exclusive=True).queue


@pytest.fixture
def name():
    """Return a name that nobody else uses: the broker may be one that lives longer than the tests."""
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def scripted():
    """Return a broker that does what the test says."""
    with ScriptedBroker() as scripted:
        yield scripted


@pytest.fixture
def own(tmp_path):
    """Return a function that starts a broker always in the same place; it is stopped with the test."""
    port, started = free_port(), []

    def start():
        started.append(BrokerProcess(tmp_path, options=("--port", str(port))))
        return started[-1]

    yield start
    assert started[-1].stop() == (0, "")
