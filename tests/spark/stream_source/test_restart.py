"""A broker that is killed while its streams are read: who reads waits for it, and has each message once."""

import threading

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pybroker.client import Connection, parse_uri
from pybroker.spark.options import stream_source_options
from pybroker.spark.parse.columns import stream_schema
from pybroker.spark.stream.address import stream_options
from pybroker.spark.stream.link import Link
from pybroker.spark.stream_source import patience, reading
from pybroker.spark.stream_source.ranges import Range
from pybroker.spark.stream_source.streams import Streams
from tests.interop.broker_process import BrokerProcess
from tests.ports import free_port
from tests.spark.conftest import WAIT_S
from tests.spark.stream.conftest import encoded

BODIES = [b"%07d" % number * 50 for number in range(20_000)]


@pytest.fixture
def start(tmp_path):
    port, stream_port = free_port(), free_port()
    running = []

    def start():
        config = f"stream.listeners.tcp.fixed = 127.0.0.1:{stream_port}"
        running.append(BrokerProcess(tmp_path / "broker", config=config, options=("--port", str(port))))
        return running[-1]

    start.given = {"uri": f"amqp://127.0.0.1:{port}", "streamPort": str(stream_port), "stream": "s"}
    yield start
    running[-1].stop()


def test_a_broker_that_is_killed(start, monkeypatch):
    monkeypatch.setattr(patience, "RETRY_S", 0.05)
    broker = start()
    options = stream_source_options(start.given, streaming=False)
    with Connection(parse_uri(start.given["uri"])) as connection:
        connection.channel().queue_declare("s", durable=True, arguments={"x-queue-type": "stream"})
    with Link(stream_options(parse_uri(start.given["uri"]), int(start.given["streamPort"]))) as link:
        publisher = link.publisher("s")
        publisher.publish(1, list(map(encoded, BODIES)), WAIT_S)
        publisher.settle(WAIT_S)
    streams = Streams(options)
    (ends,) = streams.ends().values()
    batches = reading.read_range(stream_schema(options), options, Range("s", ends.id, 0, 0, len(BODIES)))
    found = next(batches).column("value").to_pylist()
    assert len(found) < len(BODIES)
    broker.process.kill()
    broker.process.wait()
    threading.Timer(0.2, start).start()
    assert list(streams.ends().values()) == [ends]
    for batch in batches:
        found += batch.column("value").to_pylist()
    assert found == BODIES
    streams.close()
    while reading._kept:
        reading._kept.popitem()[1][0].close()
