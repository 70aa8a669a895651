import pytest
from hypothesis import given, strategies as st

from pybroker.core.exchange.trie import Trie, fits

WORDS = st.lists(st.sampled_from(["a", "b", "*", ""]), max_size=5).map(tuple)
KEYS = st.lists(st.sampled_from(["a", "b", "", "c"]), max_size=6).map(tuple)


@given(st.lists(st.tuples(st.booleans(), WORDS), max_size=30), KEYS)
def test_it_keeps_what_a_dict_keeps_and_walks_as_a_list_of_all(changes, words):
    trie: Trie[str] = Trie()
    kept: dict[tuple[str, ...], str] = {}
    for putting, pattern in changes:
        if putting and pattern not in kept:
            kept[pattern] = ".".join(pattern)
            trie.put(pattern, kept[pattern])
        elif not putting and pattern in kept:
            del kept[pattern]
            trie.drop(pattern)
        for known in {pattern for _, pattern in changes}:
            assert trie.get(known) == kept.get(known)
    expected = [(len(p), end) for p, end in kept.items() if fits(p, words[: len(p)])]
    assert sorted(trie.walk(words)) == sorted(expected)
    assert bool(trie) == bool(kept)


@given(st.lists(WORDS, unique=True, max_size=20))
def test_nothing_is_left_when_all_is_dropped(patterns):
    trie: Trie[int] = Trie()
    for at, pattern in enumerate(patterns):
        trie.put(pattern, at)
    for pattern in patterns:
        trie.drop(pattern)
    root = trie._root
    assert (root.words or {}, root.one, root.rest, root.end) == ({}, None, (), None)


@pytest.mark.parametrize(
    ("pattern", "words", "expected"),
    [((), (), True), (("a",), (), False), (("*", "b"), ("a", "b"), True), (("a", "b"), ("a", "c"), False)],
)
def test_a_pattern_fits_all_of_the_words(pattern, words, expected):
    assert fits(pattern, words) == expected
