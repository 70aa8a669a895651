"""A Spark program of its own, to be killed: sums rows of a stream by window into another stream, until it has all.

python windows_job.py URI STREAM_PORT SOURCE TARGET CHECKPOINT HOW ROWS_PER_TRIGGER
"""

import os
import sys

from tests.spark.conftest import CONFIG, spark_environment


def main() -> None:
    uri, port, source, target, checkpoint, how, per_trigger = sys.argv[1:]
    os.environ.update(spark_environment())
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("windows")
    for name, value in (CONFIG | {"spark.sql.shuffle.partitions": "2"}).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    broker = {"uri": uri, "streamPort": port}
    reader = spark.readStream.format("pybroker").options(**broker, stream=source, startingOffsets="earliest")
    frame = reader.options(maxOffsetsPerTrigger=per_trigger, minPartitions="2").load()
    numbers = frame.selectExpr("bigint(string(value)) AS n").selectExpr("n", "timestamp_seconds(n) AS at")
    windows = _windows(numbers)
    options = broker | {"stream": target, "exactlyOnce": how}

    def write(batch, number):
        rows = batch.sortWithinPartitions("value").write.format("pybroker").options(**options)
        rows.options(publisherName=f"windows-{target}", publisherSequence=str(number)).mode("append").save()

    writer = windows.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    writer = writer.foreachBatch(write) if how == "rows" else writer.format("pybroker").options(**options)
    assert writer.start().awaitTermination(3_000)


def _windows(numbers):
    from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

    sums = numbers.withWatermark("at", "0 seconds").groupBy(F.window("at", "100 seconds"))
    counted = sums.agg(F.count("n").alias("rows"), F.sum("n").alias("total"))
    return counted.selectExpr("concat_ws(' ', bigint(window.start), rows, total) AS value")


if __name__ == "__main__":
    main()
