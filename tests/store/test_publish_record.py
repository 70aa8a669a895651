"""A PUBLISH: what is written is read, contents and entries alike."""

import pytest
from hypothesis import given, strategies as st

from pybroker.core.routing.publish import names_of
from pybroker.entries_run import EntriesRun
from pybroker.run import Run, RunAttributes
from pybroker.store import format as fmt, publish_record
from tests.entries import batch, entries_run
from tests.store.records import PERSISTENT, SEED, content, payload_of, publish, run_of

U32 = st.integers(0, (1 << 32) - 1)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
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
    payload = payload_of(publish_record.publish(set_id, run, indexes, arrived_ms, SEED), fmt.PUBLISH)
    made = publish_record.decode_publish(payload)
    wanted = bodies[indexes.start : indexes.stop]
    assert made.contents_at(range(made.count)) == [content(body, channel) for body in wanted]
    assert (made.names, made.names.tail, made.attributes) == (names_of(*names), names_of(*names).tail, attributes)
    assert (made.first_seq, made.arrived_ms, made.channel) == (first + start, arrived_ms, channel)
    assert (made.frame_octets_max, made.origin, made.count) == (most, 0, len(wanted))
    assert (made.octets, made.body_octets) == (sum(map(len, run.contents_at(indexes))), sum(map(len, wanted)))
    assert made.body_size in (-1, len(wanted[0]))
    for index, body in enumerate(wanted):
        assert made.body_octets_of(range(index, index + 1)) == len(body)
    assert publish_record.range_of(payload) == (first + start, len(wanted))
    told, messages = publish_record.messages_of(payload)
    assert told == set_id
    flat = [(seq, size) for seq, count, size in messages for seq in range(seq, seq + count)]
    assert flat == list(enumerate(map(len, wanted), first + start))


def test_equal_messages_are_one_element():
    payload = payload_of(publish(run_of([b"12345"] * 100, 7)), fmt.PUBLISH)
    assert publish_record.messages_of(payload) == (1, [(7, 100, 5)])


def test_contents_of_equal_length_may_have_bodies_of_different_length():
    # headers of different length make up for it
    contents = [content(b"xx"), content(b"x", properties=b"\x10\x00\x02\x00")]
    run = Run(names_of("", "q"), PERSISTENT, 5, contents, sum(map(len, contents)), 3, -1, 0)
    payload = payload_of(publish(run), fmt.PUBLISH)
    assert publish_record.messages_of(payload) == (1, [(5, 1, 2), (6, 1, 1)])
    assert publish_record.decode_publish(payload).contents_at(range(2)) == contents


def test_a_run_read_back_is_packed_and_small_things_are_shared():
    one, two = (
        publish_record.decode_publish(payload_of(publish(run_of([b"a", b"b"], 5)), fmt.PUBLISH)) for _ in range(2)
    )
    assert one.contents is None
    assert one.names is two.names
    assert one.attributes is two.attributes


def test_entries_have_these_octets():
    record = publish_record.publish(
        3, entries_run(300, b"one", b"three", arrived_ms=1_700_000_000_000), range(2), 7, SEED
    )
    assert record.hex() == (
        "01a96932420000000300dd9f03000000020000002c010000000000000700000000000000ffffffffffffffff0000000002000000"
        "04000000000000400000000000036f6e65000000057468726565"
    )


def test_entries_are_read_as_they_were_written():
    run = entries_run(300, b"one", b"three")
    run.join(EntriesRun(302, [batch(b"x", b"yy")], 1, 2, len(batch(b"x", b"yy")), 0))
    payload = publish_record.publish(3, run, range(4), 7, SEED)[fmt.RECORD_OCTETS :]
    assert publish_record.has_entries(payload)
    found = publish_record.decode_publish(payload)
    assert isinstance(found, EntriesRun)
    assert (found.first_seq, found.count, found.entries, found.data, found.arrived_ms) == (300, 4, 3, run.data, 7)
    assert (found.octets, found.body_octets, found.body_size) == (run.octets, run.body_octets, run.body_size)
    assert publish_record.range_of(payload) == (300, 4)
    assert publish_record.messages_of(payload) == (3, [(300, 4, run.body_size)])


@pytest.mark.parametrize("bloom", [None, b"", bytes(range(16)), bytes(255)])
def test_the_bloom_of_entries_is_read_as_it_was_written(bloom):
    run = entries_run(300, b"one", b"three")
    run.bloom = bloom
    payload = publish_record.publish(3, run, range(2), 7, SEED)[fmt.RECORD_OCTETS :]
    found = publish_record.decode_publish(payload)
    assert (found.bloom, found.data, found.octets) == (bloom, run.data, run.octets)


def test_contents_are_no_entries():
    payload = publish_record.publish(3, run_of([b"a"]), range(1), 7, SEED)[fmt.RECORD_OCTETS :]
    assert not publish_record.has_entries(payload)
