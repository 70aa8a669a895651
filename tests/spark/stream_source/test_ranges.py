"""Limits and splits: nothing is lost, and nothing twice."""

from hypothesis import given, strategies as st

from pybroker.spark.stream_source.ranges import Range, share, split

COUNTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 10_000), min_size=1)


@given(COUNTS, st.integers(1, 20_000))
def test_a_limit_is_shared_in_proportion(behind, most):
    taken = share(behind, most)
    assert taken.keys() == behind.keys()
    assert sum(taken.values()) <= most
    waiting = sum(count > 0 for count in behind.values())
    for stream, count in behind.items():
        assert (taken[stream] > 0) == (count > 0) or waiting > most
        assert taken[stream] <= count
    if sum(behind.values()) <= most:
        assert taken == behind


@given(st.sets(st.sampled_from("abcdefg"), min_size=2), st.integers(1, 6))
def test_none_waits_for_ever(streams, most):
    behind = dict.fromkeys(sorted(streams), 1_000)
    taken = [share(behind, most, turn) for turn in range(len(streams))]
    assert all(any(each[stream] for each in taken) for stream in streams)
    assert all(sum(each.values()) <= most for each in taken)


@given(st.lists(st.tuples(st.integers(0, 1_000), st.integers(0, 1_000)), max_size=5), st.integers(1, 50))
def test_ranges_are_cut_without_a_gap(given, least):
    ranges = [Range(f"s{number}", 1, number, start, start + count) for number, (start, count) in enumerate(given)]
    found = split(ranges, least)
    for each in ranges:
        mine = [part for part in found if part.stream == each.stream]
        assert [offset for part in mine for offset in range(part.start, part.stop)] == list(
            range(each.start, each.stop)
        )
    assert all(part.stop > part.start for part in found)


def test_the_largest_is_cut_most():
    parts = split([Range("a", 1, 0, 0, 300), Range("b", 1, 1, 0, 100)], 4)
    assert [(part.stream, part.start, part.stop) for part in parts] == [
        ("a", 0, 100),
        ("a", 100, 200),
        ("a", 200, 300),
        ("b", 0, 100),
    ]
