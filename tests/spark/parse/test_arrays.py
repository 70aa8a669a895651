"""Arrays by their buffers: equal to those that pyarrow makes, and made without pandas."""

import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from pybroker.spark.parse.arrays import flags, integers, octets, texts


@given(st.lists(st.binary(max_size=20), max_size=40))
def test_octets(values):
    made = octets(values)
    made.validate(full=True)
    assert pa.array(values, pa.binary()).equals(made)


@given(st.lists(st.text(max_size=20), max_size=40))
def test_texts(values):
    made = texts(values)
    made.validate(full=True)
    assert pa.array(values, pa.string()).equals(made)


@given(st.lists(st.booleans(), max_size=70))
def test_flags(values):
    made = flags(values)
    made.validate(full=True)
    assert pa.array(values, pa.bool_()).equals(made)


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64()])
def test_integers(kind):
    values = [0, -1, (1 << 31) - 1, -(1 << 31)]
    assert pa.array(values, kind).equals(integers(values, kind))
    with pytest.raises(OverflowError):
        integers([1 << 63], kind)


PROGRAM = """
import sys
from pyspark.sql.types import StructType
from pybroker.spark.options import source_options
from pybroker.spark.parse.columns import Assembler, full_schema
from pybroker.spark.parse.raw import Columns, raw_batch
from pybroker.spark.route import Route
import pybroker.spark.readers.drain, pybroker.spark.stream_source.reading

routes = [Route("", "q", False), Route("x", "k", True)]
for table in (routes, routes[:1]):
    raw = raw_batch(Columns([b"a", b"b"], [bytes(2)] * 2, [0, len(table) - 1], table))
    options = source_options({"queue": "q"}, streaming=False)
    assert len(Assembler(full_schema(options), options, "q").assemble(raw)) == 2
assert "pandas" not in sys.modules
"""


def test_a_query_does_without_pandas():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)
