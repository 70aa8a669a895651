"""Patterns of policies find what RabbitMQ's would, as far as RE2 goes; beyond that they are refused with a reason."""

import re

import pytest
from hypothesis import given, strategies as st

from pybroker.core.policy.pattern import PATTERN_CHARS_MAX, NamePattern, PatternError
from tests.strategies import few


@pytest.mark.parametrize(
    ("text", "found", "not_found"),
    [
        ("", ["", "q"], []),
        ("q", ["q", "aqa"], ["a"]),
        ("^q$", ["q"], ["qq", ""]),
        (".*", ["", "ä"], []),
        ("^(?!amq\\.).*", ["q", "", "amq", "an.amq.x"], ["amq.gen-1", "amq."]),
        ("^(?!amq\\.|mine)[a-m]", ["b"], ["amq.a", "mine", "z"]),
        ("^(?!a)(?!b)(?=.x)", ["cx", "cxa"], ["ax", "bx", "cy"]),
        ("^(?![)(]|(?:a(b)))x?", ["q", "a"], [")", "(", "ab"]),
        ("^(?![]a])", ["b"], ["]", "a"]),
        ("^(?!\\)).", ["q"], [")"]),
        ("^(?=a|b)c?", ["a", "b"], ["c"]),
    ],
)
def test_patterns_are_searched_for(text, found, not_found):
    pattern = NamePattern(text)
    assert text == pattern.text
    assert (found, []) == ([n for n in [*found, *not_found] if pattern.matches(n)], [])
    assert [bool(re.search(text, name)) for name in found + not_found] == [True] * len(found) + [False] * len(not_found)


@pytest.mark.parametrize(
    "text",
    [
        "(",
        "[",
        "*",
        "a(?!b)",
        "(?!a)b",
        "^(?!a)b|c",
        "^(?!a",
        "^(?!a)+b",
        "^((?!a)b)",
        "(a)\\1",
        "a{2000}",
        "x" * (PATTERN_CHARS_MAX + 1),
    ],
)
def test_what_cannot_be_compiled_is_refused_with_a_reason(text):
    with pytest.raises(PatternError):
        NamePattern(text)


@few
@given(
    st.lists(st.tuples(st.booleans(), st.text("ab.", min_size=1, max_size=3)), max_size=3),
    st.text("ab.$", max_size=3),
    st.text("abc", max_size=4),
)
def test_conditions_in_front_mean_what_they_mean_elsewhere(conditions, rest, name):
    text = "^" + "".join(("(?=" if wanted else "(?!") + condition + ")" for wanted, condition in conditions) + rest
    assert bool(re.search(text, name)) == NamePattern(text).matches(name)


def test_a_hostile_pattern_takes_no_time():
    assert not NamePattern("(a*)*(a*)*b$").matches("a" * 255)
