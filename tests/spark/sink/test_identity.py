"""Identity of a task: the same in each of its runs, another one for each way to count."""

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pyspark.sql.types import StringType, StructType

from pybroker.spark.options import sink_options
from pybroker.spark.sink import identity
from pybroker.spark.sink.identity import PUBLISHERS_MAX, Identity, TooManyPartitionsError, of_batch, of_task
from pybroker.spark.source import PybrokerSource


class Task:
    def partitionId(self):  # noqa: N802 - Spark's name
        return 3

    def getLocalProperty(self, name):  # noqa: N802
        return {"streaming.sql.batchId": "7", "sql.streaming.queryId": "q"}.get(name)


def test_a_streaming_query_has_sparks_ids(monkeypatch):
    assert Identity("mine", 0, 0) == of_task("mine")
    monkeypatch.setattr(identity.TaskContext, "get", Task)
    assert Identity("q", 7, 3) == of_task("mine")


def test_a_batch_query_has_what_it_was_given_or_an_id_of_its_own(monkeypatch):
    given = {"stream": "s", "exactlyOnce": "rows"}
    monkeypatch.setattr(identity.TaskContext, "get", Task)
    task = of_task("mine")
    assert Identity("mine", 0, 3) == of_batch(task, "mine", sink_options(given))
    named = sink_options(given | {"publisherName": "job", "publisherSequence": "5"})
    assert Identity("job", 5, 3) == of_batch(task, "mine", named)


def test_the_ways_to_count_do_not_meet():
    names = {
        Identity("q", 1, 2).publisher(sink_options({"stream": "s", "exactlyOnce": each})) for each in ("rows", "task")
    }
    assert {"spark:q:2", "spark-task:q:2"} == names


@pytest.mark.parametrize("how", ["rows", "task"])
def test_more_partitions_than_a_stream_remembers_publishers_are_refused(monkeypatch, how):
    monkeypatch.setattr(Task, "partitionId", lambda _: PUBLISHERS_MAX)
    monkeypatch.setattr(identity.TaskContext, "get", Task)
    given = {"uri": "amqp://127.0.0.1:1", "stream": "s", "exactlyOnce": how}
    writer = PybrokerSource(given).writer(StructType().add("value", StringType()), overwrite=False)
    with pytest.raises(TooManyPartitionsError, match=r"remembers 4096 publishers.*by coalesce\(4096\)"):
        writer.write(iter([]))
