"""The cache of what was converted: what goes first, and that nothing is counted twice."""

from pybroker.core.stream.conversion.cache import CACHE_OCTETS_MAX, VALUE_OCTETS, Cache

QUARTER = CACHE_OCTETS_MAX // 4 - VALUE_OCTETS


def key(offset):
    return "contents", 1, offset


def test_what_was_used_least_recently_goes():
    cache = Cache()
    for offset in range(4):
        cache.put(key(offset), offset, QUARTER)
    assert cache.get(key(0)) == 0
    cache.put(key(4), 4, 1)
    assert [cache.get(key(offset)) for offset in range(5)] == [0, None, 2, 3, 4]
    assert cache.octets == 3 * (QUARTER + VALUE_OCTETS) + VALUE_OCTETS + 1


def test_a_value_in_the_place_of_another_counts_alone():
    cache = Cache()
    cache.put(key(1), "a", 5)
    cache.put(key(1), "b", 7)
    assert (len(cache), cache.octets, cache.get(key(1))) == (1, VALUE_OCTETS + 7, "b")


def test_a_value_that_is_too_large_is_not_kept():
    cache = Cache()
    cache.put(key(1), "a", CACHE_OCTETS_MAX)
    assert (len(cache), cache.octets) == (0, 0)


def test_a_deleted_stream_is_forgotten():
    cache = Cache()
    for kind, stream_id in (("a", 1), ("a", 2), ("b", 1)):
        cache.put((kind, stream_id, 0), kind, 5)
    cache.forget(1)
    cache.forget(1)
    assert (len(cache), cache.octets, cache.get(("a", 2, 0))) == (1, VALUE_OCTETS + 5, "a")
