"""Rows: what is gathered, and which of its columns are made."""

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pyspark.sql.types import BinaryType, LongType, StructType

from pybroker.spark.options import stream_source_options
from pybroker.spark.parse.columns import StreamAssembler, stream_schema
from pybroker.spark.stream.chunk import Chunk
from pybroker.spark.stream_source.ranges import Range
from pybroker.spark.stream_source.rows import Rows
from tests.spark.stream.conftest import encoded
from tests.stream_peer import entry

DATA = b"".join(entry(encoded(b"%d" % number)) for number in range(10, 14))


@pytest.fixture
def made(monkeypatch):
    """Return rows of a chunk with a schema, and which columns of raw messages these were made of."""
    options = stream_source_options({"uri": "amqp://localhost", "stream": "s"}, streaming=False)

    def made(schema):
        raws = []
        assemble = StreamAssembler.assemble
        monkeypatch.setattr(StreamAssembler, "assemble", lambda self, raw: raws.append(raw) or assemble(self, raw))
        rows = Rows(stream_schema(options) if schema is None else schema, options, Range("s", 1, 0, 11, 13))
        (part,) = Chunk(10, 4, 1_000, 4, DATA).parts()
        rows.add(part, 1_000)
        (batch,) = rows.batches()
        assert list(rows.batches()) == []
        return batch, set(raws[0].schema.names) - {"redelivered"}

    return made


def test_rows_of_a_range(made):
    batch, raw = made(None)
    assert batch.column("value").to_pylist() == [b"11", b"12"]
    assert batch.column("offset").to_pylist() == [11, 12]
    assert batch.column("routing_key").to_pylist() == ["s", "s"]
    assert raw == {"value", "routing_key", "exchange"}


@pytest.mark.parametrize(
    ("schema", "raw"),
    [
        (StructType().add("value", BinaryType(), nullable=False), {"value"}),
        (StructType().add("offset", LongType(), nullable=False), set()),
        (StructType(), set()),
    ],
)
def test_columns_that_nobody_wants_are_not_made(made, schema, raw):
    batch, columns = made(schema)
    assert (len(batch), columns) == (2, raw)
