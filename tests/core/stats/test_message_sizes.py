import pytest

from pybroker.core.routing.publish import Contents
from pybroker.core.stats.message_sizes import MessageSizes
from pybroker.run import PLAIN_ATTRIBUTES


def contents(*sizes: int) -> Contents:
    """Return a batch with bodies of these sizes, headers only: nothing else is looked at."""
    found = [bytes(11) + size.to_bytes(8) for size in sizes]
    return Contents(PLAIN_ATTRIBUTES, found, 0, sum(sizes), sizes[0] if len(set(sizes)) == 1 else -1)


@pytest.mark.parametrize(("size", "place"), [(0, 0), (100, 0), (101, 1), (50_000_001, 7), (10**9, 8)])
def test_a_bound_belongs_to_the_range_below(size, place):
    sizes = MessageSizes()
    sizes.count(contents(size), 1)
    assert 1 == sizes.counts[place] == sum(sizes.counts)


def test_a_batch_counts_as_many_as_were_taken_equal_or_not():
    sizes = MessageSizes()
    sizes.count(contents(5, 5, 5), 2)
    sizes.count(contents(5, 500, 50_000), 2)
    assert [3, 1] == sizes.counts[:2]
    assert 4 == sum(sizes.counts)


def test_of_many_that_differ_some_stand_for_their_neighbours():
    sizes = MessageSizes()
    sizes.count(contents(*([5] * 500 + [500] * 501)), 1_001)
    assert 1_001 == sum(sizes.counts[:2])
    assert abs(sizes.counts[0] - 500) < 100


def test_messages_of_the_size_before_are_in_its_range_whenever_one_looks():
    sizes = MessageSizes()
    sizes.count(contents(200), 1)
    sizes.of_size += 2
    assert (3, [0, 3]) == (sizes.messages, sizes.counts[:2])
    sizes.of_size += 1
    sizes.count(contents(5), 1)
    sizes.count(contents(5, 2_000), 2)
    assert (7, [2, 4, 1]) == (sizes.messages, sizes.counts[:3])


def test_octets_are_exact_whatever_was_looked_at():
    sizes = MessageSizes()
    sizes.count(contents(200), 1)
    sizes.of_size += 2
    assert 600 == sizes.octets
    sizes.count(contents(*range(1_000)), 1_000)
    assert 600 + 499_500 == sizes.octets
    sizes.count(contents(1, 20, 300), 2)
    sizes.count(contents(7, 7), 2)
    assert 600 + 499_500 + 21 + 14 == sizes.octets
    assert sizes.counts
    assert 600 + 499_500 + 21 + 14 == sizes.octets
