import pickle

import pytest

pa = pytest.importorskip("pyarrow", reason="no pyarrow here: pip install 'pybroker[spark]'")
pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pyspark.sql.types import StringType, StructType  # noqa: E402 - only where pyspark is

from pybroker.spark.source import PybrokerSource  # noqa: E402

SCHEMA = StructType().add("value", StringType())


def test_a_task_that_is_run_again_publishes_the_same_ids(uri, channel, queue):
    given = {"uri": uri, "exchange": "", "routingKey": queue, "messageIdPrefix": "p-"}
    writer = pickle.dumps(PybrokerSource(given).writer(SCHEMA, overwrite=False))
    ids = []
    for _ in range(2):
        batch = pa.RecordBatch.from_pydict({"value": ["a", "b"]})
        message = pickle.loads(writer).write(iter([batch, batch]))
        assert message.count == 4
        ids.append([channel.basic_get(queue, no_ack=True).properties.message_id for _ in range(4)])
    assert ids[0] == ids[1]
    assert [one.split("-", 2)[2] for one in ids[0]] == ["0-0-0", "0-0-1", "0-0-2", "0-0-3"]
    assert ids[0][0].startswith("p-")


def test_an_empty_partition_is_no_error(uri):
    writer = PybrokerSource({"uri": uri, "exchange": ""}).streamWriter(SCHEMA, overwrite=False)
    message = writer.write(iter([]))
    writer.commit([message], 0)
    writer.abort([None], 1)
    assert message.count == 0
