import zlib

import pytest

from pybroker.client.errors import ConnectionLost
from pybroker.entries_run import pack_head
from pybroker.spark.stream.chunk import Chunk, Part, read_deliver
from pybroker.spark.stream.sub_batch import CannotOpenError, opened
from tests.stream_peer import entry


def delivered(data: bytes, entries: int, records: int, committed: bytes = b"", first: int = 7) -> bytes:
    return b"\x05" + committed + pack_head(entries, records, 1_000, first, zlib.crc32(data), len(data)) + data


def batch(codec: int, data: bytes, records: int, unpacked: int) -> bytes:
    head = bytes([0x80 | codec << 4]) + records.to_bytes(2) + unpacked.to_bytes(4)
    return head + len(data).to_bytes(4) + data


@pytest.mark.parametrize("committed", [b"", bytes(8)])
def test_a_deliver_is_read(committed):
    data = entry(b"a") + entry(b"bc")
    octets = b"..." + delivered(data, 2, 2, committed)
    number, chunk = read_deliver(octets, 2 if committed else 1, 3, len(octets))
    assert (number, chunk) == (5, Chunk(7, 2, 1_000, 2, data))
    assert (chunk.next, chunk.messages()) == (9, [b"a", b"bc"])


def test_sub_batches_among_messages_are_opened():
    packed = zlib.compress(entry(b"b") + entry(b"c"), wbits=31)
    data = entry(b"a") + batch(1, packed, 2, 10) + entry(b"d")
    assert Chunk(0, 4, 0, 3, data).messages() == [b"a", b"b", b"c", b"d"]


def test_a_sub_batch_that_cannot_be_opened_is_named_by_its_offset():
    chunk = Chunk(7, 5, 0, 4, entry(b"a") + batch(7, b"x", 2, 10) + entry(b"b") + entry(b"c"))
    with pytest.raises(CannotOpenError, match="offset 8"):
        chunk.messages()
    refused = []
    assert list(chunk.parts(refused.append)) == [Part(7, [b"a"], 1), Part(10, [b"b", b"c"], 2)]
    assert ["offset 8" in str(error) for error in refused] == [True]


def test_one_sub_batch_is_opened_at_a_time(monkeypatch):
    made = []
    monkeypatch.setattr("pybroker.spark.stream.chunk.opened", lambda *asked: made.append(1) or opened(*asked))
    packed = batch(1, zlib.compress(entry(b"b") + entry(b"c"), wbits=31), 2, 10)
    parts = Chunk(0, 4, 0, 2, packed * 2).parts()
    assert (next(parts), len(made)) == (Part(0, [b"b", b"c"], 10), 1)
    assert (next(parts), len(made)) == (Part(2, [b"b", b"c"], 10), 2)


def test_a_damaged_chunk_is_refused():
    octets = delivered(entry(b"abc"), 1, 1)
    for damaged in (octets[:20], octets[:-1], octets[:-1] + b"x", b"\x05\x60" + octets[2:]):
        with pytest.raises(ConnectionLost, match="delivered a chunk that is"):
            read_deliver(damaged, 1, 0, len(damaged))
