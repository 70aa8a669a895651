"""Reading of ranges: connections that are kept, chunks that begin before a range, sub-batches."""

import dataclasses
import zlib

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pybroker.client.errors import CallTimeout
from pybroker.spark.options import stream_source_options
from pybroker.spark.parse.columns import stream_schema
from pybroker.spark.stream_source import reading
from pybroker.spark.stream_source.ranges import Range
from tests.spark.stream.conftest import encoded


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
    messages = [b"one", b"two", b"three"]
    plain = b"".join(len(each).to_bytes(4) + each for each in map(encoded, messages))
    packer = zlib.compressobj(wbits=31)
    packed = packer.compress(plain) + packer.flush()
    entry = bytes([0x90]) + len(messages).to_bytes(2) + len(plain).to_bytes(4) + len(packed).to_bytes(4) + packed
    publisher = link.publisher(stream)
    content = bytes([publisher.id]) + (1).to_bytes(4) + (1).to_bytes(8) + entry
    publisher.open += 1
    link.send_octets((len(content) + 4).to_bytes(4) + b"\0\2\0\1" + content)
    publisher.settle(10.0)
    assert read(1, 3) == [(1, b"two"), (2, b"three")]


def test_the_wait_for_messages_is_bounded(read, publish, stream, monkeypatch):
    publish(stream, b"a")
    monkeypatch.setattr("pybroker.spark.stream.subscription.Subscription.chunk", lambda *_: None)
    with pytest.raises(CallTimeout, match=r"message 0 of stream .* did not come within 0.01 s"):
        read(0, 1, poll_timeout_s=0.01)
