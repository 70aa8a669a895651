import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pyspark.sql.types import StringType, StructType

from pybroker.spark.source import PybrokerSource
from pybroker.spark.values import OptionError

READ = {"queue": "q", "includeHeaders": "true"}


def as_spark_gives_it(options, **properties):
    """Return what Spark hands over when a table is made."""
    twice = {f"option.{name.lower()}": value for name, value in options.items()}
    return options | twice | properties | {"provider": "pybroker", "owner": "somebody"}


def table(options, **properties):
    return PybrokerSource(as_spark_gives_it(options, **properties)).schema()


def test_a_table_keeps_its_options_and_a_statement_adds_to_them():
    schema = table(READ, comment="orders", location="file:/somewhere", a="b")
    assert schema.names[-1] == "headers"
    assert PybrokerSource({}).reader(schema)._options.queue == "q"
    reader = PybrokerSource({"port": "1234"}).reader(schema)
    assert (reader._options.queue, reader._options.client.addresses[0].port) == ("q", 1234)


def test_a_statement_that_names_a_queue_owes_the_table_nothing():
    schema = table({"queue": "q", "host": "elsewhere"})
    assert PybrokerSource({"queue": "other"}).reader(schema)._options.client.addresses[0].host == "localhost"


def test_a_table_of_an_exchange_has_the_columns_that_its_options_leave_open():
    assert table({"exchange": "e"}).names == ["value", "routing_key", "headers", "properties"]
    assert table({"routingKey": "k"}).names == ["value", "exchange", "headers", "properties"]
    writer = PybrokerSource({}).writer(table({"exchange": "e", "mandatory": "false"}), overwrite=False)
    assert (writer._options.exchange, writer._options.mandatory) == ("e", False)


def test_rows_of_a_table_are_published_by_options_of_their_own():
    schema = StructType([table({"queue": "q", "host": "elsewhere"})["value"]])
    writer = PybrokerSource({"exchange": "e"}).writer(schema, overwrite=False)
    assert (writer._options.exchange, writer._options.client.addresses[0].host) == ("e", "localhost")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"password": "x"}, "option password would be kept with the table for all to read: use passwordFile"),
        (
            {"tls.keyPassword": "x"},
            "option tls.keyPassword would be kept with the table for all to read: use tls.keyPa",
        ),
        ({"uri": "amqp://a@h/ amqp://a:b@h/"}, "option uri has a password, which would be kept with the table for all"),
        ({"uri": "amqp://h:1/", "spark": "x"}, "option spark is not an option of the connector"),
    ],
)
def test_a_table_is_no_place_for_secrets_nor_for_mistakes(options, sentence):
    with pytest.raises(OptionError) as caught:
        table({"queue": "q"} | options)
    assert str(caught.value).startswith(sentence)


def test_a_table_without_its_options_is_told_how_to_keep_them():
    for use in (lambda s, v: s.reader(v), lambda s, v: s.writer(v, overwrite=False)):
        with pytest.raises(OptionError, match="keeps its options only if CREATE TABLE names neither columns nor AS"):
            use(PybrokerSource({}), StructType().add("value", StringType()))
