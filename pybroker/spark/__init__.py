"""The connector for Apache Spark: `format("pybroker")` reads queues and writes to exchanges (man/pybroker-spark.7).

It is a program apart from the daemon: it knows the wire, the client, pyspark and pyarrow, and nothing else of ours.
"""
