import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pybroker.client import Properties
from pybroker.client.errors import NotFound
from pybroker.spark.source import PybrokerSource
from pybroker.spark.values import OptionError


@pytest.fixture
def browse(uri):
    def browse(queue, max_wait_ms=200):
        source = PybrokerSource({"uri": uri, "queue": queue, "maxWaitMs": str(max_wait_ms)})
        reader = source.reader(source.schema())
        (partition,) = reader.partitions()
        return reader.read(partition)

    return browse


def test_whoever_stops_early_lets_all_messages_go_back(browse, channel, queue):
    for number in range(12_000):
        channel.basic_publish("", queue, b"%d" % number, Properties(delivery_mode=2))
    channel.wait_for_confirms()
    batches = browse(queue)
    first = next(batches)
    batches.close()  # what LIMIT does
    assert first.column("value")[0].as_py() == b"0"
    assert channel.queue_declare(queue, durable=True).message_count == 12_000
    # A loaded machine makes long pauses, and a pause ends a read.
    found = [value for batch in browse(queue, 5_000) for value in batch.column("value").to_pylist()]
    assert found == [b"%d" % number for number in range(12_000)]


def test_an_empty_queue_has_no_rows(browse, queue):
    assert list(browse(queue)) == []


def test_a_stream_is_read_by_another_option(browse, channel, name):
    channel.queue_declare(name, durable=True, arguments={"x-queue-type": "stream"})
    try:
        with pytest.raises(OptionError, match=f"option queue is {name!r}, a stream: read it with the option stream"):
            list(browse(name))
    finally:
        channel.queue_delete(name)


def test_a_queue_that_is_not_there_is_the_brokers_404(browse, name):
    with pytest.raises(NotFound):
        list(browse(name))
