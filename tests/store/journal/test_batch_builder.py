"""Records gathered into one batch: messages in order, settles joined, and never more octets than were announced."""

import random
from array import array
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from pybroker.entries_run import EntriesRun
from pybroker.run import RunAttributes
from pybroker.store import format as fmt, publish_record
from pybroker.store.journal.batch_builder import BatchBuilder
from pybroker.store.segments.live_index import INDEX_EVERY_OCTETS, NAME_EVERY_OCTETS, LiveIndex, Segment, Target
from pybroker.store.segments.scan import Record, scan
from tests.entries import batch
from tests.store.records import PERSISTENT, SEED, content, listed, run_of


@pytest.fixture
def live_index():
    made = LiveIndex()
    made.add(Segment(1, SEED, 1, 1 << 20, fmt.HEADER_OCTETS))
    return made


def encode(builder, live_index, commit_position=7, steady_ms=1_000):
    """Return the batch's records, its head apart; the segment grows by them."""
    segment = live_index.segments[-1]
    segment.newest_ms = 5
    octets = builder.encode(commit_position, segment, live_index, steady_ms)
    found = list(scan(octets, 0, SEED))
    assert all(isinstance(each, Record) for each in found)
    head = fmt.decode_batch(found[0].payload)
    assert head == (commit_position, 5, len(found) - 1, len(octets) - fmt.BATCH_RECORD_OCTETS)
    assert len(octets) <= builder.room + fmt.BATCH_RECORD_OCTETS
    segment.used += len(octets)
    return found[1:]


def extend(run, bodies):
    contents = [content(body) for body in bodies]
    run.extend(contents, sum(map(len, contents)), sum(map(len, bodies)), -1)


def test_nothing_is_nothing():
    assert not BatchBuilder()
    made = BatchBuilder()
    made.settle_seqs(1, 5, 5)
    assert made


def test_messages_say_which_queues_they_reached_once_a_segment(live_index):
    made = BatchBuilder()
    made.append(run_of([b"a", b"b"], 1), range(2), (1, 2))
    made.append(run_of([b"c"], 3), range(1), (1, 2))
    made.append(run_of([b"d"], 4), range(1), (1,))
    made.append(run_of([b"e"], 5, attributes=RunAttributes(persistent=True, priority=3, ttl_ms=9)), range(1), (1,))
    records = encode(made, live_index)
    assert [each.type for each in records] == [2, 3, 3, 2, 3, 2, 3]
    said = [fmt.decode_targets(each.payload) for each in records if each.type == fmt.TARGETS]
    assert said == [(1, 0, False, (1, 2)), (2, 0, False, (1,)), (3, 3, True, (1,))]
    sets = [publish_record.messages_of(each.payload)[0] for each in records if each.type == fmt.PUBLISH]
    assert sets == [1, 1, 2, 3]
    assert live_index.segments[0].live == 2 * 3 + 2


def test_they_say_it_again_now_and_then_under_the_same_number(live_index):
    segment = live_index.segments[0]
    named = []
    for seq in range(1, 3_000):
        made = BatchBuilder()
        made.append(run_of([b"x" * 2_000], seq), range(1), (1, 2) if seq % 50 else (2,))
        records = encode(made, live_index, seq)
        said = [fmt.decode_targets(each.payload) for each in records if each.type == fmt.TARGETS]
        assert {(each.set_id, each.queue_ids) for each in said} <= {(1, (1, 2)), (2, (2,))}
        if said and said[0].set_id == 1:
            named.append(segment.used)
    assert len(named) < 20
    assert named[1] < 2 * named[0]
    assert all(high - low <= min(low, NAME_EVERY_OCTETS) + 5_000 for low, high in pairwise(named))
    assert segment.used - named[-1] <= NAME_EVERY_OCTETS + 5_000


def test_messages_keep_their_time_in_steady_wall_time(live_index):
    made = BatchBuilder()
    made.append(run_of([b"a"], 1, arrived_ms=77), range(1), (1,))
    assert publish_record.decode_publish(encode(made, live_index)[1].payload).arrived_ms == 1_077


def test_a_run_that_grows_is_one_record_a_batch(live_index):
    run = run_of([b"a"], 1)
    made = BatchBuilder()
    octets = made.append(run, range(1), (1,))
    extend(run, [b"bb", b"ccc"])
    octets += made.append(run, range(1, 3), (1,))
    assert octets == made.octets == run.octets
    records = encode(made, live_index)
    assert [publish_record.range_of(each.payload) for each in records[1:]] == [(1, 3)]
    more = made.following()
    extend(run, [b"dddd"])
    assert more.append(run, range(3, 4), (1,)) == len(content(b"dddd"))
    assert [publish_record.range_of(each.payload) for each in encode(more, live_index, 8)[1:]] == [(4, 1)]


def test_parts_of_a_run_count_as_what_they_are():
    run = run_of([b"a" * 10, b"b" * 100, b"c" * 1_000], 1)
    sizes = [len(each) for each in run.contents_at(range(3))]
    made = BatchBuilder()
    assert [made.append(run, range(i, i + 1), (i + 1,)) for i in range(3)] == sizes
    assert made.octets == sum(sizes)
    made = BatchBuilder()
    assert made.append(run, range(1, 3), (1,)) == sum(sizes[1:])
    made = BatchBuilder()
    assert made.append(run, range(2), (1,)) == sum(sizes[:2])
    extend(run, [b"d" * 10_000])
    assert made.append(run, range(2, 4), (1,)) == sizes[2] + len(content(b"d" * 10_000))


def test_settles_are_joined_and_counted(live_index):
    first = BatchBuilder()
    run = run_of([b"x"] * 20, 1)
    first.append(run, range(20), (1, 2))
    encode(first, live_index)
    made = first.following()
    made.settle(1, run, range(3))
    made.settle(1, run, range(3, 5))
    made.settle(1, run, range(10, 16, 2))
    made.settle(1, run, range(6, 7))
    made.settle_seqs(2, 1, 20)
    (record,) = encode(made, live_index, 8)
    assert fmt.decode_settle(record.payload) == [
        (1, 0, array("Q", [1, 5, 7, 7, 11, 11, 13, 13, 15, 15])),
        (2, 0, array("Q", [1, 20])),
    ]
    assert live_index.segments[0].pairs == {1: 20 - 9, 2: 0}


def test_what_came_back_is_no_settle(live_index):
    run = run_of([b"x"] * 9, 1)
    made = BatchBuilder()
    made.append(run, range(9), (1,))
    made.give_back(1, run, range(2, 4), 2, 0)
    made.give_back(1, run, range(4, 9, 2), 1, 0)
    records = encode(made, live_index)
    assert sorted(fmt.decode_settle(records[-1].payload)) == [
        (1, 1, array("Q", [5, 5, 7, 7, 9, 9])),
        (1, 2, array("Q", [3, 4])),
    ]
    assert live_index.segments[0].live == 9
    assert listed(live_index.returned.tidy({}, 0)) == [(1, 3, 4, 2), (1, 5, 5, 1), (1, 7, 7, 1), (1, 9, 9, 1)]


def test_the_index_leads_to_a_record_every_few_octets(live_index):
    made = BatchBuilder()
    for seq in range(1, 201):
        made.append(run_of([b"x" * 100], seq), range(1), (1,))
    segment = live_index.segments[0]
    segment.used = 5_000
    segment.newest_ms = 5
    octets = made.encode(1, segment, live_index, 0)
    at = {
        publish_record.range_of(e.payload)[0]: 5_000 + e.offset for e in scan(octets, 0, SEED) if e.type == fmt.PUBLISH
    }
    index = segment.index
    assert [at[seq] for seq in index.seqs] == list(index.offsets)
    gaps = [high - low for low, high in zip(index.offsets, index.offsets[1:], strict=False)]
    assert all(INDEX_EVERY_OCTETS <= gap < INDEX_EVERY_OCTETS + 200 for gap in gaps)


@given(st.integers(0, 1 << 32))
def test_what_it_becomes_fits_in_the_room_it_asks_for(seed):
    rng = random.Random(seed)
    live_index = LiveIndex()
    live_index.add(Segment(1, SEED, 1, 1 << 20, fmt.HEADER_OCTETS))
    made, seq, run = BatchBuilder(), 1, None
    for commit_position in range(1, 4):
        for _ in range(rng.randint(0, 8)):
            bodies = [rng.randbytes(rng.choice((0, 5, 300))) for _ in range(rng.randint(1, 4))]
            ids = rng.choice(((1,), (2,), (1, 2), tuple(range(1, 30))))
            if run is not None and rng.random() < 0.5:
                start = run.count
                extend(run, bodies)
            else:
                names = rng.choice((("", "q"), ("x" * 255, "k" * 255)))
                run = run_of(bodies, seq, names, rng.choice((PERSISTENT, RunAttributes(persistent=True, priority=2))))
                start = 0
            made.append(run, range(start, run.count), ids)
            seq += len(bodies)
            if rng.random() < 0.5:
                made.settle(rng.choice(ids), run, range(start, run.count, rng.choice((1, 2))))
        encode(made, live_index, commit_position)
        made = made.following()
    told = {Target(0, False, (1,)), *live_index.segments[0].targets}
    assert all(isinstance(target, Target) for target in told)


def test_entries_need_room_for_their_octets_alone():
    builder = BatchBuilder()
    octets = len(batch(b"a"))
    builder.append(EntriesRun(1, [batch(b"a")], 1, 65_535, octets, 0), range(65_535), (1,))
    assert octets < builder.room < 2_000
