"""The streaming read as Spark calls it: offsets, limits, replay, what is lost."""

import json
import pickle
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from pybroker.spark.source import PybrokerSource
from pybroker.spark.stream_source import follow
from pybroker.spark.stream_source.offset import DataLossError
from pybroker.spark.stream_source.streams import Streams
from pybroker.wire.stream import commands
from tests.faults.control import ask
from tests.spark.stream_source.conftest import rows, skip_unless_ours

ALL = ReadAllAvailable()


@pytest.fixture
def reader(given):
    made = []

    def make(**options):
        source = PybrokerSource(given | options)
        made.append(source.streamReader(source.schema()))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def step(reader, start, limit=ALL):
    """Return the next offset, and the rows up to it, read as a worker does."""
    end = json.loads(json.dumps(reader.latestOffset(start, limit)))
    return end, rows(pickle.loads(pickle.dumps(reader)), reader.partitions(start, end))


def test_a_new_query_begins_at_the_end(reader, stream, publish):
    publish(stream, b"old")
    one = reader(stream=stream)
    start = one.initialOffset()
    publish(stream, b"new")
    end, found = step(one, start)
    assert found == [b"new"]
    assert step(one, end) == (end, [])


def test_a_replay_gives_the_same(reader, stream, publish):
    one = reader(stream=stream, startingOffsets="earliest")
    start = one.initialOffset()
    publish(stream, b"a", b"b")
    end, found = step(one, start)
    publish(stream, b"c")
    again = reader(stream=stream)
    assert rows(again, again.partitions(start, end)) == found == [b"a", b"b"]
    assert step(again, end)[1] == [b"c"]


def test_a_limit_is_shared(reader, super_stream, publish):
    publish(f"{super_stream}-0", *[b"x"] * 30)
    publish(f"{super_stream}-2", *[b"y"] * 10)
    one = reader(superStream=super_stream, startingOffsets="earliest", maxOffsetsPerTrigger="8")
    limit = one.getDefaultReadLimit()
    assert limit == ReadMaxRows(8)
    at, taken = one.initialOffset(), []
    while (found := step(one, at, limit))[1]:
        at = found[0]
        taken.append(found[1])
    assert taken[0].count(b"x") == 6
    assert taken[0].count(b"y") == 2
    assert sum(map(len, taken)) == 40


def test_available_now_ends(reader, stream, publish):
    publish(stream, b"a")
    one = reader(stream=stream, startingOffsets="earliest")
    start = one.initialOffset()
    one.prepareForTriggerAvailableNow()
    publish(stream, b"later")
    end, found = step(one, start)
    assert found == [b"a"]
    assert one.latestOffset(end, ALL) == end


def test_a_new_query_for_what_is_there_now_begins_at_its_end(reader, super_stream, publish, channel):
    publish(f"{super_stream}-0", b"old")
    one = reader(superStream=super_stream)
    # Spark's order.
    one.prepareForTriggerAvailableNow()
    publish(f"{super_stream}-0", b"later")
    new = f"{super_stream}-3"
    channel.queue_declare(new, durable=True, arguments={"x-queue-type": "stream"})
    channel.queue_bind(new, super_stream, "3", {"x-stream-partition-order": 3})
    try:
        start = one.initialOffset()
        assert new not in start["streams"]
        assert step(one, start) == (start, [])
    finally:
        channel.queue_delete(new)


def test_a_small_batch_waits(reader, stream, publish):
    one = reader(stream=stream, startingOffsets="earliest", minOffsetsPerTrigger="3")
    start = one.initialOffset()
    publish(stream, b"a", b"b")
    assert one.latestOffset(start, ALL) == start
    publish(stream, b"c")
    assert step(one, start)[1] == [b"a", b"b", b"c"]
    late = reader(stream=stream, minOffsetsPerTrigger="9", maxTriggerDelay="0")
    assert len(step(late, start)[1]) == 3


def test_a_partition_that_is_new_is_read_from_its_first_message(reader, super_stream, publish, channel):
    one = reader(superStream=super_stream)
    start = one.initialOffset()
    new = f"{super_stream}-3"
    channel.queue_declare(new, durable=True, arguments={"x-queue-type": "stream"})
    publish(new, b"first")
    channel.queue_bind(new, super_stream, "3", {"x-stream-partition-order": 3})
    try:
        # The beginning is in the checkpoint before anything is read: a replay begins there, too.
        middle, found = step(one, start)
        assert found == []
        assert middle["streams"][new]["next"] == 0
        assert step(one, middle)[1] == [b"first"]
    finally:
        channel.queue_delete(new)


def test_lost_messages_end_the_query(reader, stream, publish, broker, channel):
    skip_unless_ours(broker)
    one = reader(stream=stream, startingOffsets="earliest")
    lenient = reader(stream=stream, startingOffsets="earliest", failOnDataLoss="false")
    start = one.initialOffset()
    publish(stream, *[b"%d" % number for number in range(5)])
    ask(broker.socket, "stream_truncate", stream=stream, before="2")
    with pytest.raises(DataLossError, match="lost messages 0 to 1"):
        one.latestOffset(start, ALL)
    middle, _ = step(lenient, start)
    assert step(lenient, middle)[1] == [b"2", b"3", b"4"]
    end = lenient.latestOffset(middle, ALL)
    channel.queue_delete(stream)
    channel.queue_declare(stream, durable=True, arguments={"x-queue-type": "stream"})
    publish(stream, b"new")
    with pytest.raises(DataLossError, match="made anew"):
        one.latestOffset(end, ALL)
    anew, _ = step(lenient, end)
    assert step(lenient, anew)[1] == [b"new"]


def test_the_report_tells_how_far_the_stream_goes(reader, stream, publish):
    one = reader(stream=stream)
    publish(stream, b"a", b"b")
    report = one.reportLatestOffset()
    assert report["streams"][stream]["next"] == 2
    assert (report["messages"], report["lag"]) == (2, 2)
    start = {"streams": {stream: {"id": report["streams"][stream]["id"], "next": 0}}, "v": 1}
    end = one.latestOffset(start, ReadMaxRows(1))
    assert end["streams"][stream]["next"] == 1
    assert one.reportLatestOffset()["lag"] == 1
    again = reader(stream=stream)
    again.partitions(end, end)
    assert again.reportLatestOffset()["lag"] == 1


def test_streams_without_news_are_looked_at_seldom_and_once_for_each_trigger(reader, stream, publish, monkeypatch):
    one = reader(stream=stream)
    start = one.initialOffset()
    looks, pauses = [], []
    ends = Streams.ends
    monkeypatch.setattr(Streams, "ends", lambda self, **given: looks.append(1) or ends(self, **given))
    monkeypatch.setattr(follow, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=pauses.append))
    for _ in range(3):
        assert one.latestOffset(start, ALL) == start
        assert one.reportLatestOffset()["streams"] == start["streams"]
    assert (len(looks), pauses) == (3, [follow.LOOK_S] * 2)
    publish(stream, b"a")
    end = one.latestOffset(start, ALL)
    one.latestOffset(end, ALL)
    assert (len(looks), pauses) == (5, [follow.LOOK_S] * 3)


def test_commits_are_kept_under_the_name_of_the_consumer(reader, stream, publish, link):
    one = reader(stream=stream, startingOffsets="earliest", consumerName="reports")
    publish(stream, b"a", b"b")
    end, _ = step(one, one.initialOffset())
    one.commit(end)
    one.stop()
    assert int.from_bytes(link.call(commands.QueryOffset, "reports", stream)) == 1
