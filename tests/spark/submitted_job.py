"""A Spark program that knows nothing of where pybroker is: what is in a queue, as one line.

spark-submit --py-files pybroker_spark.zip submitted_job.py URI QUEUE
SPARK_REMOTE=local[2] python submitted_job.py URI QUEUE
"""

import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("submitted").getOrCreate()
if sys.argv[3:] == ["register"]:
    # Spark looks for modules before it looks into --py-files; whoever names the class is served from there.
    from pybroker.spark.source import PybrokerSource

    spark.dataSource.register(PybrokerSource)
frame = spark.read.format("pybroker").option("uri", sys.argv[1]).option("queue", sys.argv[2]).load()
print("found", [(bytes(row.value).decode(), row.queue) for row in frame.select("value", "queue").collect()], flush=True)
