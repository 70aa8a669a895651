"""The index of scheduled messages counts the octets of their bodies, however large a body claims to be."""

from pybroker.core.delayed.index import DUE_MAX, SIZE_MAX, DelayedIndex, Item


def test_octets_are_counted_and_columns_hold_what_they_can():
    delayed_index = DelayedIndex()
    delayed_index.add(5, 1, 10)
    delayed_index.add(DUE_MAX + 1, 2, SIZE_MAX + 1)
    assert [Item(5, 1, 10), Item(DUE_MAX, 2, SIZE_MAX)] == list(delayed_index)
    assert 10 + SIZE_MAX == delayed_index.octets
    delayed_index.drop(1)
    assert SIZE_MAX == delayed_index.octets
