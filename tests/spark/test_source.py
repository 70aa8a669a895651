import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pyspark.sql.types import StringType, StructType

from pybroker.spark.source import PybrokerSource
from pybroker.spark.values import OptionError

VALUE = StructType().add("value", StringType())


def test_nothing_is_connected_before_it_is_read():
    given = {"uri": "amqp://127.0.0.1:1", "queue": "q"}
    source = PybrokerSource(given)
    assert source.schema().names[0] == "value"
    source.reader(source.schema()).partitions()
    streaming = PybrokerSource(given | {"spoolLocation": "/nowhere/x"})
    streaming.streamReader(streaming.schema())
    PybrokerSource({"uri": "amqp://127.0.0.1:1", "exchange": "e"}).writer(VALUE, overwrite=False)


def test_what_was_published_is_not_overwritten():
    source = PybrokerSource({"exchange": "e"})
    with pytest.raises(OptionError, match='option mode must be "append"'):
        source.writer(VALUE, overwrite=True)
    with pytest.raises(OptionError, match='option outputMode must be "append": '):
        source.streamWriter(VALUE, overwrite=True)
