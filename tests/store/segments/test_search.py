"""Messages read back one by one become runs again, and none is reported that was not asked for."""

import random

import pytest

from pybroker.run import RUN_MESSAGES_MAX, RUN_OCTETS_MAX, Run, RunAttributes
from pybroker.seq_ranges import SeqRanges
from pybroker.store.segments.scan import Damaged, Record, scan
from pybroker.store.segments.search import Search
from tests.entries import bodies_of, entries_run
from tests.store.records import SEED, content, publish, run_of


def seq_ranges(*ranges):
    made = SeqRanges()
    for first, last in ranges:
        made.add(first, last - first + 1, 0)
    return made


def search(records, *ranges):
    """Look for seq ranges in records (octets), and return what is found."""
    looking = Search(seq_ranges(*ranges), lambda damage: None)
    looking.go_through(scan(b"".join(records), 0, SEED))
    return looking.found()


def told(found):
    return [(run.first_seq, run.count, indexes) for run, indexes in found]


def bodies(found):
    return [run.content(i) for run, indexes in found for i in indexes]


def singles(count, first=1, **kind):
    return [publish(run_of([b"%d" % seq], seq, **kind)) for seq in range(first, first + count)]


def test_neighbours_become_one_run():
    found = search(singles(10), (1, 10))
    assert told(found) == [(1, 10, range(10))]
    assert bodies(found) == [content(b"%d" % seq) for seq in range(1, 11)]
    run = found[0][0]
    assert (run.contents is None, run.body_octets, run.body_size) == (True, 11, -1)
    assert run.octets == sum(map(len, bodies(found)))


def test_neighbours_of_equal_size_know_it():
    records = [publish(run_of([b"ab"] * count, seq)) for seq, count in ((1, 1), (2, 3), (5, 2))]
    ((run, indexes),) = search(records, (1, 6))
    assert (indexes, run.body_size, run.body_octets) == (range(6), 2, 12)
    assert run.contents_at(range(6)) == [content(b"ab")] * 6


def test_records_of_all_shapes_are_joined():
    shapes = [[b"a"], [b"bb", b"c"], [b"dd", b"ee"], [b"", b"f", b"ggg"], [b"h"]]
    records, seq = [], 1
    for shape in shapes:
        records.append(publish(run_of(shape, seq)))
        seq += len(shape)
    ((run, indexes),) = search(records, (1, seq - 1))
    flat = [body for shape in shapes for body in shape]
    assert run.contents_at(indexes) == [content(body) for body in flat]
    assert [run.body_octets_of(range(i, i + 1)) for i in indexes] == list(map(len, flat))
    assert run.body_octets == sum(map(len, flat))


@pytest.mark.parametrize(
    "other",
    [
        {"names": ("x", "q")},
        {"names": ("", "p")},
        {"attributes": RunAttributes(persistent=True, priority=1)},
        {"attributes": RunAttributes(persistent=True, ttl_ms=5)},
        {"attributes": RunAttributes(persistent=True, wants=2)},
        {"arrived_ms": 5},
        {"channel": 2},
        {"frame_octets_max": 4_096},
    ],
)
def test_what_differs_is_not_joined(other):
    found = search([*singles(2), *singles(2, 3, **other), *singles(1, 5)], (1, 5))
    assert told(found) == [(1, 2, range(2)), (3, 2, range(2)), (5, 1, range(1))]


def test_a_gap_is_not_joined_over():
    found = search([*singles(2), *singles(2, 4)], (1, 10))
    assert told(found) == [(1, 2, range(2)), (4, 2, range(2))]


def test_a_joined_run_is_no_larger_than_others():
    found = search(singles(RUN_MESSAGES_MAX + 5), (1, RUN_MESSAGES_MAX + 5))
    assert [len(indexes) for _, indexes in found] == [RUN_MESSAGES_MAX, 5]
    size = RUN_OCTETS_MAX // 3
    found = search([publish(run_of([b"x" * size], seq)) for seq in range(1, 6)], (1, 5))
    assert [len(indexes) for _, indexes in found] == [2, 2, 1]
    found = search([publish(run_of([b"x" * 2 * RUN_OCTETS_MAX], 1)), *singles(1, 2)], (1, 2))
    assert [len(indexes) for _, indexes in found] == [1, 1]


def test_what_is_not_wanted_is_passed_over():
    found = search(singles(10), (2, 3), (5, 5), (7, 20))
    assert told(found) == [(2, 2, range(2)), (5, 1, range(1)), (7, 4, range(4))]
    run = publish(run_of([b"%d" % i for i in range(10)], 1))
    assert told(search([run], (1, 2), (4, 4), (9, 30))) == [
        (1, 10, range(2)),
        (1, 10, range(3, 4)),
        (1, 10, range(8, 10)),
    ]


def test_nothing_is_looked_at_when_all_is_found():
    def records():
        yield from scan(b"".join(singles(3)), 0, SEED)
        pytest.fail("nothing is missing any more")

    looking = Search(seq_ranges((2, 3)), lambda damage: None)
    looking.go_through(records())
    assert (looking.missing, told(looking.found())) == (0, [(2, 2, range(2))])


def test_a_second_look_finds_nothing_twice():
    records = [Record(offset, 3, octets[12:]) for offset, octets in enumerate(singles(5))]
    damages = []
    looking = Search(seq_ranges((1, 9)), damages.append)
    for _ in range(2):
        looking.go_through([Damaged(99, 5, 0), *records])
    assert (looking.missing, damages) == (4, [Damaged(99, 5, 0)])
    assert told(looking.found()) == [(1, 5, range(5))]


def test_records_that_are_out_of_order_are_found_in_order():
    rng = random.Random(1)
    for _ in range(50):
        records, seq = [], 1
        for _ in range(20):
            count = rng.randint(1, 4)
            records.append(publish(run_of([b"%d" % (seq + i) for i in range(count)], seq)))
            seq += count
        rng.shuffle(records)
        wanted = sorted(rng.sample(range(1, seq), 15))
        found = search(records, *[(each, each) for each in wanted])
        assert bodies(found) == [content(b"%d" % each) for each in wanted]
        assert all(isinstance(run, Run) for run, _ in found)


def test_entries_come_whole_with_those_that_are_wanted():
    records = [publish(entries_run(1, b"a", b"b", b"c")), publish(entries_run(4, b"d")), *singles(1, 5)]
    found = search(records, (2, 3), (4, 5))
    assert told(found) == [(1, 3, range(1, 3)), (4, 1, range(1)), (5, 1, range(1))]
    assert [bodies_of(run) for run, _ in found[:2]] == [[b"a", b"b", b"c"], [b"d"]]
