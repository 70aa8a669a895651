"""The batch read as Spark calls it."""

import datetime as dt
import pickle

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pyspark.sql.types import StructType

from pybroker.client import Properties
from pybroker.spark.source import PybrokerSource
from pybroker.spark.stream.errors import StreamError
from pybroker.spark.stream_source.offset import DataLossError
from pybroker.spark.values import OptionError
from pybroker.wire.table import Table
from tests.faults.control import ask
from tests.spark.stream_source.conftest import rows, skip_unless_ours


@pytest.fixture
def reader(given):
    def make(schema=None, **options):
        source = PybrokerSource(given | options)
        reader = source.reader(schema or source.schema())
        return pickle.loads(pickle.dumps(reader))

    return make


def test_all_messages_with_their_offsets(reader, stream, publish):
    publish(stream, b"a", b"b", b"c")
    before = dt.datetime.now(dt.UTC)
    found = reader(stream=stream)
    (partition,) = found.partitions()
    (batch,) = found.read(partition)
    assert batch.column("value").to_pylist() == [b"a", b"b", b"c"]
    assert batch.column("offset").to_pylist() == [0, 1, 2]
    assert batch.column("stream").to_pylist() == batch.column("routing_key").to_pylist() == [stream] * 3
    assert batch.column("partition").to_pylist() == [0] * 3
    assert batch.column("exchange").to_pylist() == [""] * 3
    for time in batch.column("timestamp").to_pylist():
        assert abs(time - before) < dt.timedelta(minutes=1)


def test_an_empty_stream_has_no_rows(reader, stream):
    found = reader(stream=stream)
    assert rows(found, found.partitions()) == []


def test_begin_and_end(reader, stream, publish):
    publish(stream, *[b"%d" % number for number in range(10)])
    found = reader(stream=stream, startingOffsets=f'{{"{stream}": 3}}', endingOffsets=f'{{"{stream}": 6}}')
    assert rows(found, found.partitions()) == [b"3", b"4", b"5"]
    found = reader(stream=stream, startingOffsets="latest")
    assert rows(found, found.partitions()) == []
    found = reader(stream=stream, startingTimestamp="0")
    assert len(rows(found, found.partitions())) == 10
    found = reader(stream=stream, startingTimestamp="99999999999999")
    with pytest.raises(OptionError, match="no message of that time"):
        found.partitions()
    found = reader(stream=stream, endingTimestamp="0")
    assert rows(found, found.partitions()) == []


def test_a_stream_is_cut_into_tasks(reader, stream, publish):
    publish(stream, *[b"%d" % number for number in range(100)])
    found = reader(stream=stream, minPartitions="3")
    partitions = found.partitions()
    assert len(partitions) == 3
    assert rows(found, partitions, "offset") == list(range(100))


def test_a_super_stream_has_a_task_for_each_partition(reader, super_stream, publish):
    for number in range(3):
        publish(f"{super_stream}-{number}", b"%d" % number, b"more")
    found = reader(superStream=super_stream)
    partitions = found.partitions()
    assert rows(found, partitions, "partition") == [0, 0, 1, 1, 2, 2]
    assert rows(found, partitions)[::2] == [b"0", b"1", b"2"]


def test_messages_of_amqp_keep_their_properties(reader, channel, stream):
    properties = Properties(message_id="m-1", headers=Table({"n": 1}), content_type="text/plain")
    channel.basic_publish("amq.direct", "nowhere", b"")
    channel.queue_bind(stream, "amq.direct", "some key")
    channel.basic_publish("amq.direct", "some key", b"body", properties)
    channel.wait_for_confirms()
    found = reader(stream=stream, includeProperties="true", includeHeaders="true")
    (batch,) = found.read(*found.partitions())
    (row,) = batch.to_pylist()
    assert (row["value"], row["exchange"], row["routing_key"]) == (b"body", "amq.direct", "some key")
    assert (row["properties"]["message_id"], row["properties"]["content_type"]) == ("m-1", "text/plain")
    assert row["headers"] == [("n", "1")]


def test_a_schema_is_a_projection(reader, stream, publish):
    publish(stream, b"a")
    found = reader(StructType().add("offset", "long", False), stream=stream)
    (batch,) = found.read(*found.partitions())
    assert batch.schema.names == ["offset"]


def test_what_is_below_the_floor_is_lost(reader, stream, publish, broker):
    skip_unless_ours(broker)
    publish(stream, *[b"%d" % number for number in range(10)])
    strict, lenient = reader(stream=stream), reader(stream=stream, failOnDataLoss="false")
    partitions = strict.partitions()
    ask(broker.socket, "stream_truncate", stream=stream, before="4")
    with pytest.raises(DataLossError, match=r"lost messages 0 to 3 .*; set failOnDataLoss=false"):
        rows(strict, partitions)
    assert rows(lenient, partitions, "offset") == list(range(4, 10))


def test_a_stream_made_anew_is_another_one(reader, stream, publish, broker, channel):
    skip_unless_ours(broker)
    publish(stream, b"old")
    strict, lenient = reader(stream=stream), reader(stream=stream, failOnDataLoss="false")
    partitions = strict.partitions()
    channel.queue_delete(stream)
    with pytest.raises(DataLossError, match="deleted"):
        rows(strict, partitions)
    channel.queue_declare(stream, durable=True, arguments={"x-queue-type": "stream"})
    publish(stream, b"new")
    with pytest.raises(DataLossError, match="made anew"):
        rows(strict, partitions)
    assert rows(lenient, partitions) == []


def test_no_such_stream(reader, name):
    with pytest.raises(StreamError, match="there is no stream with this name"):
        reader(stream=name).partitions()
