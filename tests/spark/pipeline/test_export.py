"""A queue becomes Parquet, and the same command goes on where it was."""

from types import SimpleNamespace

import pytest

from pybroker.spark.pipeline import export
from pybroker.spark.pipeline.failure import FailureError
from tests.spark.stream.conftest import stream_port


class Query:
    """A query of four batches of ten rows, of which Spark remembers the last two each time it is asked."""

    def __init__(self):
        self.done = 0

    def awaitTermination(self, seconds):  # noqa: N802 - the name is Spark's
        assert seconds
        self.done += 2
        return self.done == 4

    @property
    def recentProgress(self):  # noqa: N802 - likewise
        return [SimpleNamespace(batchId=n, numInputRows=10) for n in (self.done - 2, self.done - 1)]


def test_rows_are_counted_beyond_the_batches_that_spark_remembers():
    assert export._watch(Query()) == 40


@pytest.mark.parametrize(
    "sign", ["[DATA_SOURCE_NOT_FOUND] pybroker", "ModuleNotFoundError: No module named 'pybroker'"]
)
def test_a_spark_without_the_connector_is_told_with_69(tmp_path, sign):
    errors = pytest.importorskip("pyspark.errors")
    reader = SimpleNamespace()
    reader.format = reader.options = reader.option = lambda *_, **__: reader
    reader.load = lambda: (_ for _ in ()).throw(errors.AnalysisException(sign))
    with pytest.raises(FailureError) as caught:
        export.drain(SimpleNamespace(readStream=reader), tmp_path, {}, available_now=True)
    assert caught.value.text.endswith(
        "pybroker is not installed in the Python that Spark runs: pip install 'pybroker[spark]'"
    )
    assert caught.value.code == 69


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta. Make sure the provider name is correct",
            "Spark has no jar of delta: name it in spark.jars.packages",
        ),
        (
            "An error occurred while calling o1.start.\n: java.lang.NoSuchMethodError: 'void a.b()'\n\tat a.C.d(C)",
            "the jars of delta are for another version of Spark: java.lang.NoSuchMethodError: 'void a.b()'",
        ),
    ],
)
def test_jars_that_lack_or_do_not_fit_are_told_of(tmp_path, text, told):
    pytest.importorskip("pyspark")
    from py4j.protocol import Py4JError

    def start(_):
        raise Py4JError(text)

    spark = SimpleNamespace()
    spark.readStream = spark.writeStream = spark
    spark.format = spark.options = spark.option = spark.load = spark.trigger = lambda *_, **__: spark
    spark.start = start
    with pytest.raises(FailureError) as caught:
        export.follow(spark, {}, "delta", "to", tmp_path, available_now=True)
    assert caught.value.text == f"the export failed: {told}"


@pytest.mark.spark
@pytest.mark.slow
def test_what_is_in_a_queue_is_in_the_folder_and_once(spark, broker, channel, queue, tmp_path):
    options = {"host": broker.host, "port": str(broker.port), "queue": queue, "includeProperties": "true"}
    for round_ in range(2):
        for n in range(5):
            channel.basic_publish("", queue, f"{round_}-{n}".encode())
        channel.wait_for_confirms()
        assert export.drain(spark, tmp_path, options, available_now=True) == 5
    rows = spark.read.parquet(str(tmp_path)).collect()
    assert sorted(bytes(row.value) for row in rows) == [f"{r}-{n}".encode() for r in range(2) for n in range(5)]


@pytest.mark.spark
def test_an_option_that_makes_no_sense_is_a_sentence(spark, tmp_path):
    with pytest.raises(FailureError, match="port") as caught:
        export.drain(spark, tmp_path, {"port": "many", "queue": "q"}, available_now=True)
    assert "\n" not in caught.value.text


@pytest.mark.spark
@pytest.mark.slow
def test_a_stream_goes_where_spark_writes(spark, broker, channel, name, tmp_path):
    channel.queue_declare(name, durable=True, arguments={"x-queue-type": "stream"})
    for number in range(3):
        channel.publish_and_wait("", name, b"%d" % number)
    options = {"host": broker.host, "streamPort": str(stream_port(broker)), "stream": name}
    options["startingOffsets"] = "earliest"
    for rows in (3, 0):
        found = export.follow(spark, options, "orc", str(tmp_path / "out"), tmp_path / "c", available_now=True)
        assert found == rows
    assert spark.read.orc(str(tmp_path / "out")).count() == 3
    channel.queue_delete(name)
