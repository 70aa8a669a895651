"""Reading of ranges: connections that are kept, chunks that begin before a range, sub-batches."""

import dataclasses
import zlib

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pybroker.client.errors import CallTimeout, ConnectionLost
from pybroker.spark.options import stream_source_options
from pybroker.spark.parse.columns import stream_schema
from pybroker.spark.source import PybrokerSource
from pybroker.spark.stream.chunk import Chunk
from pybroker.spark.stream.places import Ends
from pybroker.spark.stream.sub_batch import CannotOpenError
from pybroker.spark.stream.subscription import Subscription
from pybroker.spark.stream_source import patience, reading
from pybroker.spark.stream_source.offset import DataLossError
from pybroker.spark.stream_source.ranges import Range
from tests.spark.stream.conftest import encoded, packed_batch, publish_batch


@pytest.fixture
def read(given, stream, link):
    options = stream_source_options(given | {"stream": stream}, streaming=False)

    def read(start, stop, **changes):
        changed = dataclasses.replace(options, **changes)
        range_ = Range(stream, link.ends(stream).id, 0, start, stop)
        batches = list(reading.read_range(stream_schema(changed), changed, range_))
        return [(row["offset"], row["value"]) for batch in batches for row in batch.to_pylist()]

    yield read
    while reading._kept:
        reading._kept.popitem()[1][0].close()


def test_a_range_amid_chunks(read, publish, stream):
    publish(stream, b"a", b"b", b"c")
    publish(stream, b"d", b"e")
    assert read(1, 4) == [(1, b"b"), (2, b"c"), (3, b"d")]


def test_connections_are_kept_and_replaced(read, publish, stream, broker, channel):
    publish(stream, b"a")
    read(0, 1)
    ((link, _),) = reading._kept.values()
    read(0, 1)
    assert [each for each, _ in reading._kept.values()] == [link]
    link._frames.close()
    assert read(0, 1) == [(0, b"a")]
    assert [each for each, _ in reading._kept.values()] != [link]


def test_a_connection_that_was_idle_for_long_is_not_used(read, publish, stream, monkeypatch):
    publish(stream, b"a")
    read(0, 1)
    ((link, _),) = reading._kept.values()
    monkeypatch.setattr(reading, "KEPT_S", 0.0)
    read(0, 1)
    assert [each for each, _ in reading._kept.values()] != [link]


def test_many_batches(read, publish, stream, monkeypatch):
    monkeypatch.setattr("pybroker.spark.stream_source.rows.BATCH_ROWS", 10)
    bodies = [b"%d" % number for number in range(100)]
    for start in range(0, 100, 7):
        publish(stream, *bodies[start : start + 7])
    assert read(0, 100) == list(enumerate(bodies))


def test_sub_batches_are_opened(read, link, stream):
    publish_batch(link, stream, zlib.compress, b"one", b"two", b"three")
    assert read(1, 3) == [(1, b"two"), (2, b"three")]


def test_a_sub_batch_that_cannot_be_opened_is_passed_over_if_losses_are_allowed(
    read, link, stream, publish, given, caplog
):
    publish(stream, b"before")
    publish_batch(link, stream, lambda *_, **__: b"damaged", b"one", b"two")
    publish(stream, b"behind")
    with pytest.raises(CannotOpenError, match="the sub-batch at offset 1 cannot be opened"):
        read(0, 4)
    assert read(0, 4, fail_on_data_loss=False) == [(0, b"before"), (3, b"behind")]
    assert "the sub-batch at offset 1 cannot be opened" in caplog.text
    strict = PybrokerSource(given | {"stream": stream})
    reader = strict.reader(strict.schema())
    with pytest.raises(CannotOpenError, match="set failOnDataLoss=false to go on"):
        list(reader.read(*reader.partitions()))


def test_a_chunk_of_large_sub_batches_becomes_several_batches(given, stream, link, publish, monkeypatch):
    monkeypatch.setattr("pybroker.spark.stream_source.rows.BATCH_OCTETS", 1_000)
    options = stream_source_options(given | {"stream": stream}, streaming=False)
    batch = packed_batch(zlib.compress, bytes(1_000), b"x")
    chunk = Chunk(0, 6, 0, 3, batch * 3)
    monkeypatch.setattr("pybroker.spark.stream.subscription.Subscription.chunk", lambda *_: chunk)
    range_ = Range(stream, link.ends(stream).id, 0, 0, 6)
    monkeypatch.setattr(reading, "_begin", lambda *_: 0)
    assert [len(each) for each in reading.read_range(stream_schema(options), options, range_)] == [2, 2, 2]


def test_a_connection_that_is_lost_is_made_again_and_each_message_comes_once(read, publish, stream, monkeypatch):
    monkeypatch.setattr(patience, "RETRY_S", 0.0)
    bodies = [b"%d" % number for number in range(40)]
    for body in bodies:
        publish(stream, body)
    take, taken = Subscription.chunk, []

    def lose_some(self, timeout_s):
        taken.append(1)
        if len(taken) in (2, 4, 5):
            raise ConnectionLost("gone")
        return take(self, timeout_s)

    monkeypatch.setattr(Subscription, "chunk", lose_some)
    assert read(1, 40) == list(enumerate(bodies))[1:]
    assert len(taken) > 5
    taken.clear()
    with pytest.raises(ConnectionLost, match="gone"):
        read(0, 40, reconnect_timeout_s=0.0)


class Gap:
    """A link to a stream of which message 3 comes, although message 1 was asked for."""

    tells_passed = False

    def __init__(self, id_, first):
        self.known = [Ends(id_, 0, 9), Ends(id_, first, 9)]

    def ends(self, _):
        return self.known.pop(0)

    def subscribe(self, stream, *_, **__):
        subscription = Subscription(self, 0, stream, 100)
        subscription.deliver(Chunk(3, 1, 0, 1, (9).to_bytes(4) + encoded(b"x")))
        return subscription

    def unsubscribe(self, _):
        pass

    def close(self):
        pass


@pytest.mark.parametrize(("id_", "first", "is_lost"), [(7, 0, True), (0, 0, False), (0, 3, True)])
def test_offsets_that_do_not_come(monkeypatch, id_, first, is_lost):
    """RabbitMQ takes offsets for itself: those are lost only if the stream begins behind them."""
    monkeypatch.setattr(reading, "_link", lambda *_: (Gap(id_, first), None))
    monkeypatch.setattr(reading, "_keep", lambda *_: None)

    def found(strict):
        options = stream_source_options({"stream": "s", "failOnDataLoss": strict}, streaming=False)
        batches = reading.read_range(stream_schema(options), options, Range("s", id_, 0, 1, 4))
        return [row["offset"] for batch in batches for row in batch.to_pylist()]

    assert found("false") == [3]
    if is_lost:
        with pytest.raises(DataLossError, match="lost messages 1 to 2"):
            found("true")
    else:
        assert found("true") == [3]


def test_the_wait_for_messages_is_bounded(read, publish, stream, monkeypatch):
    publish(stream, b"a")
    monkeypatch.setattr("pybroker.spark.stream.subscription.Subscription.chunk", lambda *_: None)
    with pytest.raises(CallTimeout, match=r"message 0 of stream .* did not come within 0.01 s"):
        read(0, 1, poll_timeout_s=0.01)
