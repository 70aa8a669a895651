"""The streaming read as Spark calls it: offsets, limits, leftovers, replay. Processes that are killed: test_kills."""

import json
import pickle

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from pybroker.client import Properties
from pybroker.client.errors import NotFound
from pybroker.spark.readers import drain, queue_stream
from pybroker.spark.readers.drain import Drain
from pybroker.spark.readers.spool import SpoolError
from pybroker.spark.source import PybrokerSource
from tests.ports import free_port

ALL = ReadAllAvailable()


@pytest.fixture
def reader(uri, queue, spool):
    made = []

    def make(**options):
        given = {"uri": uri, "queue": queue, "spoolLocation": str(spool), "maxWaitMs": "100"}
        source = PybrokerSource(given | options)
        made.append(source.streamReader(source.schema()))
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def publish(channel, queue):
    def publish(*bodies):
        for body in bodies:
            channel.basic_publish("", queue, body, Properties(delivery_mode=2))
        channel.wait_for_confirms()

    return publish


def values(reader, start, end):
    return [
        value
        for partition in reader.partitions(start, end)
        for batch in reader.read(partition)
        for value in batch.column("value").to_pylist()
    ]


def test_redelivered_messages_are_counted(reader, publish, channel, queue):
    publish(b"a", b"b")
    tag = channel.basic_get(queue).delivery_tag
    channel.basic_nack(tag, requeue=True)
    stream = reader()
    stream.latestOffset(stream.initialOffset(), ALL)
    assert stream.reportLatestOffset()["redelivered"] == 1


def test_a_trigger_takes_what_is_there_and_acknowledges_it(reader, publish, channel, queue, spool):
    stream = reader()
    publish(b"a", b"b")
    start = stream.initialOffset()
    end = stream.latestOffset(start, ALL)
    assert (start["segment"], end["segment"]) == (0, 1)
    assert values(stream, start, end) == [b"a", b"b"]
    assert values(stream, start, end) == [b"a", b"b"]
    progress = stream.reportLatestOffset()
    (segment,) = spool.glob("*.arrow")
    figures = {"messages_ready": 0, "spool_segments": 1, "spool_octets": segment.stat().st_size, "redelivered": 0}
    assert progress == {"segment": 1} | figures
    assert stream.latestOffset(end, ALL) == end
    stream.stop()
    assert channel.queue_declare(queue, durable=True).message_count == 0


def test_limits_are_kept_and_spark_is_told_of_them(reader, publish):
    stream = reader(maxMessagesPerTrigger="2")
    assert stream.getDefaultReadLimit() == ReadMaxRows(2)
    assert reader().getDefaultReadLimit() == ALL
    publish(*(b"%d" % n for n in range(5)))
    offset, sizes = stream.initialOffset(), []
    while (after := stream.latestOffset(offset, ReadMaxRows(2))) != offset:
        sizes.append(len(values(stream, offset, after)))
        offset = after
    assert sizes == [2, 2, 1]


def test_available_now_ends_while_somebody_publishes(reader, publish):
    stream = reader()
    publish(b"a", b"b", b"c")
    stream.prepareForTriggerAvailableNow()
    offset, seen = stream.initialOffset(), []
    for _ in range(10):
        publish(b"later")
        after = stream.latestOffset(offset, ReadMaxRows(2))
        if after == offset:
            break
        seen += values(stream, offset, after)
        offset = after
    assert seen == [b"a", b"b", b"c"]


def test_what_a_killed_query_spooled_and_never_planned_comes_first(reader, publish, spool):
    stream = reader()
    publish(b"a")
    stream.latestOffset(stream.initialOffset(), ALL)
    stream.stop()
    publish(b"b")
    again = reader()
    start = again.initialOffset()
    end = again.latestOffset(start, ReadMaxRows(1))
    assert values(again, start, end) == [b"a"]
    after = again.latestOffset(end, ALL)
    assert values(again, end, after) == [b"b"]
    again.commit(end)
    assert again.initialOffset()["segment"] == 1
    again.commit(after)
    assert list(spool.glob("*.arrow")) == []


def test_numbers_go_on_after_a_commit_and_a_restart(reader, publish):
    stream = reader()
    publish(b"a")
    end = stream.latestOffset({"segment": 41}, ALL)
    stream.commit(end)
    stream.stop()
    publish(b"b")
    again = reader()
    assert (end["segment"], again.latestOffset(end, ALL)["segment"]) == (42, 43)
    with pytest.raises(SpoolError, match=r"000000000042.arrow is missing"):
        values(again, {"segment": 41}, end)


def test_a_reader_travels_without_what_it_has_open(reader, publish):
    stream = reader()
    publish(b"a")
    end = stream.latestOffset(stream.initialOffset(), ALL)
    (partition,) = pickle.loads(pickle.dumps(stream.partitions({"segment": 0}, end)))
    other = pickle.loads(pickle.dumps(stream))
    assert [len(batch) for batch in other.read(partition)] == [1]


def test_a_queue_that_is_not_there_is_the_brokers_404(reader, name):
    stream = reader(queue=f"{name}-none")
    with pytest.raises(NotFound, match=f"no queue '{name}-none'"):
        stream.latestOffset(stream.initialOffset(), ALL)


# -- checkpoints and spools that belong together


def test_an_offset_names_queue_and_spool_for_good(reader, publish, queue, spool):
    stream = reader()
    assert stream.initialOffset() == {"segment": 0, "queue": queue, "virtual_host": "/"}
    publish(b"a")
    end = stream.latestOffset(stream.initialOffset(), ALL)
    id_ = json.loads((spool / "source.json").read_text())["id"]
    assert json.dumps(end) == f'{{"segment": 1, "queue": "{queue}", "virtual_host": "/", "spool": "{id_}"}}'


@pytest.mark.parametrize("call", ["latestOffset", "partitions", "commit"])
def test_a_checkpoint_of_another_queue_is_refused(reader, publish, name, call):
    stream = reader()
    publish(b"a")
    end = stream.latestOffset(stream.initialOffset(), ALL)
    of_another = end | {"queue": f"{name}-other"}
    arguments = {"latestOffset": (of_another, ALL), "partitions": (of_another, of_another), "commit": (of_another,)}
    with pytest.raises(SpoolError) as caught:
        getattr(stream, call)(*arguments[call])
    assert str(caught.value) == (
        f"the checkpoint is of queue '{name}-other' in virtual host '/', the query reads queue '{name}' in virtual "
        "host '/': each query needs its own checkpointLocation"
    )


def test_a_checkpoint_of_another_spool_of_the_same_queue_is_refused(reader, publish, tmp_path):
    one, other = reader(), reader(spoolLocation=str(tmp_path / "other"))
    publish(b"a")
    of_one = one.latestOffset(one.initialOffset(), ALL)
    publish(b"b")
    other.latestOffset(other.initialOffset(), ALL)
    with pytest.raises(SpoolError, match=r"other is the spool [0-9a-f]{16}, the checkpoint's is [0-9a-f]{16}: use"):
        other.commit(of_one)
    assert values(other, other.initialOffset(), other.latestOffset(other.initialOffset(), ALL)) == [b"b"]


def test_a_fresh_spool_continues_the_checkpoint_of_its_queue(reader, publish, tmp_path):
    one = reader()
    publish(b"a")
    of_one = one.latestOffset(one.initialOffset(), ALL)
    publish(b"b")
    again = reader(spoolLocation=str(tmp_path / "fresh"))
    end = again.latestOffset(of_one, ALL)
    assert end == of_one | {"segment": 2}
    assert values(again, of_one, end) == [b"b"]


def test_a_spool_and_a_checkpoint_of_an_older_version_go_on(reader, publish, queue, spool):
    spool.mkdir()
    (spool / "source.json").write_text(json.dumps({"queue": queue, "virtual_host": "/"}))
    publish(b"a")
    stream = reader()
    end = stream.latestOffset({"segment": 7}, ALL)
    assert end == {"segment": 8, "queue": queue, "virtual_host": "/"}
    assert values(stream, {"segment": 7}, end) == [b"a"]


# -- a broker that is away when a query is run again


def test_a_query_run_again_reads_its_spool_while_the_broker_is_away(reader, publish):
    stream = reader()
    publish(b"a")
    start = stream.initialOffset()
    stream.latestOffset(start, ALL)
    stream.stop()
    again = reader(uri=f"amqp://127.0.0.1:{free_port()}", reconnectTimeoutMs="0")
    again.prepareForTriggerAvailableNow()
    end = again.latestOffset(start, ALL)
    assert values(again, start, end) == [b"a"]
    with pytest.raises(OSError, match="refused"):
        again.latestOffset(end, ALL)


def test_the_bound_of_a_query_run_again_is_set_when_the_broker_is_back(reader, publish, uri, monkeypatch):
    stream = reader()
    publish(b"a")
    end = stream.latestOffset(stream.initialOffset(), ALL)
    stream.stop()
    publish(b"b", b"c")
    again = reader()
    real = Drain.poll
    failures = iter([ConnectionRefusedError(), ConnectionRefusedError(), ConnectionRefusedError()])

    def poll(drain):
        for failure in failures:
            raise failure
        return real(drain)

    monkeypatch.setattr(Drain, "poll", poll)
    monkeypatch.setattr(drain, "_RETRY_S", 0.01)
    again.prepareForTriggerAvailableNow()
    after = again.latestOffset(end, ReadMaxRows(1))
    publish(b"later")
    last = again.latestOffset(after, ReadMaxRows(1))
    assert values(again, end, last) == [b"b", b"c"]
    assert again.latestOffset(last, ReadMaxRows(1)) == last


def test_a_query_whose_spool_was_never_used_is_told_at_once(reader, spool):
    for _ in range(2):  # the first try must not look like a use
        stream = reader(uri=f"amqp://127.0.0.1:{free_port()}")
        with pytest.raises(OSError, match="refused"):
            stream.prepareForTriggerAvailableNow()
        with pytest.raises(OSError, match="refused"):
            stream.latestOffset(stream.initialOffset(), ALL)
        stream.stop()
    assert not (spool / "source.json").exists()


def tasks(stream, up_to):
    parts = stream.partitions({"segment": 0}, {"segment": up_to})
    return [[int(path[-18:-6]) for path in part.paths] for part in parts]


def test_a_task_has_a_few_segments_and_not_too_many_octets(reader, spool, monkeypatch):
    monkeypatch.setattr(queue_stream, "TASK_OCTETS", 100)
    stream = reader()
    spool.mkdir()
    for number, octets in enumerate((10, 10, 10, 10, 10, 90, 10, 200, 100, 1), start=1):
        (spool / f"{number:012d}.arrow").write_bytes(b"x" * octets)
    assert tasks(stream, 10) == [[1, 2, 3, 4], [5, 6], [7], [8], [9], [10]]
    assert tasks(stream, 5) == [[1, 2, 3, 4], [5]]
    assert tasks(stream, 0) == []


def test_all_segments_of_a_task_are_read_in_order_and_a_missing_one_fails_it(reader, publish, spool):
    stream = reader(maxMessagesPerTrigger="1")
    publish(b"a", b"b", b"c")
    start = offset = stream.initialOffset()
    for _ in range(3):
        offset = stream.latestOffset(offset, ReadMaxRows(1))
    assert tasks(stream, 3) == [[1, 2, 3]]
    assert values(stream, start, offset) == [b"a", b"b", b"c"]
    (spool / "000000000002.arrow").unlink()
    with pytest.raises(SpoolError, match=r"000000000002\.arrow is missing"):
        values(stream, start, offset)
