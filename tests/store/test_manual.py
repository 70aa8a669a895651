"""pybroker-store(5) draws what the code writes: fields stand where the page says, and end where the code's do."""

import re
from array import array
from zlib import crc32

import pytest
from google_crc32c import extend

from pybroker.store import format as fmt, publish_record
from pybroker.store.segments import checkpoint, footer
from pybroker.store.segments.checkpoint import Checkpoint
from pybroker.store.segments.delay import encode_delay
from pybroker.store.segments.footer import Footer
from pybroker.store.streams import format as streams
from tests.sources import ROOT
from tests.store.records import SEED, rows_from, run_of

PAGE = (ROOT / "man/pybroker-store.5").read_text().replace(r"\-", "-")
SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
FIELD = re.compile(r"(\d+)  (.+?)(?=$|  +\d+  )", re.MULTILINE)


def fields(after):
    """Return offset -> text of the first drawing after these words."""
    drawing = PAGE.partition(after)[2].partition(".nf\n")[2].partition(".fi")[0]
    return {int(offset): text.strip() for offset, text in FIELD.findall(drawing)}


def size_of(text):
    """Return the octets of a field: a number's, a text's in quotes, or so many zeros."""
    number = re.search(r"\b(u8|u16|u32|u64)\b", text)
    if number:
        return SIZES[number.group(1)]
    quoted = re.search(r'"(\w+)"', text)
    return len(quoted.group(1)) if quoted else int(re.match(r"(\d+) zeros", text).group(1))


def ends(drawn, fixed):
    """Check that fields follow each other, up to offset `fixed`."""
    at = 0
    for offset, text in sorted(drawn.items()):
        if offset >= fixed:
            break
        assert offset == at, text
        at += size_of(text)
    assert at == fixed


@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        ("1 BATCH", fmt._BATCH.size),
        ("2 TARGETS", fmt._TARGETS.size),
        ("3 PUBLISH", publish_record._PUBLISH.size),
        ("4 SETTLE", fmt._GROUP.size),
        ("5 PROVEN", 8),
        ("6 FOOTER", footer._HEAD.size),
    ],
)
def test_the_fixed_part_of_a_record_is_as_long_as_it_is_drawn(name, fixed):
    number, kind = name.split()
    assert fmt.TYPE_NAMES[int(number)] == kind
    drawn = fields(f".B {name}")
    ends({offset: text for offset, text in drawn.items() if offset < fixed}, fixed)


def test_the_fixed_part_of_a_checkpoint_is_as_long_as_it_is_drawn():
    ends(fields(".SH CHECKPOINT"), checkpoint._HEAD.size)


def drawing(name, section="SEGMENT"):
    """Return the fields of one of the drawings that share a block of a section."""
    block = PAGE.partition(f".SH {section}\n")[2].partition(".nf")[2].partition(".fi")[0]
    part = re.search(rf"^{name}.*\n((?:^ .*\n)+)", block, re.MULTILINE)
    return {int(offset): text.strip() for offset, text in FIELD.findall(part.group(1))}


def test_header_and_trailer_are_as_long_as_they_are_drawn():
    ends(drawing("header,"), fmt.HEADER_OCTETS)
    ends(drawing("trailer,"), fmt.TRAILER_OCTETS)
    drawn = drawing("record")
    assert sorted(drawn) == [0, 4, 8, 9, 10, 12]
    assert drawn[12] == "payload"
    assert fmt.RECORD_OCTETS == 12


def read(octets, drawn, words, order="little"):
    """Read the number whose description begins with these words from where the page draws it."""
    ((offset, text),) = [(offset, text) for offset, text in drawn.items() if text.startswith(words)]
    return int.from_bytes(octets[offset : offset + size_of(text)], order)


def test_values_stand_where_they_are_drawn():
    header, drawn = fmt.SegmentHeader(3, 4, 5, 6).encode(), drawing("header,")
    assert [read(header, drawn, each) for each in ("log id", "number", "size", "created")] == [3, 4, 5, 6]
    batch, drawn = fmt.batch_header(1, 2, 3, 4, SEED)[12:], fields(".B 1 BATCH")
    assert [read(batch, drawn, each) for each in ("ticket", "wall", "how many r", "how many o")] == [1, 2, 3, 4]
    targets, drawn = fmt.targets(7, 3, True, (9, 8), SEED)[12:], fields(".B 2 TARGETS")
    assert [read(targets, drawn, each) for each in ("number", "priority", "1: they", "how many")] == [7, 3, 1, 2]
    assert [int.from_bytes(targets[at : at + 8], "little") for at in (12, 20)] == [9, 8]
    settle, drawn = fmt.settle([(5, 2, array("Q", [6, 7]))], SEED)[12:], fields(".B 4 SETTLE")
    assert [read(settle, drawn, each) for each in ("queue id", "how many", "deliveries", "first")] == [5, 1, 2, 6]
    delay, drawn = encode_delay([(5, 2, 9, array("Q", [6, 7]))], SEED)[12:], fields(".B 7 DELAY")
    assert [read(delay, drawn, each) for each in ("queue id", "how many", "deliveries", "due", "first")] == [
        5,
        1,
        2,
        9,
        6,
    ]
    octets, drawn = Footer(1, 2, 3).encode(), fields(".B 6 FOOTER")
    assert [read(octets, drawn, each) for each in ("ticket of the f", "ticket of the l", "newest")] == [1, 2, 3]
    octets, drawn = Checkpoint(7, 8, 9, True, {}, rows_from([(1, 2, 3, 4)])).encode(), fields(".SH CHECKPOINT")
    words = ("log id", "ticket", "next", "1: written", "how many r")
    assert [read(octets, drawn, each) for each in words] == [7, 8, 9, 1, 1]


def test_a_publish_stands_where_it_is_drawn():
    run = run_of([b"ab", b"cd"], 5, ("x", "key"), channel=6, frame_octets_max=4_096)
    octets, drawn = publish_record.publish(7, run, range(2), 77, SEED)[12:], fields(".B 3 PUBLISH")
    size = len(run.content(0))
    words = (
        "set of queues",
        "how many",
        "seq",
        "arrived",
        "expiration",
        "frames",
        "octets of each c",
        "octets of each b",
    )
    assert [read(octets, drawn, each) for each in words] == [7, 2, 5, 77, (1 << 64) - 1, 4_096, size, 2]
    assert [read(octets, drawn, each) for each in ("channel", "priority", "set of what")] == [6, 0, 0]
    assert octets[48:] == b"\x01x\x03key" + run.content(0) + run.content(1)


def test_files_of_streams_are_as_long_as_they_are_drawn():
    ends(drawing("stream header,", "STREAMS"), streams.HEADER_OCTETS)
    ends(drawing("guard,", "STREAMS"), streams.GUARD_OCTETS)
    ends(drawing("head,", "STREAMS"), streams.HEAD_OCTETS)
    ends(drawing("point,", "STREAMS"), streams.POINT_OCTETS)


def test_values_of_streams_stand_where_they_are_drawn():
    header, drawn = streams.Header(1, 2, 3, 4, 5, 6).encode(), drawing("stream header,", "STREAMS")
    words = ("log id", "id of", "first", "seq", "its chunk's", "flags")
    assert [read(header, drawn, each) for each in words] == [1, 2, 3, 4, 5, 6]
    seed = streams.chunk_seed(1, 2)
    bloom = b"\1" * 20
    front, data = streams.encode_chunk(streams.Chunk(run_of([b"a", b"bc"], 7), 8, 9, bloom), seed, begins=True)
    drawn = drawing("guard,", "STREAMS")
    words = ("octets of the data", "octets of the bloom", "kind", "flags", "seq")
    assert [read(front, drawn, each) for each in words] == [len(data), 20, 1, 1, 8]
    assert read(front, drawn, "check") == (len(data) ^ seed) & 0xFFFF
    assert read(front, drawn, "crc") == extend(seed, front[4:])
    assert front[streams.GUARD_OCTETS :][:20] == bloom
    head = front[streams.GUARD_OCTETS + 20 :]
    drawn = drawing("head,", "STREAMS")
    words = ("80", "entries", "messages", "wall", "epoch", "first", "CRC", "octets")
    found = [read(head, drawn, each, "big") for each in words]
    assert found == [80, 2, 2, 9, 1, 7, crc32(data), len(data)]
    point, drawn = streams.Point(1, 2, 3, 4).encode(5), drawing("point,", "STREAMS")
    assert [read(point, drawn, each) for each in ("offset", "wall", "position", "flags")] == [1, 2, 3, 4]
    assert read(point, drawn, "crc") == extend(5, point[:28])
    payload = publish_record.publish(0, run_of([b"a", b"bc"], 7), range(2), 9, 0)[fmt.RECORD_OCTETS :]
    assert bytes(data) == payload
