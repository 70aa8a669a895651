"""A Spark program that knows nothing of where pybroker is: streams in all ways, what it found as one line of JSON.

spark-submit --py-files pybroker_spark.zip streams_job.py URI STREAM_PORT NAME FOLDER HOW register
SPARK_REMOTE=local[2] python streams_job.py URI STREAM_PORT NAME FOLDER HOW

The streams NAME-source, NAME-batch, NAME-rows, NAME-counts and NAME-sql are there, and the super stream NAME with its
partitions NAME-a and NAME-b. HOW is by what counts are written: task, or rows.
"""

import json
import sys

from pyspark.sql import SparkSession

ROWS = 1_000
URI, PORT, NAME, FOLDER, HOW = sys.argv[1:6]
BROKER = {"uri": URI, "streamPort": PORT}

spark = SparkSession.builder.appName("streams").getOrCreate()
if sys.argv[6:] == ["register"]:
    from pybroker.spark.source import PybrokerSource

    spark.dataSource.register(PybrokerSource)


def numbers(count):
    return spark.range(0, count, 1, 2).selectExpr("string(id) AS value")


def write(frame, name, how, batch):
    """Write as one batch of a job, twice: the second time all is there already."""
    for _ in range(2):
        writer = frame.write.format("pybroker").options(**BROKER, stream=name, exactlyOnce=how)
        writer.options(publisherName=f"job-{name}", publisherSequence=str(batch)).mode("append").save()


def read(**options):
    return spark.read.format("pybroker").options(**BROKER, **options).load()


def follow(**options):
    return spark.readStream.format("pybroker").options(**BROKER, **options, startingOffsets="earliest").load()


def run(writer, name, times=1):
    """Run a query until it has all; in another time it finds nothing new."""
    for _ in range(times):
        writer = writer.option("checkpointLocation", f"{FOLDER}/checkpoint-{name}").trigger(availableNow=True)
        assert writer.start().awaitTermination(200)


def sums(frame):
    """Return how many rows there are, how many different ones, and their sum."""
    row = frame.selectExpr("count(*)", "count(DISTINCT string(value))", "sum(bigint(string(value)))").first()
    return list(row)


def count_into(batch, number):
    counted = batch.groupBy("k").count().selectExpr("concat(k, ' ', count) AS value").sortWithinPartitions("value")
    write(counted, f"{NAME}-counts", HOW, number)


def main():
    found = {}
    write(numbers(ROWS), f"{NAME}-source", "rows", 0)
    found["batch"] = sums(read(stream=f"{NAME}-source", minPartitions="3"))

    source = follow(stream=f"{NAME}-source", maxOffsetsPerTrigger="400")
    run(source.selectExpr("value").writeStream.format("parquet").option("path", f"{FOLDER}/parquet"), "parquet")
    found["parquet"] = sums(spark.read.parquet(f"{FOLDER}/parquet"))

    sink = source.selectExpr("value").writeStream.format("pybroker")
    run(sink.options(**BROKER, stream=f"{NAME}-rows", exactlyOnce="rows"), "rows", times=2)
    found["rows"] = sums(read(stream=f"{NAME}-rows"))
    if HOW == "task":
        run(sink.options(**BROKER, stream=f"{NAME}-batch", exactlyOnce="task"), "task")
        found["task"] = sums(read(stream=f"{NAME}-batch"))

    keyed = source.selectExpr("value", "IF(bigint(string(value)) % 2 = 0, 'a', 'b') AS routing_key")
    run(keyed.writeStream.format("pybroker").options(**BROKER, superStream=NAME, exactlyOnce="rows"), "keyed")
    both = read(superStream=NAME, includeProperties="true", includeHeaders="true")
    found["super stream"] = sums(both)
    found["partitions"] = [list(row) for row in both.groupBy("stream", "partition").count().orderBy("stream").collect()]
    run(follow(superStream=NAME).writeStream.format("parquet").option("path", f"{FOLDER}/keyed"), "from-keyed")
    found["super stream, followed"] = sums(spark.read.parquet(f"{FOLDER}/keyed"))

    groups = follow(stream=f"{NAME}-source").selectExpr("bigint(string(value)) % 4 AS k")
    run(groups.writeStream.foreachBatch(count_into), "counts")
    found["counts"] = sorted(bytes(row.value).decode() for row in read(stream=f"{NAME}-counts").collect())

    for table, option in (("stream_rows", "stream"), ("stream_sink", "exactlyOnce 'rows', stream")):
        options = f"uri '{URI}', streamPort '{PORT}', {option} '{NAME}-sql'"
        spark.sql(f"CREATE TABLE {table} USING pybroker OPTIONS ({options})")
    spark.sql("INSERT INTO stream_sink (value) SELECT string(id) FROM range(10)")
    found["table"] = sums(spark.sql("SELECT * FROM stream_rows"))
    later = "WITH (startingOffsets = '{\"" + NAME + "-sql\": 6}')"
    found["table, with options"] = spark.sql(f"SELECT * FROM stream_rows {later}").count()
    table = spark.readStream.option("startingOffsets", "earliest").table("stream_rows")
    run(table.writeStream.format("parquet").option("path", f"{FOLDER}/table"), "table")
    found["table, followed"] = sums(spark.read.parquet(f"{FOLDER}/table"))
    for table in ("stream_rows", "stream_sink"):
        spark.sql(f"DROP TABLE {table}")
    print("found", json.dumps(found | {"version": spark.version}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
