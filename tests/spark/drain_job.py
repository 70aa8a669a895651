"""A Spark program of its own, to be killed: drains a queue into Parquet; then tells what is there, as one line of JSON.

python drain_job.py URI QUEUE FOLDER MESSAGES_PER_TRIGGER
"""

import json
import os
import sys
from pathlib import Path

from tests.spark.conftest import CONFIG, spark_environment


def main() -> None:
    uri, queue, folder, per_trigger = sys.argv[1:]
    os.environ.update(spark_environment())
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("drain")
    for name, value in CONFIG.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    place = Path(folder)
    source = spark.readStream.format("pybroker").option("uri", uri).option("queue", queue)
    frame = source.option("spoolLocation", str(place / "spool")).option("maxMessagesPerTrigger", per_trigger).load()
    rows = frame.selectExpr("bigint(string(value)) AS n", "redelivered")
    writer = rows.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    assert writer.trigger(availableNow=True).start(str(place / "out")).awaitTermination(600)
    written = spark.read.parquet(str(place / "out"))
    found = written.selectExpr(
        "count(*) AS rows", "count(DISTINCT n) AS distinct", "count_if(redelivered) AS redelivered", "max(n) AS highest"
    ).first()
    # Of messages that are there more than once only one may be unflagged.
    twice = written.groupBy("n").agg({"*": "count"}).withColumnRenamed("count(1)", "times")
    unflagged = written.where("NOT redelivered").groupBy("n").count().where("count > 1").count()
    more = twice.where("times > 1").count()
    print(json.dumps(found.asDict() | {"unflagged_twice": unflagged, "more_than_once": more}), flush=True)


if __name__ == "__main__":
    main()
