"""Each example of pybroker-spark(7) runs as it is printed, but for its folders and files. None is without a test."""

import json
import re
import time

import pytest

from pybroker.client import Properties, Table
from pybroker.spark.stream_source.offset import decode, encode
from tests.sources import ROOT
from tests.spark.stream.conftest import stream_port

PAGE = (ROOT / "man/pybroker-spark.7").read_text()
# Programs of a shell, which test_submitting runs and test_spark_home; the program that test_orders runs; and what needs
# jars, a cluster or certificates.
ELSEWHERE = (
    "SYNOPSIS",
    "WORKED EXAMPLE",
    "On a cluster",
    "Spark Connect",
    "On Kubernetes",
    "PERFORMANCE",
    "Delta Lake and Iceberg, exactly once",
)


def examples():
    """Return (heading, example) of the page, as the reader sees them."""
    found, heading, lines = [], "", None
    for line in PAGE.splitlines():
        if line.startswith((".SH ", ".SS ")):
            heading = line[4:].strip('"')
        elif line in (".nf", ".EX"):
            lines = []
        elif line in (".fi", ".EE"):
            found.append((heading, "\n".join(lines).replace(r"\-", "-").replace(r"\e", "\\")))
            lines = None
        elif lines is not None:
            lines.append(line)
    return found


def texts(heading):
    return [text for name, text in examples() if name == heading]


RUN_HERE = {
    "READING STREAMS",
    "Write a super stream to Parquet, exactly once",
    "Read the last hour of a stream",
    "Read one customer's messages",
    "Write a queue to Parquet, from cron",
    "Log in by certificate",
    "Remove duplicates",
    "Read a typed header",
    "Publish rows to an exchange",
    "SQL",
    "MONITORING",
}


def test_no_example_is_without_a_test():
    assert {name for name, _ in examples()} == RUN_HERE | set(ELSEWHERE)
    for name in ELSEWHERE:
        for text in texts(name):
            if text.startswith(("from ", "query")):
                compile(text, name, "exec")


def test_the_worked_example_is_the_program_that_is_installed():
    _, program = texts("WORKED EXAMPLE")
    assert (ROOT / "etc/pybroker-orders.py").read_text() == f"{program}\n"


@pytest.fixture
def orders(channel):
    """Return the queue and the exchange of that name, with three messages, two of which are the same."""
    channel.queue_declare("orders", durable=True)
    channel.exchange_declare("orders", "topic")
    channel.queue_bind("orders", "orders", "order.#")
    for id_ in ("a", "b", "b"):
        headers = Table({"retries": 3, "priority": "high"})
        channel.publish_and_wait("orders", "order.x", b"{}", Properties(message_id=id_, headers=headers))
    yield "orders"
    channel.queue_delete("orders")
    channel.exchange_delete("orders")


@pytest.fixture
def adapt(uri, tmp_path):
    """Return a function that puts this test's files into an example."""
    (tmp_path / "broker.uri").write_text(uri)

    def adapt(text):
        text = text.replace("/etc/broker.uri", str(tmp_path / "broker.uri"))
        return re.sub(r"(?<=[\"'`])/(data|etc/spark|var/lib/pybroker)(?=/)", str(tmp_path), text)

    return adapt


@pytest.mark.slow
@pytest.mark.spark
def test_the_python_examples_run(spark, uri, channel, orders, adapt, capsys):
    from pyspark.sql.functions import expr

    source = spark.read.format("pybroker").options(uri=uri, queue="orders")
    df = spark.sql("SELECT 'north' AS region, 1 AS n")
    names = {"spark": spark, "source": source, "df": df, "expr": expr, "json": json}

    (certificate,) = texts("Log in by certificate")
    exec(adapt(certificate), dict(names))  # the options are read by test_credentials, and used by test_over_tls

    batch, stream = texts("Remove duplicates")
    exec(adapt(batch), names)
    assert sorted(row.message_id for row in names["distinct"].select("message_id").collect()) == ["a", "b"]
    exec(adapt(stream), names)
    assert names["distinct"].columns[-1] == "read_at"

    (header,) = texts("Read a typed header")
    assert eval(header, names).first()[0] == 3

    (publish,) = texts("Publish rows to an exchange")
    exec(adapt(publish), names)
    assert channel.queue_declare("orders", passive=True).message_count == 4

    (drain,) = texts("Write a queue to Parquet, from cron")
    exec(adapt(drain), names)
    assert channel.queue_declare("orders", passive=True).message_count == 0

    progress, _ = texts("MONITORING")
    capsys.readouterr()
    exec(adapt(progress), names)
    *_, ready, octets, redelivered = capsys.readouterr().out.splitlines()[0].split()
    assert (ready, int(octets) > 0, redelivered) == ("0", True, "3")


@pytest.mark.slow
@pytest.mark.spark
def test_the_examples_of_streams_run(spark, broker, channel, adapt):
    channel.exchange_declare("orders", "direct", durable=True, arguments={"x-super-stream": True})
    channel.queue_declare("orders-0", durable=True, arguments={"x-queue-type": "stream"})
    channel.queue_bind("orders-0", "orders", "0", {"x-stream-partition-order": 0})
    for number in range(3):
        channel.publish_and_wait("orders", "0", b"%d" % number)
    port = stream_port(broker)
    names = {"spark": spark, "time": time, "json": json}
    try:
        (write,) = texts("Write a super stream to Parquet, exactly once")
        exec(adapt(write).replace(".load()", f".option('streamPort', {port}).load()"), names)
        _, lag = texts("MONITORING")
        exec(lag, names)
        assert names["lag"] == 0
        for customer in ("acme", "other"):
            headers = Table({"customer": customer, "x-stream-filter-value": customer})
            channel.publish_and_wait("orders", "0", customer.encode(), Properties(headers=headers))
        (mine,) = texts("Read one customer's messages")
        exec(adapt(mine).replace(".load()", f".option('streamPort', {port}).load()"), names)
        assert [row.value for row in names["mine"].collect()] == [b"acme"]
        (recent,) = texts("Read the last hour of a stream")
        exec(adapt(recent).replace(".load()", f".option('streamPort', {port}).load()"), names)
        assert names["recent"].count() == 5
        (offset,) = texts("READING STREAMS")
        assert encode(decode(json.loads(offset))) == json.loads(offset)
    finally:
        channel.queue_delete("orders-0")
        channel.exchange_delete("orders")


@pytest.mark.spark
def test_the_examples_of_sql_run(spark, channel, orders, adapt, tmp_path):
    spark.sql("SELECT 1 AS id, 'north' AS region").createOrReplaceTempView("new_orders")
    spark.range(2).selectExpr("id", "DATE'2026-01-01' AS date").write.partitionBy("date").parquet(
        str(tmp_path / "warehouse/queue_1m")
    )
    made = []
    try:
        for text in texts("SQL"):
            for statement in adapt(text).split(";"):
                if statement.strip():
                    spark.sql(statement).collect()
                    made += re.findall(r"CREATE (TABLE|VIEW) (\w+)", statement)
        assert [row.priority for row in spark.table("priorities").collect()] == ["high", "high", "high", None]
        assert spark.sql("SELECT * FROM orders WITH (maxWaitMs = '5000')").count() == 4
        assert spark.table("queue_minutes").count() == 2
    finally:
        for kind, name in reversed(made):
            spark.sql(f"DROP {kind} {name}")
