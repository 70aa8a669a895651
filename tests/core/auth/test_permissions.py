import re

import pytest
from hypothesis import example, given, strategies as st

from pybroker.core.auth import permissions
from pybroker.core.auth.permissions import (
    PATTERN_CHARS_MAX,
    Pattern,
    PatternError,
    Permission,
    TopicPermission,
    check,
    check_topic,
    check_vhost,
    expand,
    granted,
)
from pybroker.core.auth.users import Users
from pybroker.errors import AccessRefused, NotAllowed
from tests.topology import refusal


def user_with(configure: str = "", write: str = "", read: str = ""):
    users = Users()
    users.add("U", "secret")
    user = users.named("U")
    users.set_permissions("U", "/", configure, write, read)
    return user


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("", "anything", False),  # empty grants nothing
        ("^$", "anything", False),
        (".*", "anything", True),
        ("ing", "anything", True),  # not anchored
        ("^ing", "anything", False),
        ("^any.*ing$", "anything", True),
        ("^(a|b)$", "ab", False),
        ("^amq\\.", "amqp", False),
        ("^é+$", "éé", True),
    ],
)
def test_patterns_are_searched_for_as_rabbitmq_does(pattern, name, expected):
    assert Permission(pattern, "", "").grants("configure", name) == expected


@pytest.mark.parametrize(
    ("permission", "kind", "name", "text"),
    [
        ("read", "exchange", "X", "read access to exchange 'X' in vhost '/' refused for user 'U'"),
        ("write", "queue", "q", "write access to queue 'q' in vhost '/' refused for user 'U'"),
        ("configure", "exchange", "", "configure access to exchange 'amq.default' in vhost '/' refused for user 'U'"),
    ],
)
def test_a_refusal_says_what_was_missing(permission, kind, name, text):
    with pytest.raises(AccessRefused) as error:
        check(user_with(), "/", permission, kind, name)
    assert (*refusal(error.value), error.value.hard) == (403, text, False)


def test_the_default_exchange_is_asked_for_by_the_name_amq_default():
    check(user_with(write="^amq\\.default$"), "/", "write", "exchange", "")
    with pytest.raises(AccessRefused):
        check(user_with(write="^$"), "/", "write", "exchange", "")


def test_a_user_enters_only_virtual_hosts_in_which_it_has_permissions():
    user = user_with()
    check_vhost(user, "/")
    with pytest.raises(NotAllowed) as error:
        check_vhost(user, "other")
    assert refusal(error.value) == (530, "access to vhost 'other' refused for user 'U'")


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "*", "a{2,1}", "(?=a)", "(?<!a)b", r"(a)\1", "\\"])
def test_a_pattern_that_does_not_compile_is_refused_with_the_reason(pattern, capfd):
    with pytest.raises(PatternError) as error:
        Pattern(pattern)
    assert str(error.value)
    assert capfd.readouterr().err == ""


def test_a_pattern_has_a_length_limit_and_repetitions_do_not_cheat_it():
    assert Pattern("a" * PATTERN_CHARS_MAX).matches("a" * 1_000)
    for text in ("a" * (PATTERN_CHARS_MAX + 1), "((a{500}){500}){500}"):
        with pytest.raises(PatternError):
            Pattern(text)


# Reliability §4.1: linear in the name whatever the pattern; these take a backtracking matcher minutes to ages.
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*a){20}$"])
def test_patterns_that_explode_elsewhere_answer(pattern):
    name = "a" * 254 + "!"
    assert not Permission(pattern, "", "").grants("configure", name)
    assert not TopicPermission("/", "u", pattern, "").grants("write", name)


def test_a_verdict_is_kept_and_forgotten_at_any_change(monkeypatch):
    asked = []
    original = Pattern.matches
    monkeypatch.setattr(Pattern, "matches", lambda self, name: asked.append(name) or original(self, name))
    users = Users()
    users.add("U", "secret")
    user = users.named("U")
    users.set_permissions("U", "/", "a", "", "")
    assert [granted(user, "/", "configure", "a") for _ in range(3)] == [True] * 3
    assert [granted(user, "/", "configure", "b") for _ in range(3)] == [False] * 3
    assert asked == ["a", "b"]
    generation = users.generation
    users.set_permissions("U", "/", "b", "", "")
    assert users.generation > generation
    assert (granted(user, "/", "configure", "a"), granted(user, "/", "configure", "b")) == (False, True)


def test_verdicts_of_ever_new_names_do_not_fill_memory(monkeypatch):
    monkeypatch.setattr(permissions, "VERDICTS_MAX", 16)
    user = user_with(configure=".*")
    topic = TopicPermission("/", "U", ".*", "")
    for at in range(100):
        assert granted(user, "/", "configure", f"q{at}")
        assert topic.grants("write", f"k{at}")
        assert max(len(user.verdicts), len(topic._verdicts)) <= 16


# -- topic permissions ------------------------------------------------------------------------------------------------


def test_without_a_topic_permission_every_key_is_allowed():
    check_topic(user_with(), "/", "amq.topic", "write", "any.key")
    check_topic(None, "/", "amq.topic", "write", "any.key")


def test_a_topic_permission_restricts_one_exchange_of_one_virtual_host():
    users = Users()
    users.add("U", "secret")
    user = users.named("U")
    users.set_topic_permissions("U", "/", "x", "^w", "^r")
    check_topic(user, "/", "x", "write", "w.1")
    check_topic(user, "/", "x", "read", "r.1")
    check_topic(user, "/", "y", "write", "r.1")
    check_topic(user, "other", "x", "write", "r.1")
    with pytest.raises(AccessRefused) as error:
        check_topic(user, "/", "x", "write", "r.1")
    text = "write access to topic 'r.1' in exchange 'x' in vhost '/' refused for user 'U'"
    assert refusal(error.value) == (403, text)
    users.clear_topic_permissions("U", "/", "x")
    check_topic(user, "/", "x", "write", "r.1")


def test_an_empty_topic_pattern_allows_the_empty_key_only():
    permission = TopicPermission("/", "u", "", ".*")
    assert [permission.grants("write", key) for key in ("", "k")] == [True, False]


@pytest.mark.parametrize(
    ("template", "matching", "other"),
    [
        ("^{username}$", "u", "v"),
        ("^{vhost}-{username}[.]", "/-u.1", "/-v.1"),
        ("^[{username}x]$", "x", "v"),
        (r"^\{username}$", "{username}", "u"),
        ("^{user}name$", "{user}name", "u"),
        ("^a{2}$", "aa", "a"),
    ],
)
def test_placeholders_stand_for_the_names(template, matching, other):
    permission = TopicPermission("/", "u", template, "")
    assert permission.grants("write", matching)
    assert not permission.grants("write", other)


HOSTILE = [
    ".*",
    "a-z",
    "]",
    "$",
    "^",
    "[^a]",
    "a|b",
    "(",
    ")",
    "\\",
    "\\E.*",
    "{2}",
    "+",
    "?",
    "\\d",
    "é",
    "😀",
    "a\nb",
    "x{61}",
]
KEYS = st.text(st.sampled_from("abz-.*]$^[|()\\E{}2+?dé😀\nx61"), max_size=8)


# Reliability §4.2: CVE-2026-44838, and 67407, in which only the dash was left.
@given(name=st.sampled_from(HOSTILE) | KEYS.filter(bool), key=KEYS)
@example(name=".*", key="other")
@example(name="a-z", key="m")
@example(name="]", key="]")
@example(name="$", key="")
def test_a_hostile_username_matches_itself_and_nothing_else(name, key):
    whole = TopicPermission("/", name, "^{username}$", "")
    # RE2's $ is the end of the text, where Python's may be before a last line feed.
    assert whole.grants("write", key) == (key == name)
    assert whole.grants("write", name)
    prefix = TopicPermission("/", name, "^{username}[.]", "^x[.]{username}")
    assert prefix.grants("write", f"{name}.{key}")
    assert prefix.grants("write", key) == key.startswith(f"{name}.")
    assert prefix.grants("read", key) == key.startswith(f"x.{name}")
    one_of = TopicPermission("/", name, "^[{username}]$", "")
    assert one_of.grants("write", key) == (len(key) == 1 and key in name)


LONG = ["n" * 255, "\u00e9" * 127, ".*" * 127, "-]" * 127]
NAMES = st.sampled_from(HOSTILE + LONG) | KEYS.filter(bool)
PARTS = st.lists(st.sampled_from(["{username}", "{vhost}"]) | KEYS.filter(bool), min_size=1, max_size=5)


# Reliability §4.2, against a matcher that knows no patterns: the template's parts, put together as text.
@given(user=NAMES, vhost=NAMES, parts=PARTS, other=KEYS)
@example(user="a-z", vhost="]", parts=["{username}", "{vhost}"], other="m]")
@example(user="{vhost}", vhost="{username}", parts=["{username}", "{vhost}"], other="{username}{username}")
@example(user="u\n", vhost="$", parts=["{vhost}", "{username}"], other="$u")
@example(user="n" * 255, vhost="v", parts=["{username}", "."], other="n" * 254 + ".")
def test_a_template_matches_what_a_literal_matcher_does(user, vhost, parts, other):
    names = {"{username}": user, "{vhost}": vhost}
    template = "".join(
        part if part in names else "".join(f"[{each}]" if each not in "^]\\[" else f"\\{each}" for each in part)
        for part in parts
    )
    literal = "".join(names.get(part, part) for part in parts)
    permission = TopicPermission(vhost, user, f"^{template}$", f"^{template}")
    for key in {
        literal,
        other,
        literal + other,
        other + literal,
        literal[:-1],
        literal.replace(user, other),
        literal.upper(),
    }:
        assert permission.grants("write", key) == (key == literal), (template, key)
        assert permission.grants("read", key) == key.startswith(literal), (template, key)


@given(name=KEYS.filter(bool))
def test_an_expanded_name_is_a_literal_to_every_engine(name):
    pattern = expand("{username}", {"username": name})
    assert set(re.sub(r"\\x\{[0-9a-f]+\}", "", pattern)) == set()


def test_the_texts_are_kept_as_they_were_set():
    assert [Permission("c", "w", "r").text(p) for p in ("configure", "write", "read")] == ["c", "w", "r"]
    topic = TopicPermission("/", "u", "{username}", "{vhost}")
    assert (topic.text("write"), topic.text("read")) == ("{username}", "{vhost}")
