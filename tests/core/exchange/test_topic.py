import re
import sys

import pytest
from hypothesis import example, given, strategies as st

from pybroker.core.exchange import topic
from pybroker.core.exchange.topic import Between, cut, split_words
from tests.searches import searched, share
from tests.topology import exchange, link, names, new_vhost, queue, reached, unlink

KEY_WORDS = ["a", "b", "", "*", "#"]
PATTERN = st.lists(st.sampled_from(["a", "b", "", "*", "#", "#"]), max_size=7).map(".".join)
KEY = st.lists(st.sampled_from(KEY_WORDS), max_size=7).map(".".join)


def naive_match(pattern: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Say it as the specification does, by trying everything."""
    if not pattern:
        return not words
    if pattern[0] == "#":
        return any(naive_match(pattern[1:], words[at:]) for at in range(len(words) + 1))
    return bool(words) and pattern[0] in ("*", words[0]) and naive_match(pattern[1:], words[1:])


@searched(150, 2_000)
@given(patterns=st.lists(PATTERN, max_size=12), removed=st.lists(st.integers(0, 11), max_size=12), key=KEY)
@example(patterns=["#.a.#.b.#", "#.b.#.a.#"], removed=[], key="a.b")
@example(patterns=["#.*.a.*.#", "*.#.*"], removed=[], key="b.a")
def test_the_index_finds_what_the_naive_matcher_finds(patterns, removed, key):
    vhost = new_vhost()
    exchange(vhost, "t", "topic")
    expected = {}
    for at, pattern in enumerate(patterns):
        queue(vhost, f"q{at}")
        link(vhost, "t", f"q{at}", pattern)
        expected[f"q{at}"] = pattern
    for at in removed:
        if expected.pop(f"q{at}", None) is not None:
            unlink(vhost, "t", f"q{at}", patterns[at])
    for routing_key in (key, key):  # found, then remembered
        found = [name for name, p in expected.items() if naive_match(split_words(p), split_words(routing_key))]
        assert reached(vhost, "t", routing_key) == sorted(found)


@given(patterns=st.lists(PATTERN, max_size=12, unique=True))
def test_unbinding_everything_leaves_an_empty_index(patterns):
    vhost = new_vhost()
    t = exchange(vhost, "t", "topic")
    queue(vhost, "q")
    for pattern in patterns:
        link(vhost, "t", "q", pattern)
    for pattern in patterns:
        unlink(vhost, "t", "q", pattern)
    assert not t._heads
    assert not t.in_use


def test_two_bindings_of_one_queue_by_equal_patterns_are_counted():
    vhost = new_vhost()
    exchange(vhost, "t", "topic")
    queue(vhost, "q")
    link(vhost, "t", "q", "a.#.*")
    link(vhost, "t", "q", "a.*.#")  # the same pattern, otherwise written
    unlink(vhost, "t", "q", "a.#.*")
    assert reached(vhost, "t", "a.b") == ["q"]
    unlink(vhost, "t", "q", "a.*.#")
    assert reached(vhost, "t", "a.b") == []


@pytest.mark.parametrize(
    ("pattern", "key", "matches"),
    [
        ("", "", True),
        ("#", "", True),
        ("*", "", False),
        ("*", ".", False),
        ("*.*", ".", True),
        ("#.#", "", True),
        ("*.#", "", False),
        ("lazy.#", "lazy", True),
        ("lazy.#", "lazy.orange.male.rabbit", True),
        ("*.orange.*", "quick.orange.male.rabbit", False),
        ("a*", "ab", False),
        ("a#", "ab", False),
        ("a.*.c", "a..c", True),
        ("a.b", "a.b.", False),
        ("é.*", "é.ü", True),
    ],
)
def test_edges_of_the_pattern_language(pattern, key, matches):
    vhost = new_vhost()
    exchange(vhost, "t", "topic")
    queue(vhost, "q")
    link(vhost, "t", "q", pattern)
    assert reached(vhost, "t", key) == (["q"] if matches else [])


def test_a_wildcard_in_a_routing_key_is_only_a_word():
    vhost = new_vhost()
    exchange(vhost, "t", "topic")
    for name, pattern in [("literal", "a.b"), ("one", "a.*"), ("many", "#.b.#")]:
        queue(vhost, name)
        link(vhost, "t", name, pattern)
    assert reached(vhost, "t", "a.*") == ["one"]
    assert reached(vhost, "t", "#") == []


@pytest.mark.parametrize(
    ("pattern", "before", "behind"),
    [
        ("a.*.b", ("a", "*", "b"), None),
        ("#", (), ((), ())),
        ("a.#.b.c", ("a",), ((), ("c", "b"))),
        ("#.*.#", ("*",), ((), ())),
        ("#.*.b.#.*.c.#", ("*",), ((("b", "*"), ("c",)), ())),
        ("*.#.a.*.#.b", ("*",), ((("a", "*"),), ("b",))),
    ],
)
def test_patterns_are_cut_at_their_hashes_with_stars_in_front(pattern, before, behind):
    assert cut(split_words(pattern)) == (before, behind)


def lines_run(call, *arguments):
    """Return how many lines of Python ran: a measure that no machine's load changes."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        call(*arguments)
    finally:
        sys.settrace(None)
    return count


LONG_PATTERNS = [
    "{stars}.#.{dots}",
    "#.{stars}.{dots}",
    "#.{stars}.#.{dots}.a.#",
    "{stars}.{dots}",
    "#.a.{stars}.#.{dots}",
]


# Reliability §4.2: 255 octets of dots against 10,000 bindings.
@pytest.mark.search
def test_a_key_of_dots_against_thousands_of_bindings_takes_bounded_steps():
    vhost = new_vhost()
    t = exchange(vhost, "t", "topic")
    queue(vhost, "q")
    bindings = share(2_500, 10_000)
    for at in range(bindings):
        stars = ".".join("*" if at >> bit & 1 else "" for bit in range(14))
        pattern = LONG_PATTERNS[at % len(LONG_PATTERNS)]
        room = 255 - len(pattern.format(stars=stars, dots=""))
        link(vhost, "t", "q", pattern.format(stars=stars, dots="." * room))
    assert t.binding_count == bindings
    for key in ("." * 255, "a" + "." * 254, ".a" * 127):
        words = split_words(key)
        # Three lines a word, and a few for each binding that is looked at.
        assert lines_run(t._find, words) <= 5 * bindings * len(words)


@pytest.mark.parametrize("parts", [(("a",),), (("a", "*"), ("b",)), (("a", "a", "b"),), (("a",), ("a",))])
def test_words_in_between_are_found_as_a_regular_expression_finds_them(parts):
    between = Between(parts)
    pattern = ".*".join("".join("." if word == "*" else word for word in part) for part in parts)
    texts = [""]
    for _ in range(6):
        texts += [text + word for text in texts if len(text) == len(texts[-1]) for word in "abc"]
    for text in texts:
        assert between.found_in(tuple(text)) == bool(re.search(pattern, text)), text


def test_remembered_keys_are_forgotten_before_they_fill_memory(monkeypatch):
    monkeypatch.setattr(topic, "RECENT_KEYS_MAX", 16)
    vhost = new_vhost()
    t = exchange(vhost, "t", "topic")
    queue(vhost, "q")
    link(vhost, "t", "q", "#")
    for at in range(100):
        assert reached(vhost, "t", f"k.{at}") == ["q"]
        assert len(t._recent) <= 16


def test_what_remembered_keys_found_is_bounded_too(monkeypatch):
    # Four thousand keys that each reach a thousand queues would be 150 MB.
    monkeypatch.setattr(topic, "RECENT_FOUND_MAX", 100)
    vhost = new_vhost()
    t = exchange(vhost, "t", "topic")
    for i in range(30):
        queue(vhost, f"q{i}")
        link(vhost, "t", f"q{i}", "#")
    for at in range(50):
        assert 30 == len(reached(vhost, "t", f"k.{at}"))
        assert sum(map(len, t._recent.values())) <= 130


def test_a_new_binding_is_seen_by_a_key_that_was_remembered():
    vhost = new_vhost()
    t = exchange(vhost, "t", "topic")
    queue(vhost, "q")
    assert reached(vhost, "t", "a.b") == []
    link(vhost, "t", "q", "a.*")
    assert reached(vhost, "t", "a.b") == ["q"]
    assert names(b.destination for b in t.bindings()) == ["q"]
