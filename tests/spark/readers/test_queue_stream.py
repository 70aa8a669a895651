"""The streaming read as Spark calls it: offsets, limits, leftovers, replay. Processes that are killed: test_kills."""

import pickle

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from pybroker.client import Properties
from pybroker.client.errors import NotFound
from pybroker.spark.readers import queue_stream
from pybroker.spark.readers.spool import SpoolError
from pybroker.spark.source import PybrokerSource

ALL = ReadAllAvailable()


@pytest.fixture
def reader(uri, queue, spool):
    made = []

    def make(**options):
        given = {"uri": uri, "queue": queue, "spoolLocation": str(spool), "maxWaitMs": "100"}
        source = PybrokerSource(given | options)
        made.append(source.streamReader(source.schema()))
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def publish(channel, queue):
    def publish(*bodies):
        for body in bodies:
            channel.basic_publish("", queue, body, Properties(delivery_mode=2))
        channel.wait_for_confirms()

    return publish


def values(reader, start, end):
    return [
        value
        for partition in reader.partitions(start, end)
        for batch in reader.read(partition)
        for value in batch.column("value").to_pylist()
    ]


def test_a_trigger_takes_what_is_there_and_acknowledges_it(reader, publish, channel, queue):
    stream = reader()
    publish(b"a", b"b")
    start = stream.initialOffset()
    end = stream.latestOffset(start, ALL)
    assert (start, end) == ({"segment": 0}, {"segment": 1})
    assert values(stream, start, end) == [b"a", b"b"]
    assert values(stream, start, end) == [b"a", b"b"]
    assert stream.reportLatestOffset() == {"segment": 1, "messages_ready": 0}
    assert stream.latestOffset(end, ALL) == end
    stream.stop()
    assert channel.queue_declare(queue, durable=True).message_count == 0


def test_limits_are_kept_and_spark_is_told_of_them(reader, publish):
    stream = reader(maxMessagesPerTrigger="2")
    assert stream.getDefaultReadLimit() == ReadMaxRows(2)
    assert reader().getDefaultReadLimit() == ALL
    publish(*(b"%d" % n for n in range(5)))
    offset, sizes = stream.initialOffset(), []
    while (after := stream.latestOffset(offset, ReadMaxRows(2))) != offset:
        sizes.append(len(values(stream, offset, after)))
        offset = after
    assert sizes == [2, 2, 1]


def test_available_now_ends_while_somebody_publishes(reader, publish):
    stream = reader()
    publish(b"a", b"b", b"c")
    stream.prepareForTriggerAvailableNow()
    offset, seen = stream.initialOffset(), []
    for _ in range(10):
        publish(b"later")
        after = stream.latestOffset(offset, ReadMaxRows(2))
        if after == offset:
            break
        seen += values(stream, offset, after)
        offset = after
    assert seen == [b"a", b"b", b"c"]


def test_what_a_killed_query_spooled_and_never_planned_comes_first(reader, publish, spool):
    stream = reader()
    publish(b"a")
    stream.latestOffset(stream.initialOffset(), ALL)
    stream.stop()
    publish(b"b")
    again = reader()
    start = again.initialOffset()
    end = again.latestOffset(start, ReadMaxRows(1))
    assert values(again, start, end) == [b"a"]
    after = again.latestOffset(end, ALL)
    assert values(again, end, after) == [b"b"]
    again.commit(end)
    assert again.initialOffset() == {"segment": 1}
    again.commit(after)
    assert list(spool.glob("*.arrow")) == []


def test_numbers_go_on_after_a_commit_and_a_restart(reader, publish):
    stream = reader()
    publish(b"a")
    end = stream.latestOffset({"segment": 41}, ALL)
    stream.commit(end)
    stream.stop()
    publish(b"b")
    again = reader()
    assert (end, again.latestOffset(end, ALL)) == ({"segment": 42}, {"segment": 43})
    with pytest.raises(SpoolError, match=r"000000000042.arrow is missing"):
        values(again, {"segment": 41}, end)


def test_a_reader_travels_without_what_it_has_open(reader, publish):
    stream = reader()
    publish(b"a")
    end = stream.latestOffset(stream.initialOffset(), ALL)
    (partition,) = pickle.loads(pickle.dumps(stream.partitions({"segment": 0}, end)))
    other = pickle.loads(pickle.dumps(stream))
    assert [len(batch) for batch in other.read(partition)] == [1]


def test_a_queue_that_is_not_there_is_the_brokers_404(reader, name):
    stream = reader(queue=f"{name}-none")
    with pytest.raises(NotFound, match=f"no queue '{name}-none'"):
        stream.latestOffset(stream.initialOffset(), ALL)


def tasks(stream, up_to):
    parts = stream.partitions({"segment": 0}, {"segment": up_to})
    return [[int(path[-18:-6]) for path in part.paths] for part in parts]


def test_a_task_has_a_few_segments_and_not_too_many_octets(reader, spool, monkeypatch):
    monkeypatch.setattr(queue_stream, "TASK_OCTETS", 100)
    stream = reader()
    spool.mkdir()
    for number, octets in enumerate((10, 10, 10, 10, 10, 90, 10, 200, 100, 1), start=1):
        (spool / f"{number:012d}.arrow").write_bytes(b"x" * octets)
    assert tasks(stream, 10) == [[1, 2, 3, 4], [5, 6], [7], [8], [9], [10]]
    assert tasks(stream, 5) == [[1, 2, 3, 4], [5]]
    assert tasks(stream, 0) == []


def test_all_segments_of_a_task_are_read_in_order_and_a_missing_one_fails_it(reader, publish, spool):
    stream = reader(maxMessagesPerTrigger="1")
    publish(b"a", b"b", b"c")
    start = offset = stream.initialOffset()
    for _ in range(3):
        offset = stream.latestOffset(offset, ReadMaxRows(1))
    assert tasks(stream, 3) == [[1, 2, 3]]
    assert values(stream, start, offset) == [b"a", b"b", b"c"]
    (spool / "000000000002.arrow").unlink()
    with pytest.raises(SpoolError, match=r"000000000002\.arrow is missing"):
        values(stream, start, offset)
