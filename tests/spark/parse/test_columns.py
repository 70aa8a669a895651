"""Batches must have exactly the schema that Spark expects: names, order, types, nullability, time zone."""

from datetime import UTC, datetime

import pytest

pa = pytest.importorskip("pyarrow", reason="no pyarrow here: pip install 'pybroker[spark]'")
pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pyspark.sql.pandas.types import to_arrow_schema  # noqa: E402 - only where pyspark is
from pyspark.sql.types import BinaryType, BooleanType, MapType, StringType, StructType  # noqa: E402

from pybroker.client import Options, Properties, Table  # noqa: E402
from pybroker.spark.options import SourceOptions  # noqa: E402
from pybroker.spark.parse.columns import Assembler, check_projection, full_schema  # noqa: E402
from pybroker.spark.parse.raw import SCHEMA  # noqa: E402
from pybroker.spark.values import OptionError  # noqa: E402
from pybroker.wire.properties import encode_properties  # noqa: E402

ALL = SourceOptions(client=Options(), queue="q", include_headers=True, include_properties=True)


def raw(*properties):
    row = {"value": b"v", "routing_key": "k", "exchange": "e", "redelivered": True}
    return pa.RecordBatch.from_pylist([row | {"properties": encode_properties(p)} for p in properties], schema=SCHEMA)


@pytest.mark.parametrize("headers_format", ["map", "variant"])
def test_a_batch_has_the_schema_that_spark_expects(headers_format):
    options = SourceOptions(
        client=Options(), queue="q", include_headers=True, include_properties=True, headers_format=headers_format
    )
    schema = full_schema(options)
    batch = Assembler(schema, options, "q").assemble(raw(Properties(headers=Table({"n": 1})), Properties()))
    batch.validate(full=True)
    assert batch.schema.equals(to_arrow_schema(schema, timezone="UTC"), check_metadata=True)
    assert [field.name for field in schema if not field.nullable] == [
        *("value", "routing_key", "exchange", "queue", "partition", "redelivered")
    ]


def test_the_values_of_a_queue():
    batch = Assembler(full_schema(ALL), ALL, ALL.queue).assemble(
        raw(Properties(timestamp=1_700_000_000, app_id="a"), Properties())
    )
    first, second = batch.to_pylist()
    moment = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert (first["timestamp"], first["properties"]["timestamp"], second["timestamp"]) == (moment, moment, None)
    assert (first["properties"]["app_id"], first["headers"], first["offset"], first["partition"]) == (
        "a",
        None,
        None,
        0,
    )
    assert (first["queue"], first["redelivered"], first["exchange"]) == ("q", True, "e")


def test_a_schema_is_a_projection_and_takes_the_users_nullability():
    wanted = StructType().add("redelivered", BooleanType()).add("value", BinaryType(), nullable=False)
    check_projection(wanted, full_schema(ALL))
    batch = Assembler(wanted, ALL, ALL.queue).assemble(raw(Properties()))
    assert batch.schema.names == ["redelivered", "value"]
    assert [field.nullable for field in batch.schema] == [True, False]


def test_no_column_at_all_counts_rows():
    assert len(Assembler(StructType([]), ALL, ALL.queue).assemble(raw(Properties(), Properties()))) == 2


@pytest.mark.parametrize(
    ("name", "kind", "options", "sentence"),
    [
        ("key", BinaryType(), ALL, "option schema has the column key, the source only value, routing_key, "),
        ("value", StringType(), ALL, "option schema has value as string, it is binary"),
        (
            "headers",
            MapType(StringType(), StringType()),
            SourceOptions(client=Options(), queue="q"),
            "redelivered (set includeHeaders)",
        ),
    ],
)
def test_a_projection_of_what_is_not_there_is_refused(name, kind, options, sentence):
    with pytest.raises(OptionError) as caught:
        check_projection(StructType().add(name, kind), full_schema(options))
    assert sentence in str(caught.value)
