"""Streams as sinks of whole queries, through a Spark session."""

import pytest

from tests.spark.sink.streams import bodies, skip_unless_numbered

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("how", ["rows", "task", "off"])
def test_a_batch_that_is_written_again_is_there_once(spark, broker, uri, link_port, link, stream, how):
    skip_unless_numbered(broker, how)
    given = {"uri": uri, "streamPort": str(link_port), "stream": stream, "exactlyOnce": how}
    if how != "off":
        given |= {"publisherName": "job", "publisherSequence": "4"}
    times = 1 if how == "off" else 2
    rows = spark.range(0, 100, 1, 2).selectExpr("string(id) AS value")
    for _ in range(times):
        rows.write.format("pybroker").options(**given).mode("append").save()
    assert {b"%d" % number for number in range(100)} == set(bodies(link, stream, 100))
    assert 100 == link.ends(stream).next


def test_a_streaming_query_aggregates_into_a_stream(
    spark, broker, uri, link_port, link, channel, stream, name, tmp_path
):
    skip_unless_numbered(broker)
    source = f"{name}-source"
    channel.queue_declare(source, durable=True, arguments={"x-queue-type": "stream"})
    given = {"uri": uri, "streamPort": str(link_port)}
    numbers = spark.range(100).selectExpr("string(id) AS value")
    numbers.write.format("pybroker").options(**given, stream=source).mode("append").save()
    frame = spark.readStream.format("pybroker").options(**given, stream=source, startingOffsets="earliest")
    counted = frame.load().selectExpr("bigint(string(value)) % 4 AS k").groupBy("k").count()
    options = given | {"stream": stream, "exactlyOnce": "task", "publisherName": "counts"}

    def write(batch, number):
        for _ in range(2):
            rows = batch.selectExpr("concat(k, ' ', count) AS value").write.format("pybroker").options(**options)
            rows.option("publisherSequence", str(number)).mode("append").save()

    writer = counted.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "c"))
    assert writer.outputMode("update").trigger(availableNow=True).start().awaitTermination(200)
    assert [b"%d 25" % number for number in range(4)] == sorted(bodies(link, stream, 4))
    assert 4 == link.ends(stream).next
    channel.queue_delete(source)


@pytest.mark.parametrize("how", ["rows", "task"])
def test_a_query_that_lost_its_commit_writes_the_batch_again_and_nothing_is_doubled(
    spark, broker, uri, link_port, link, channel, stream, name, tmp_path, how
):
    skip_unless_numbered(broker, how)
    source = f"{name}-source"
    channel.queue_declare(source, durable=True, arguments={"x-queue-type": "stream"})
    given = {"uri": uri, "streamPort": str(link_port)}
    spark.range(50).selectExpr("string(id) AS value").write.format("pybroker").options(**given, stream=source).mode(
        "append"
    ).save()
    for _ in range(2):
        frame = spark.readStream.format("pybroker").options(**given, stream=source, startingOffsets="earliest").load()
        writer = frame.selectExpr("value").writeStream.format("pybroker").options(**given, stream=stream)
        writer = writer.options(exactlyOnce=how, checkpointLocation=str(tmp_path / "c")).trigger(availableNow=True)
        assert writer.start().awaitTermination(200)
        for commit in (tmp_path / "c/commits").iterdir():
            commit.unlink()
    assert {b"%d" % number for number in range(50)} == set(bodies(link, stream, 50))
    assert 50 == link.ends(stream).next
    channel.queue_delete(source)
