import pickle

import pytest

pa = pytest.importorskip("pyarrow", reason="no pyarrow here: pip install 'pybroker[spark]'")
pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pyspark.sql.types import StringType, StructType  # noqa: E402 - only where pyspark is

from pybroker.spark.sink import sink  # noqa: E402
from pybroker.spark.source import PybrokerSource  # noqa: E402
from pybroker.wire.properties import decode_properties  # noqa: E402

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


def test_a_batch_that_has_a_name_has_the_same_ids_when_it_is_written_again(uri, link_port, stream, monkeypatch):
    rows = []
    monkeypatch.setattr(sink.RowPublisher, "publish", lambda _, some: rows.extend(some))
    given = {"uri": uri, "streamPort": str(link_port), "stream": stream, "exactlyOnce": "rows"}
    for number in ("7", "7", "8"):
        named = given | {"publisherName": "job", "publisherSequence": number}
        writer = PybrokerSource(named).writer(SCHEMA, overwrite=False)
        writer.write(iter([pa.RecordBatch.from_pydict({"value": ["a", "b"]})]))
    ids = [decode_properties(row.properties).message_id for row in rows]
    assert ids == ["job-7-0-0", "job-7-0-1"] * 2 + ["job-8-0-0", "job-8-0-1"]


def test_an_empty_partition_is_no_error(uri):
    writer = PybrokerSource({"uri": uri, "exchange": ""}).streamWriter(SCHEMA, overwrite=False)
    message = writer.write(iter([]))
    writer.commit([message], 0)
    writer.abort([None], 1)
    assert message.count == 0
