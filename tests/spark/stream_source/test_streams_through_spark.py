"""Streams as a user has them: through a Spark session, from a checkpoint that an earlier version has written."""

import json
from pathlib import Path

import pytest

from pybroker.client import Properties
from pybroker.wire.table import Table
from tests.spark.conftest import WAIT_S

pytestmark = pytest.mark.spark

GOLDEN = Path(__file__).parent / "checkpoint-v1"


def follow(spark, given, folder, **options):
    """Run a query until it has all; return it."""
    frame = spark.readStream.format("pybroker").options(**given, **options).load()
    writer = frame.selectExpr("stream", "offset", "string(value) AS text").writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    query = writer.start(str(folder / "out"))
    assert query.awaitTermination(200)
    return query


def test_a_super_stream_is_in_parquet_once(spark, given, super_stream, publish, tmp_path):
    options = {"superStream": super_stream, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "40"}
    expected = set()
    for turn in range(2):
        for number in range(3):
            publish(f"{super_stream}-{number}", *[b"%d" % (turn * 50 + each) for each in range(50)])
            expected |= {(f"{super_stream}-{number}", turn * 50 + each, str(turn * 50 + each)) for each in range(50)}
        query = follow(spark, given, tmp_path, **options)
        found = [tuple(row) for row in spark.read.parquet(str(tmp_path / "out")).collect()]
        assert len(found) == len(expected)
        assert set(found) == expected
    source = query.lastProgress.sources[0]
    assert json.loads(source.latestOffset)["streams"] == json.loads(source.endOffset)["streams"]


def test_a_stream_is_read_in_batch_by_many_tasks(spark, given, stream, publish):
    publish(stream, *[b"%d" % number for number in range(1_000)])
    frame = spark.read.format("pybroker").options(**given, stream=stream, minPartitions="3").load()
    assert frame.count() == 1_000
    row = frame.selectExpr(
        "min(offset)", "max(offset)", "count(DISTINCT string(value))", "max(timestamp) > now()"
    ).first()
    assert tuple(row) == (0, 999, 1_000, False)


def test_a_filtered_query_goes_on_where_nothing_passes(spark, given, stream, channel, tmp_path):
    options = {"stream": stream, "startingOffsets": "earliest", "filter": "a", "maxOffsetsPerTrigger": "150"}
    for turn in range(2):
        for value in "ab":
            properties = Properties(headers=Table({"x-stream-filter-value": value}))
            for number in range(120):
                channel.basic_publish("", stream, f"{value}{turn * 120 + number}".encode(), properties)
        channel.wait_for_confirms(WAIT_S)
        query = follow(spark, given, tmp_path, **options)
        found = [row.text for row in spark.read.parquet(str(tmp_path / "out")).collect()]
        assert sorted(found) == sorted(f"a{number}" for number in range((turn + 1) * 120))
    assert json.loads(query.lastProgress.sources[0].endOffset)["streams"][stream]["next"] == 480


def test_a_checkpoint_of_the_first_version_is_continued(spark, given, link, channel, publish, tmp_path):
    # It has read two messages of a stream of this name, whose number then was 4040.
    stream = "golden-checkpoint"
    channel.queue_declare(stream, durable=True, arguments={"x-queue-type": "stream"})
    try:
        publish(stream, b"a", b"b", b"c")
        number = link.ends(stream).id
        for file in GOLDEN.rglob("*"):
            if file.is_file():
                copy = tmp_path / "checkpoint" / file.relative_to(GOLDEN)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(
                    file.read_text().replace('"id": 4040', f'"id": {number}').replace('"id":4040', f'"id":{number}')
                )
        follow(spark, given, tmp_path, stream=stream)
        # The sink of the first batch is not there any more, so its own list of files is not whole.
        found = [tuple(row) for row in spark.read.parquet(*map(str, (tmp_path / "out").glob("*.parquet"))).collect()]
        assert found == [(stream, 2, "c")]
    finally:
        channel.queue_delete(stream)
