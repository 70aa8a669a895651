"""Sum the orders of a super stream by hour and shop, into Parquet files and into another stream, each order once.

python pybroker-orders.py FOLDER ORDERS [OPTION=VALUE ...]    such as: /data/orders 100000 uri=amqp://localhost

Kill it, its Python workers or the broker as often as you like, and run it again until it ends: the sums are equal.
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

from pybroker.client import connect

STREAM = {"x-queue-type": "stream"}
ORDER = "shop STRING, at TIMESTAMP, cents BIGINT"
TOTAL = "hour TIMESTAMP, shop STRING, orders BIGINT, cents BIGINT"
# How long an hour waits for its orders: a batch reads all partitions, but not each up to the same moment.
DELAY = "1 hour"


def declare(uri):
    """Make the super stream and the stream of totals, if they are not there."""
    with connect(uri) as connection:
        channel = connection.channel()
        channel.exchange_declare("orders", "x-super-stream", durable=True, arguments={"x-super-stream": True})
        for number in range(3):
            channel.queue_declare(f"orders-{number}", durable=True, arguments=STREAM)
            channel.queue_bind(f"orders-{number}", "orders", str(number), {"x-stream-partition-order": number})
        channel.queue_declare("totals", durable=True, arguments=STREAM)


def publish(spark, broker, count):
    """Publish orders, one every ten seconds since New Year. The broker drops those that it has."""
    orders = spark.range(0, count, 1, 1).selectExpr(
        "concat('shop-', id % 7) AS shop", "timestamp_seconds(1767225600 + 10 * id) AS at", "id * 7919 % 9900 AS cents"
    )
    writer = orders.selectExpr("shop AS routing_key", "to_json(struct(*)) AS value").write.format("pybroker")
    writer = writer.options(**broker, superStream="orders", exactlyOnce="rows")
    writer.options(publisherName="till", publisherSequence=0).mode("append").save()


def parse(messages, fields):
    """Return the fields of JSON messages as columns."""
    return messages.selectExpr(f"from_json(string(value), '{fields}') AS message").select("message.*")


def total(orders):
    """Return the number of orders and the sum of cents by hour and shop."""
    groups = orders.groupBy(expr("window(at, '1 hour')"), "shop")
    totals = groups.agg(expr("count(*) AS orders"), expr("sum(cents) AS cents"))
    return totals.selectExpr("window.start AS hour", "shop", "orders", "cents")


def aggregate(spark, broker, folder):
    """Sum the orders that are there, in two queries, and end. Their checkpoints say how far they were."""
    reader = spark.readStream.format("pybroker").options(**broker, superStream="orders")
    reader = reader.options(startingOffsets="earliest", maxOffsetsPerTrigger=100_000)
    totals = total(parse(reader.load(), ORDER).withWatermark("at", DELAY))
    files = totals.writeStream.format("parquet").option("path", f"{folder}/totals")
    stream = totals.selectExpr("to_json(struct(*)) AS value").writeStream.format("pybroker")
    stream = stream.options(**broker, stream="totals", exactlyOnce="task")
    queries = [
        writer.option("checkpointLocation", f"{folder}/checkpoint/{name}").trigger(availableNow=True).start()
        for name, writer in (("files", files), ("stream", stream))
    ]
    for query in queries:
        query.awaitTermination()


def check(spark, broker, folder):
    """Return what the orders are in all, by themselves and by both totals: rows, orders, cents. Open hours are out."""
    orders = parse(spark.read.format("pybroker").load(**broker, superStream="orders"), ORDER)
    end = orders.selectExpr(f"date_trunc('HOUR', max(at) - INTERVAL {DELAY}) AS end").first().end
    tables = {
        "orders": total(orders.where(expr("at") < end)),
        "files": spark.read.parquet(f"{folder}/totals"),
        "stream": parse(spark.read.format("pybroker").load(**broker, stream="totals"), TOTAL),
    }
    sums = [expr("count(*)"), expr("sum(orders)"), expr("sum(cents)")]
    return {name: tuple(table.agg(*sums).first()) for name, table in tables.items()}


def main(folder, count, *options):
    """Do all of it, from the beginning or from where it was killed."""
    broker = dict(option.split("=", 1) for option in options)
    builder = SparkSession.builder.appName("orders").config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.shuffle.partitions", 3).config("spark.ui.showConsoleProgress", "false")
    spark = builder.getOrCreate()
    declare(broker.get("uri", "amqp://localhost"))
    publish(spark, broker, int(count))
    aggregate(spark, broker, folder)
    found = check(spark, broker, folder)
    for name, (rows, orders, cents) in found.items():
        print(f"{name:8}{rows:8} totals of {orders:8} orders: {cents / 100:14.2f}")
    if len(set(found.values())) > 1:
        sys.exit("The sums differ.")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
