"""The octets of a segment: what is written is read, what is changed is noticed."""

import random
from array import array

import pytest
from hypothesis import given, strategies as st

from pybroker.core.routing.publish import names_of
from pybroker.entries_run import EntriesRun
from pybroker.run import Run, RunAttributes
from pybroker.store import format as fmt
from pybroker.store.segments.scan import Record, scan
from tests.entries import batch, entries_run
from tests.store.records import PERSISTENT, SEED, content, one_of_each, publish, run_of

U64 = st.integers(0, (1 << 64) - 1)
U32 = st.integers(0, (1 << 32) - 1)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def payload_of(octets, kind, seed=SEED):
    (found,) = scan(octets, 0, seed)
    assert isinstance(found, Record)
    assert (found.offset, found.type) == (0, kind)
    return found.payload


# -- headers -----------------------------------------------------------------------------------------------------------


@given(U32, U64, U64, U64)
def test_a_header_is_read_as_it_was_written(log_id, number, size, created_ms):
    header = fmt.SegmentHeader(log_id, number, size, created_ms)
    assert len(header.encode()) == fmt.HEADER_OCTETS
    assert fmt.SegmentHeader.decode(header.encode() + b"more") == header


def test_every_flipped_bit_of_a_header_is_found():
    octets = fmt.segment_header(7, 0, 4096, 5)
    for bit in range(8 * len(octets)):
        flipped = bytearray(octets)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(fmt.FormatError) as raised:
            fmt.SegmentHeader.decode(bytes(flipped))
        assert raised.type is fmt.FormatError  # not a newer version


def test_a_newer_version_is_refused_by_a_sentence_that_names_both(monkeypatch):
    monkeypatch.setattr(fmt, "VERSION", 2)
    octets = fmt.segment_header(7, 0, 4096)
    monkeypatch.undo()
    with pytest.raises(fmt.VersionError) as raised:
        fmt.SegmentHeader.decode(octets)
    assert str(raised.value) == "the log has version 2, this program supports up to 1: start a newer one"


@pytest.mark.parametrize("octets", [b"", b"pybroker", bytes(64), b"x" * 64])
def test_what_is_no_segment_is_refused(octets):
    with pytest.raises(fmt.FormatError):
        fmt.SegmentHeader.decode(octets)


@given(U64)
def test_a_trailer_is_read_as_it_was_written(offset):
    assert len(fmt.trailer(offset)) == fmt.TRAILER_OCTETS
    assert fmt.decode_trailer(fmt.trailer(offset)) == offset


def test_every_flipped_bit_of_a_trailer_is_found():
    for bit in range(8 * fmt.TRAILER_OCTETS):
        octets = bytearray(fmt.trailer(4711))
        octets[bit // 8] ^= 1 << bit % 8
        assert fmt.decode_trailer(bytes(octets)) is None
    assert fmt.decode_trailer(b"short") is None


@given(U64)
def test_a_segments_name_tells_its_number(number):
    assert fmt.segment_number(fmt.segment_name(number)) == number


@pytest.mark.parametrize(
    "name", ["seg.", "seg.1", "seg.000000000000000g", "ckpt.0000000000000001", "seg.+00000000000001f"]
)
def test_other_names_are_no_segments(name):
    assert fmt.segment_number(name) is None


# -- records -----------------------------------------------------------------------------------------------------------


@given(U64, U64, U32, U32, U32)
def test_a_batch_is_read_as_it_was_written(commit_position, wall_ms, records, octets, seed):
    made = fmt.batch_header(commit_position, wall_ms, records, octets, seed)
    assert len(made) == fmt.BATCH_RECORD_OCTETS
    assert fmt.decode_batch(payload_of(made, fmt.BATCH, seed)) == (commit_position, wall_ms, records, octets)


@given(U32, st.integers(0, 255), st.booleans(), st.lists(U64).map(tuple))
def test_targets_are_read_as_they_were_written(set_id, priority, timed, queue_ids):
    payload = payload_of(fmt.targets(set_id, priority, timed, queue_ids, SEED), fmt.TARGETS)
    assert fmt.decode_targets(payload) == (set_id, priority, timed, queue_ids)


@given(st.lists(st.tuples(U64, U32, st.lists(st.tuples(U64, U64), max_size=5))))
def test_settles_are_read_as_they_were_written(groups):
    flat = [(queue_id, times, array("Q", [seq for pair in pairs for seq in pair])) for queue_id, times, pairs in groups]
    assert fmt.decode_settle(payload_of(fmt.settle(flat, SEED), fmt.SETTLE)) == flat


@given(U64)
def test_proven_is_read_as_it_was_written(commit_position):
    made = fmt.proven(commit_position, SEED)
    assert len(made) == fmt.PROVEN_RECORD_OCTETS
    assert fmt.decode_proven(payload_of(made, fmt.PROVEN)) == commit_position


ATTRIBUTES = st.builds(
    RunAttributes,
    persistent=st.booleans(),
    priority=st.integers(0, 255),
    ttl_ms=st.none() | st.integers(0, (1 << 32) - 1),
    wants=st.integers(0, 63),
)
BODIES = st.lists(st.binary(max_size=50), min_size=1, max_size=20) | st.builds(
    lambda body, count: [body] * count, st.binary(max_size=50), st.integers(1, 20)
)


@given(
    BODIES,
    st.integers(1, 1 << 62),
    st.tuples(NAMES, NAMES),
    ATTRIBUTES,
    st.integers(0, 1 << 50),
    st.integers(0, 65_535),
    U32,
    U32,
    st.data(),
)
def test_a_publish_is_read_as_it_was_written(bodies, first, names, attributes, arrived_ms, channel, most, set_id, data):
    run = run_of(bodies, first, names, attributes, 1, channel, most)
    start = data.draw(st.integers(0, len(bodies) - 1))
    indexes = range(start, data.draw(st.integers(start + 1, len(bodies))))
    if data.draw(st.booleans()):
        run.pack()
    payload = payload_of(fmt.publish(set_id, run, indexes, arrived_ms, SEED), fmt.PUBLISH)
    made = fmt.decode_publish(payload)
    wanted = bodies[indexes.start : indexes.stop]
    assert made.contents_at(range(made.count)) == [content(body, channel) for body in wanted]
    assert (made.names, made.names.tail, made.attributes) == (names_of(*names), names_of(*names).tail, attributes)
    assert (made.first_seq, made.arrived_ms, made.channel) == (first + start, arrived_ms, channel)
    assert (made.frame_octets_max, made.origin, made.count) == (most, 0, len(wanted))
    assert (made.octets, made.body_octets) == (sum(map(len, run.contents_at(indexes))), sum(map(len, wanted)))
    assert made.body_size in (-1, len(wanted[0]))
    for index, body in enumerate(wanted):
        assert made.body_octets_of(range(index, index + 1)) == len(body)
    assert fmt.publish_range(payload) == (first + start, len(wanted))
    told, messages = fmt.publish_messages(payload)
    assert told == set_id
    flat = [(seq, size) for seq, count, size in messages for seq in range(seq, seq + count)]
    assert flat == list(enumerate(map(len, wanted), first + start))


def test_equal_messages_are_one_element():
    payload = payload_of(publish(run_of([b"12345"] * 100, 7)), fmt.PUBLISH)
    assert fmt.publish_messages(payload) == (1, [(7, 100, 5)])


def test_contents_of_equal_length_may_have_bodies_of_different_length():
    # headers of different length make up for it
    contents = [content(b"xx"), content(b"x", properties=b"\x10\x00\x02\x00")]
    run = Run(names_of("", "q"), PERSISTENT, 5, contents, sum(map(len, contents)), 3, -1, 0)
    payload = payload_of(publish(run), fmt.PUBLISH)
    assert fmt.publish_messages(payload) == (1, [(5, 1, 2), (6, 1, 1)])
    assert fmt.decode_publish(payload).contents_at(range(2)) == contents


def test_a_run_read_back_is_packed_and_small_things_are_shared():
    one, two = (fmt.decode_publish(payload_of(publish(run_of([b"a", b"b"], 5)), fmt.PUBLISH)) for _ in range(2))
    assert one.contents is None
    assert one.names is two.names
    assert one.attributes is two.attributes


def test_every_flipped_bit_of_a_record_is_found():
    for octets in one_of_each():
        for bit in range(8 * len(octets)):
            flipped = bytearray(octets)
            flipped[bit // 8] ^= 1 << bit % 8
            assert not [found for found in scan(bytes(flipped), 0, SEED) if isinstance(found, Record)]


def test_a_record_of_another_segment_or_log_is_none():
    seeds = {fmt.seed(log_id, number) for log_id in range(20) for number in range(50)}
    assert len(seeds) == 1_000
    for octets in one_of_each(fmt.seed(1, 1)):
        assert not [found for found in scan(octets, 0, fmt.seed(0, 1)) if isinstance(found, Record)]
        assert not [found for found in scan(octets, 0, fmt.seed(1, 2)) if isinstance(found, Record)]


def test_a_record_that_is_torn_anywhere_is_none():
    rng = random.Random(1)
    for octets in one_of_each():
        for end in range(len(octets)):
            for rest in (b"", bytes(100), rng.randbytes(100)):
                torn = octets[:end] + rest
                found = [each for each in scan(torn, 0, SEED) if isinstance(each, Record) and each.offset == 0]
                # The lost octets may have been zeros: then nothing was lost.
                assert not found or torn.startswith(octets)


def test_entries_have_these_octets():
    record = fmt.publish(3, entries_run(300, b"one", b"three", arrived_ms=1_700_000_000_000), range(2), 7, SEED)
    assert record.hex() == (
        "01a96932420000000300dd9f03000000020000002c010000000000000700000000000000ffffffffffffffff0000000002000000"
        "04000000000000400000000000036f6e65000000057468726565"
    )


def test_entries_are_read_as_they_were_written():
    run = entries_run(300, b"one", b"three")
    run.join(EntriesRun(302, [batch(b"x", b"yy")], 1, 2, len(batch(b"x", b"yy")), 0))
    payload = fmt.publish(3, run, range(4), 7, SEED)[fmt.RECORD_OCTETS :]
    assert fmt.has_entries(payload)
    found = fmt.decode_publish(payload)
    assert isinstance(found, EntriesRun)
    assert (found.first_seq, found.count, found.entries, found.data, found.arrived_ms) == (300, 4, 3, run.data, 7)
    assert (found.octets, found.body_octets, found.body_size) == (run.octets, run.body_octets, run.body_size)
    assert fmt.publish_range(payload) == (300, 4)
    assert fmt.publish_messages(payload) == (3, [(300, 4, run.body_size)])


def test_contents_are_no_entries():
    payload = fmt.publish(3, run_of([b"a"]), range(1), 7, SEED)[fmt.RECORD_OCTETS :]
    assert not fmt.has_entries(payload)
