"""The connector as a user has it: through a Spark session, found by its name alone."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pybroker.client import Properties, Table
from tests.spark.conftest import WAIT_S

pytestmark = pytest.mark.spark


def test_a_queue_is_browsed_and_keeps_its_messages(spark, uri, channel, queue):
    for number in range(3):
        channel.publish_and_wait("", queue, b"m%d" % number, Properties(delivery_mode=2, message_id=str(number)))
    frame = spark.read.format("pybroker").option("uri", uri).option("queue", queue).load()
    for redelivered in (False, True):  # what was looked at is flagged afterwards
        rows = [(bytes(row.value), row.routing_key, row.queue, row.redelivered) for row in frame.collect()]
        assert rows == [(b"m%d" % number, queue, queue, redelivered) for number in range(3)]
    assert channel.queue_declare(queue, durable=True).message_count == 3


def test_columns_have_their_types_and_a_schema_is_a_projection(spark, uri, channel, queue):
    headers = Table({"n": 1, "flag": True, "nested": {"a": [1, "b"]}})
    channel.publish_and_wait("", queue, b"{}", Properties(headers=headers, timestamp=1_700_000_000, app_id="tests"))
    source = spark.read.format("pybroker").options(uri=uri, queue=queue)
    full = source.options(includeProperties="true", includeHeaders="true").load()
    assert [name for name, _ in full.dtypes] == [
        *("value", "routing_key", "exchange", "queue", "partition", "offset", "timestamp", "redelivered"),
        *("properties", "headers"),
    ]
    row = full.selectExpr("date_format(timestamp, 'yyyy-MM-dd HH:mm') AS at", "properties.app_id", "headers").first()
    assert (row.at, row.app_id) == ("2023-11-14 22:13", "tests")
    assert {**row.headers, "x-delivery-count": None} == {
        "n": "1",
        "flag": "true",
        "nested": '{"a":[1,"b"]}',
        "x-delivery-count": None,
    }
    typed = source.option("headersFormat", "variant").schema("headers VARIANT, value BINARY").load()
    assert typed.columns == ["headers", "value"]
    row = typed.selectExpr("to_json(headers) AS headers", "variant_get(headers, '$.n', 'int') AS n").first()
    assert {**json.loads(row.headers), "x-delivery-count": 0}["nested"] == {"a": [1, "b"]}
    assert row.n == 1


def test_what_a_stream_drains_is_in_parquet_once_and_the_queue_is_empty(spark, uri, channel, queue, spool, tmp_path):
    for number in range(500):
        channel.basic_publish("", queue, b"%d" % number, Properties(delivery_mode=2))
    channel.wait_for_confirms()
    options = {"uri": uri, "queue": queue, "spoolLocation": str(spool), "maxMessagesPerTrigger": "200"}
    frame = spark.readStream.format("pybroker").options(**options).load()
    for _ in range(2):  # the second run finds nothing new
        writer = frame.selectExpr("int(string(value)) AS n", "redelivered").writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        query = writer.start(str(tmp_path / "out"))
        assert query.awaitTermination(200)
        rows = spark.read.parquet(str(tmp_path / "out")).orderBy("n").collect()
        assert rows == [(number, False) for number in range(500)]
    assert channel.queue_declare(queue, durable=True).message_count == 0


def test_rows_are_published_with_ids_and_headers(spark, uri, channel, queue):
    frame = spark.sql(
        "SELECT concat('v', id) AS value, map('k', string(id)) AS headers, "
        "named_struct('type', 't', 'priority', 3S) AS properties FROM range(0, 4, 1, 1)"
    )
    sink = frame.write.format("pybroker").options(uri=uri, exchange="", routingKey=queue, messageIdPrefix="run1-")
    sink.mode("append").save()
    ids = []
    for number in range(4):
        message = channel.basic_get(queue, no_ack=True)
        properties = message.properties
        ids.append(properties.message_id)
        assert (message.body, dict(properties.headers)) == (b"v%d" % number, {"k": str(number)})
        assert (properties.type, properties.priority, properties.delivery_mode) == ("t", 3, 2)
    assert [one.rpartition("-")[2] for one in ids] == ["0", "1", "2", "3"]
    assert len({one.rpartition("-")[0] for one in ids}) == 1
    assert ids[0].startswith("run1-")


def test_a_streaming_sinks_ids_name_query_batch_and_partition(spark, uri, channel, queue, name, spool, tmp_path):
    target = channel.queue_declare(exclusive=False, auto_delete=False, durable=True, queue=f"{name}-out").queue
    channel.publish_and_wait("", queue, b"through", Properties(message_id="kept-nowhere"))
    frame = spark.readStream.format("pybroker").options(uri=uri, queue=queue, spoolLocation=str(spool)).load()
    writer = frame.select("value").writeStream.format("pybroker").options(uri=uri, exchange="", routingKey=target)
    query = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
    assert query.awaitTermination(200)
    message = channel.basic_get(target, no_ack=True)
    channel.queue_delete(target)
    assert (message.body, message.properties.message_id) == (b"through", f"{query.id}-0-0-0")


def test_tables_of_sql_read_a_queue_write_to_it_and_are_read_as_a_stream(
    spark, broker, channel, queue, name, spool, tmp_path
):
    where = f"host '{broker.host}', port '{broker.port}'"
    table = f"t{name.replace('-', '')}"
    spark.sql(f"CREATE TABLE {table}_in USING pybroker OPTIONS ({where}, exchange '', routingKey '{queue}')")
    spark.sql(
        f"CREATE TABLE {table} USING pybroker OPTIONS ({where}, queue '{queue}', includeHeaders 'true') COMMENT 'x'"
    )
    spark.sql(f"INSERT INTO {table}_in (value, headers) SELECT string(id), map('k', 'v') FROM range(3)")
    spark.sql(f"CREATE VIEW {table}_view AS SELECT string(value) AS n, headers['k'] AS k FROM {table}")
    assert spark.sql(f"SELECT n, k FROM {table}_view ORDER BY n").collect() == [("0", "v"), ("1", "v"), ("2", "v")]
    spark.sql(f"CREATE TABLE {table}_s USING pybroker OPTIONS ({where}, queue '{queue}', spoolLocation '{spool}')")
    frame = spark.readStream.table(f"{table}_s").selectExpr("string(value) AS n")
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "c"))
    assert writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination(200)
    assert sorted(row.n for row in spark.read.parquet(str(tmp_path / "out")).collect()) == ["0", "1", "2"]
    spark.sql(f"DROP VIEW {table}_view")
    for suffix in ("", "_in", "_s"):
        spark.sql(f"DROP TABLE {table}{suffix}")
    assert channel.queue_declare(queue, durable=True).message_count == 0


def test_a_message_that_no_queue_takes_fails_the_task_with_its_route(spark, uri, channel, name):
    frame = spark.sql("SELECT 'x' AS value, 'nobody.home' AS routing_key")
    channel.exchange_declare(name, "topic")
    with pytest.raises(Exception, match="NO_ROUTE") as caught:
        frame.write.format("pybroker").options(uri=uri, exchange=name).mode("append").save()
    assert f"a message to exchange '{name}' with routing key 'nobody.home' was returned: 312 NO_ROUTE" in str(
        caught.value
    )
    frame.write.format("pybroker").options(uri=uri, exchange=name, mandatory="false").mode("append").save()
    channel.exchange_delete(name)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "option queue is required"),
        ({"queue": "q", "stream": "s"}, "option queue is for queues: a query reads a queue or streams"),
        ({"queue": "q", "startingOffsets": "earliest"}, "option startingOffsets is for streams"),
        ({"queue": "q", "queu": "x"}, "option queu is not an option of the connector: did you mean queue?"),
    ],
)
def test_a_wrong_option_is_named(spark, options, sentence):
    with pytest.raises(Exception, match="PYTHON_DATA_SOURCE_ERROR") as caught:
        spark.read.format("pybroker").options(**options).load()
    assert sentence in str(caught.value)


def test_an_unknown_column_of_a_sink_is_an_error_unless_it_is_ignored(spark, uri, channel, queue):
    frame = spark.sql("SELECT 'x' AS value, 1 AS surprise")
    sink = frame.write.format("pybroker").options(uri=uri, exchange="", routingKey=queue).mode("append")
    with pytest.raises(Exception, match="the sink knows no column surprise"):
        sink.save()
    sink.option("ignoreUnknownColumns", "true").save()
    assert channel.basic_get(queue, no_ack=True).body == b"x"


def test_a_sink_waits_through_a_memory_alarm_and_finishes(spark, broker, uri, channel, queue):
    if not broker.is_ours:
        pytest.skip("no pybrokerctl for a broker that was given")
    frame = spark.range(5_000).selectExpr("string(id) AS value")
    sink = frame.write.format("pybroker").options(uri=uri, exchange="", routingKey=queue, maxInFlight="500")
    began, blocked = time.monotonic(), []

    def clear_the_alarm_once_it_was_felt():
        while not blocked and time.monotonic() - began < WAIT_S:
            time.sleep(0.1)
            if "blocked" in broker.ctl("list_connections", "-q", "name", "state"):
                blocked.append(time.monotonic())
        time.sleep(3.0)  # twice the time that confirms have: while blocked it does not count
        broker.ctl("set_vm_memory_high_watermark", "0.4")

    broker.ctl("set_vm_memory_high_watermark", "0")
    with ThreadPoolExecutor(1) as executor:
        clearing = executor.submit(clear_the_alarm_once_it_was_felt)
        sink.option("publisherConfirmTimeoutMs", "1500").mode("append").save()
        clearing.result()
    assert time.monotonic() - blocked[0] >= 3.0
    assert channel.queue_declare(queue, durable=True).message_count == 5_000
