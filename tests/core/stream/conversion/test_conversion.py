"""Entries become contents part by part, contents entries, and what many read is converted once."""

import gzip
import random
from collections import Counter
from types import SimpleNamespace

import pytest

from pybroker.content_view import body
from pybroker.core.stream.conversion import conversion as module
from pybroker.core.stream.conversion.conversion import (
    OPENED_OCTETS_MAX,
    PART_MESSAGES_MAX,
    PART_OCTETS_MAX,
    Conversion,
)
from pybroker.entries_run import ENTRIES_OCTETS_MAX, EntriesRun
from pybroker.run import Names, RunAttributes
from pybroker.wire.amqp10.to_content import framed
from pybroker.wire.stream.entries import entries_of
from tests.amqp10 import content_of, message_of
from tests.core.stream.runs import run_of
from tests.entries import batch, entries

STREAM = SimpleNamespace(id=7, name="s")


@pytest.fixture
def warned():
    return []


@pytest.fixture
def conversion(warned):
    return Conversion(warned.append)


@pytest.fixture
def work(monkeypatch):
    """Count the messages that are converted."""
    counts = Counter()

    def counted(name, original):
        def counting(given, *others):
            given = list(given)
            counts[name] += len(given)
            return original(given, *others)

        monkeypatch.setattr(module, name, counting)

    counted("contents_of", module.contents_of)
    counted("entries_of_contents", module.entries_of_contents)
    return counts


def run(data: bytes, first=100) -> EntriesRun:
    found = list(entries_of(data))
    return EntriesRun(first, [data], len(found), sum(entry.messages for entry in found), len(data), 5)


def message(octets: bytes) -> bytes:
    return message_of(framed(b"\0\0", octets), "", "s")


def messages(*bodies: bytes) -> bytes:
    return entries(*map(message, bodies))


def packed(*bodies: bytes, codec: int = 1) -> bytes:
    data = messages(*bodies)
    octets = gzip.compress(data) if codec == 1 else data
    head = batch(*[b""] * len(bodies), codec=codec)[:3]
    return head + len(data).to_bytes(4) + len(octets).to_bytes(4) + octets


def read(conversion, source, offset=None):
    """Return (offset, body) of all messages from an offset on, as a reader goes."""
    offset = source.first_seq if offset is None else offset
    found = []
    while offset < source.first_seq + source.count:
        part = conversion.contents(STREAM, source, offset)
        assert part.stop > offset
        for made in part.runs:
            assert made.count == len(made.contents_at(range(made.count)))
            octets = [(made.first_seq + i, body(made.content(i))) for i in range(made.count)]
            found += [each for each in octets if each[0] >= offset]
        offset = part.stop
    return found


def test_messages_become_contents_with_their_offsets(conversion):
    source = run(messages(b"a", b"", b"c"))
    (made,) = conversion.contents(STREAM, source, 100).runs
    assert read(conversion, source) == [(100, b"a"), (101, b""), (102, b"c")]
    assert (made.names.exchange, made.names.routing_key, made.arrived_ms, made.attributes.persistent) == (
        "",
        "s",
        5,
        False,
    )
    assert made.body_octets == 2
    assert made.body_size == -1
    assert made.octets == sum(map(len, made.contents_at(range(3))))
    assert made.frame_octets_max >= max(map(len, made.contents_at(range(3))))


def test_names_of_annotations_are_kept(conversion):
    data = entries(
        message(b"a"), message_of(framed(b"\0\0", b"b"), "x", "k"), message_of(framed(b"\0\0", b"c"), "x", "k"), b""
    )
    made = conversion.contents(STREAM, run(data), 100).runs
    assert [(each.names.exchange, each.names.routing_key, each.first_seq, each.count) for each in made] == [
        ("", "s", 100, 1),
        ("x", "k", 101, 2),
        ("", "s", 103, 1),
    ]


def test_sub_batches_are_opened(conversion, warned):
    data = messages(b"a") + packed(b"b", b"c") + packed(b"d", codec=0) + messages(b"e")
    source = run(data)
    assert read(conversion, source) == [(100 + i, body) for i, body in enumerate((b"a", b"b", b"c", b"d", b"e"))]
    assert warned == []


def test_those_that_cannot_be_opened_leave_gaps(conversion, warned):
    data = packed(b"x", codec=3) + messages(b"a") + packed(b"y", b"z", codec=4) + messages(b"b") + packed(b"x", codec=2)
    source = run(data)
    assert read(conversion, source) == [(101, b"a"), (104, b"b")]
    assert warned == [STREAM] * 3
    assert read(conversion, source) == [(101, b"a"), (104, b"b")]
    assert warned == [STREAM] * 3  # nobody tries again
    assert read(conversion, run(packed(b"x", codec=3), first=900)) == []


def test_a_chunk_is_converted_part_by_part(conversion, work):
    bodies = [b"%d" % i for i in range(3 * PART_MESSAGES_MAX)]
    source = run(messages(*bodies))
    part = conversion.contents(STREAM, source, 100 + 2 * PART_MESSAGES_MAX - 1)
    assert part.stop == 100 + 2 * PART_MESSAGES_MAX
    assert work["contents_of"] == PART_MESSAGES_MAX
    assert read(conversion, source) == [(100 + i, octets) for i, octets in enumerate(bodies)]
    assert work["contents_of"] == 3 * PART_MESSAGES_MAX


def test_many_readers_convert_once(conversion, work):
    source = run(messages(b"a", b"b"))
    for _ in range(3):
        read(conversion, source.at(100))
    assert work["contents_of"] == 2


def test_octets_end_a_part(conversion):
    source = run(messages(*[bytes(PART_OCTETS_MAX // 2)] * 3))
    assert conversion.contents(STREAM, source, 101).stop == 102
    assert len(read(conversion, source)) == 3


def test_a_large_sub_batch_is_converted_part_by_part(conversion, work):
    bodies = [b"%d" % i for i in range(3 * PART_MESSAGES_MAX)]
    source = run(messages(b"a") + packed(*bodies) + messages(b"z"))
    expected = [(100 + i, octets) for i, octets in enumerate([b"a", *bodies, b"z"])]
    assert read(conversion, source, 500) == expected[400:]
    work.clear()
    assert conversion.contents(STREAM, source, 500).runs
    assert not work
    assert read(conversion, source) == expected


def test_a_large_sub_batch_that_cannot_be_opened_is_passed_over(conversion):
    source = run(packed(*[b"x"] * (PART_MESSAGES_MAX + 1), codec=2) + messages(b"z"))
    assert read(conversion, source) == [(100 + PART_MESSAGES_MAX + 1, b"z")]


def test_what_sub_batches_become_ends_a_part(conversion):
    large = bytes(OPENED_OCTETS_MAX // 2)
    source = run(messages(b"a") + packed(large) * 5 + messages(b"z"))
    assert conversion.contents(STREAM, source, 100).stop == 102
    assert [octets for _, octets in read(conversion, source)] == [b"a", *[large] * 5, b"z"]
    assert [octets for _, octets in read(conversion, source, 104)] == [large, large, b"z"]


def test_any_chunk_is_read_from_anywhere(conversion, seed):
    source = random.Random(seed)
    for number in range(20):
        data, expected, offset = b"", [], 100
        for _ in range(source.randrange(1, 600)):
            bodies = [b"%d" % source.getrandbits(20) for _ in range(source.choice((1, 1, 1, 1, 1, 1, 2, 90, 300)))]
            codec = source.choice((0, 1, 2)) if len(bodies) > 1 or source.random() < 0.1 else None
            data += messages(*bodies) if codec is None else packed(*bodies, codec=codec)
            if codec != 2:
                expected += [(offset + i, octets) for i, octets in enumerate(bodies)]
            offset += len(bodies)
        chunk = run(data)
        stream = SimpleNamespace(id=number, name="s")
        begin = source.randrange(100, offset)
        found, at = [], begin
        while at < offset:
            part = conversion.contents(stream, chunk, at)
            found += [(made.first_seq + i, body(made.content(i))) for made in part.runs for i in range(made.count)]
            at = part.stop
        assert [each for each in found if each[0] >= begin] == [each for each in expected if each[0] >= begin]


# -- contents as entries ----------------------------------------------------------------------------------------------


def contents_run(*bodies, names=None):
    made = run_of(40, [framed(b"\x10\0\2", octets) for octets in bodies], RunAttributes(persistent=True))
    if names is not None:
        made.names = names
    return made


def test_contents_become_a_chunk_of_entries(conversion, work):
    source = contents_run(b"a", b"", b"c" * 300)
    for _ in range(2):
        (chunk,) = conversion.chunks(STREAM, source, 9_000)
    assert work["entries_of_contents"] == 3
    assert (chunk.first_seq, chunk.entries, chunk.count, chunk.timestamp_ms) == (40, 3, 3, 9_000)
    assert chunk.octets == len(chunk.data)
    back = [content_of(entry.data) for entry in entries_of(chunk.data)]
    assert back == [framed(b"\x10\0\2", octets) for octets in (b"a", b"", b"c" * 300)]


def test_contents_that_grow_become_several_chunks(conversion):
    names = Names("x" * 255, "k" * 255, b"")
    source = contents_run(*[b"%d" % i for i in range(4_000)], names=names)
    chunks = conversion.chunks(STREAM, source, 1)
    assert len(chunks) == 3
    assert max(chunk.octets for chunk in chunks) <= ENTRIES_OCTETS_MAX
    assert [chunk.first_seq for chunk in chunks] == [40, 40 + chunks[0].count, 40 + chunks[0].count + chunks[1].count]
    assert sum(chunk.count for chunk in chunks) == 4_000


def test_a_large_content_is_a_chunk_alone(conversion):
    chunks = conversion.chunks(STREAM, contents_run(b"a", bytes(ENTRIES_OCTETS_MAX), b"b"), 1)
    assert [chunk.count for chunk in chunks] == [1, 1, 1]
