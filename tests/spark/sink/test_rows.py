from datetime import UTC, datetime

import pytest

pa = pytest.importorskip("pyarrow", reason="no pyarrow here: pip install 'pybroker[spark]'")
pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pyspark.sql.types import LongType, MapType, StringType, StructType  # noqa: E402 - only where pyspark is

from pybroker.client import Options, Properties, Table  # noqa: E402
from pybroker.spark.options import SinkOptions  # noqa: E402
from pybroker.spark.parse.columns import PROPERTIES  # noqa: E402
from pybroker.spark.parse.variant import encode_variant  # noqa: E402
from pybroker.spark.sink.rows import Row, RowError, check_columns, messages  # noqa: E402
from pybroker.spark.values import OptionError  # noqa: E402
from pybroker.wire.properties import decode_properties, encode_properties  # noqa: E402

TEXT = StringType()


def sink(**options):
    return SinkOptions(client=Options(), **options)


def schema(**columns):
    made = StructType()
    for name, kind in columns.items():
        made = made.add(name, kind)
    return made


def test_options_win_over_columns_and_null_keys_are_empty():
    batch = pa.RecordBatch.from_pydict(
        {"value": ["ä", b"".decode()], "exchange": ["a", "b"], "routing_key": ["k", None]}
    )
    first, second = (encode_properties(Properties(delivery_mode=2, message_id=id_)) for id_ in ("p-7", "p-8"))
    assert list(messages(batch, sink(), "p-", 7)) == [Row("a", "k", first, "ä".encode()), Row("b", "", second, b"")]
    assert [row[:2] for row in messages(batch, sink(exchange="", routing_key="q"), "p-", 7)] == [("", "q"), ("", "q")]


def test_properties_and_headers_of_each_shape():
    moment = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    given = {"delivery_mode": 1, "timestamp": moment, "message_id": "m", "app_id": None}
    value, metadata = encode_variant({"n": 1, "list": ["a"]})
    variant = pa.struct(
        [pa.field("value", pa.binary()), pa.field("metadata", pa.binary(), metadata={b"variant": b"true"})]
    )
    nested = pa.struct([("n", pa.int64()), ("m", pa.map_(pa.string(), pa.int64()))])
    for array, expected in (
        (pa.array([[("a", "1"), ("b", None)]], pa.map_(pa.string(), pa.string())), {"a": "1", "b": None}),
        (pa.array([{"n": 5, "m": [("k", 1)]}], nested), {"n": 5, "m": {"k": 1}}),
        (pa.array([{"value": value, "metadata": metadata}], variant), {"n": 1, "list": ["a"]}),
        (pa.array([None], variant), None),
    ):
        columns = {"value": pa.array([b"x"]), "headers": array, "properties": pa.array([given])}
        batch = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
        (row,) = messages(batch, sink(exchange="e"), "p-", 7)
        table = None if expected is None else Table(expected)
        assert decode_properties(row.properties) == Properties(
            delivery_mode=1, timestamp=1_700_000_000, message_id="m", headers=table
        )


def test_octets_that_are_no_text_and_ids_of_their_own_stay_as_they_are():
    text = pa.array([b"\xff\x00", b"x"]).view(pa.string())
    given = pa.array([{"message_id": "own"}, None], pa.struct([("message_id", pa.string())]))
    batch = pa.RecordBatch.from_arrays([text, given], ["value", "properties"])
    rows = list(messages(batch, sink(exchange="e"), "p-", 7))
    assert [row.body for row in rows] == [b"\xff\x00", b"x"]
    assert [decode_properties(row.properties).message_id for row in rows] == ["own", "p-8"]


def test_an_id_that_is_too_long_is_told():
    with pytest.raises(ValueError, match="a message id has 255 octets at most: messageIdPrefix is too long"):
        list(messages(pa.RecordBatch.from_pydict({"value": ["x"]}), sink(exchange="e"), "p" * 255, 0))


def test_rows_that_are_no_message_say_what_they_lack():
    for columns, sentence in (
        ({"value": [None], "exchange": ["e"]}, "a row has no value (NULL)"),
        ({"value": ["x"], "exchange": [None]}, "a row has no exchange: set the option or the column exchange"),
    ):
        with pytest.raises(RowError) as caught:
            list(messages(pa.RecordBatch.from_pydict(columns), sink(), "p-", 7))
        assert str(caught.value) == sentence


def test_the_columns_of_a_sink_pass():
    full = schema(value=TEXT, routing_key=TEXT, exchange=TEXT, headers=MapType(TEXT, TEXT), properties=PROPERTIES)
    check_columns(full, sink())
    check_columns(full.add("more", TEXT), sink(ignore_unknown_columns=True))


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ({"routing_key": TEXT}, {"exchange": "e"}, "option schema lacks the column value, it has routing_key"),
        ({"value": TEXT}, {}, "option exchange or a column exchange is needed; '' is the default exchange"),
        ({"value": LongType()}, {"exchange": ""}, "option schema has value as bigint, a sink takes string or binary"),
        (
            {"value": TEXT, "queue": TEXT},
            {"exchange": ""},
            "option ignoreUnknownColumns is false, and the sink knows no column queue: it has value, routing_key, ",
        ),
        (
            {"value": TEXT, "properties": schema(colour=TEXT)},
            {"exchange": ""},
            "option schema has properties.colour, AMQP only content_type, ",
        ),
        (
            {"value": TEXT, "headers": TEXT},
            {"exchange": ""},
            "option schema has headers as string, a sink takes map",
        ),
    ],
)
def test_what_a_sink_cannot_publish_is_refused(columns, options, sentence):
    with pytest.raises(OptionError) as caught:
        check_columns(schema(**columns), sink(**options))
    assert str(caught.value).startswith(sentence)
