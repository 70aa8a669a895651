"""Erlang terms: what is read, what is refused and where; hostile files."""

import itertools
import re
import string

import pytest
from hypothesis import given, strategies as st

from pybroker.daemon.config.classic.erlang_terms import DEPTH_MAX, Atom, Term, read_term
from pybroker.daemon.config.classic.erlang_tokens import TermsError


def plain(term):
    """Return a term without its places."""
    if isinstance(term.value, list | tuple):
        return type(term.value)(map(plain, term.value))
    return term.value


def placed(value):
    """Return a Term of plain values."""
    if isinstance(value, list | tuple):
        return Term(type(value)(map(placed, value)))
    return Term(value)


def read(text):
    return plain(read_term(text if isinstance(text, bytes) else text.encode()))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # B12, C3, D2, D3: the documents' examples.
        (
            "[{rabbit, [{vm_memory_high_watermark, 0.4}]}].",
            [(Atom("rabbit"), [(Atom("vm_memory_high_watermark"), 0.4)])],
        ),
        ("[{rabbit, [{disk_free_limit, 1000000000}]}].", [(Atom("rabbit"), [(Atom("disk_free_limit"), 10**9)])]),
        ("{mem_relative, 1.0}.", (Atom("mem_relative"), 1.0)),
        ("[].", []),
        ("{}.", ()),
        ("[ [] , {} ].", [[], ()]),
        ("['PLAIN','a b',a@b_1].", [Atom("PLAIN"), Atom("a b"), Atom("a@b_1")]),
        ("[0,-1,+2,1_000,16#FF,-16#ff,2#101].", [0, -1, 2, 1000, 255, -255, 5]),
        ("[1.5,-1.0e-3,2.0E+2].", [1.5, -0.001, 200.0]),
        ('"a" "b"\n"c".', "abc"),
        ('[<<>>,<<"">>,<<"x">>,<<"a" "b",10,16#41>>].', [b"", b"", b"x", b"ab\nA"]),
        ('<<"\N{EURO SIGN}"/utf8>>.', "\N{EURO SIGN}".encode()),
        ("% first\n[a % second ] \n].% third", [Atom("a")]),
        ("1.", 1),
    ],
)
def test_a_term_is_read(text, value):
    assert read(text) == value


def test_a_term_knows_its_place():
    term = read_term(b"%\n[{a,\n  1}].")
    assert [(2, 1), (2, 2), (3, 3)] == [
        (each.line, each.column) for each in (term, term.value[0], term.value[0].value[1])
    ]


@pytest.mark.parametrize(
    ("text", "line", "column", "sentence"),
    [
        ("", 1, 1, "expected a term, found the end of the file"),
        ("[a, ].", 1, 5, "expected a term after ',', found ']'"),
        ("[a\n b].", 2, 2, "expected ',' or ']', found 'b'"),
        ("{a].", 1, 3, "expected ',' or '}', found ']'"),
        ("[A].", 1, 2, "expected a term or ']', found 'A'"),
        ("[a", 1, 3, "expected ',' or ']', found the end of the file"),
        ("[a]", 1, 4, "expected '.' at the end of the term, found the end of the file"),
        ("[a]. [b].", 1, 6, "expected nothing after the final '.', found '['"),
        ('{default_pass "secret"}.', 1, 15, "expected ',' or '}', found a string"),
        ("['abc].", 1, 2, "unterminated text: missing the closing '"),
        ("#{a => 1}.", 1, 1, "expected a term, found '#'"),
        ("$a.", 1, 1, "expected a term, found '$'"),
        ("[a | b].", 1, 4, "expected ',' or ']', found '|'"),
        ("fun() -> ok end.", 1, 4, "expected '.' at the end of the term, found '('"),
        ("37#1.", 1, 1, "expected digits of a base from 2 to 36, found '37#1'"),
        ("0#1.", 1, 1, "expected digits of a base from 2 to 36, found '0#1'"),
        ("2#12.", 1, 1, "expected digits of a base from 2 to 36, found '2#12'"),
        ("1.0e999.", 1, 1, "expected a number that is not too large, found '1.0e999'"),
        ("<<256>>.", 1, 3, "expected a string or an octet from 0 to 255, found '256'"),
        ('<<"a",>>.', 1, 7, "expected a string or an octet after ',', found '>>'"),
        ('<<"a"/utf16>>.', 1, 7, "expected utf8 after '/', found 'utf16'"),
        ('<<"\N{EURO SIGN}">>.', 1, 3, 'expected <<"..."/utf8>> around what is not ASCII'),
        ("[a]\0.", 1, 4, "expected '.' at the end of the term, found '\\x00'"),
    ],
)
def test_an_error_names_line_column_and_what_was_expected(text, line, column, sentence):
    with pytest.raises(TermsError) as caught:
        read(text)
    assert (caught.value.line, caught.value.column, str(caught.value)) == (line, column, sentence)


def test_invalid_utf8_has_a_place():
    with pytest.raises(TermsError) as caught:
        read("[\n\N{EURO SIGN}".encode() + b"\xff].")
    assert (caught.value.line, caught.value.column, str(caught.value)) == (2, 2, "not valid UTF-8")


@pytest.mark.parametrize("mark", ["[", "{", "[{"])
def test_deep_nesting_is_refused(mark):
    with pytest.raises(TermsError) as caught:
        read(mark * 1_000_000)
    assert str(caught.value).startswith(f"expected at most {DEPTH_MAX} nested lists and tuples")
    assert caught.value.column == DEPTH_MAX + 1


def test_what_is_as_deep_as_it_may_be_is_read():
    assert str(read_term(f"{'[' * DEPTH_MAX}{']' * DEPTH_MAX}.".encode())) == f"{'[' * DEPTH_MAX}{']' * DEPTH_MAX}"


@pytest.mark.parametrize(
    "octets",
    [
        b"9" * 10_000_000,
        b"1." + b"9" * 1_000_000,
        b"16#" + b"f" * 1_000_000,
        b'"' + b"a" * 10_000_000,
        b"'" + b"\\" * 1_000_001,
        b"%" * 10_000_000,
        b" " * 10_000_000,
        b"<<" * 1_000_000,
        b"\0" * 1_000_000,
        b'"' * 100_001,
    ],
)
def test_a_hostile_file_is_refused_in_a_moment(octets):
    with pytest.raises(TermsError):
        read_term(octets)


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.one_of(
    st.integers(-(10**60), 10**60),
    st.floats(allow_nan=False, allow_infinity=False),
    names,
    st.binary(max_size=8),
    names.map(Atom),
    st.sampled_from(string.ascii_lowercase).map(Atom),
)
values = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=4), st.lists(inner, max_size=4).map(tuple))
)


@given(values)
def test_what_is_written_is_read_again(value):
    again = read(f"{placed(value)}.")
    assert again == value
    assert kinds(again) == kinds(value)


def kinds(value):
    """Return the types in a value: 1 and 1.0 are equal, and not the same."""
    if isinstance(value, list | tuple):
        return type(value), [kinds(each) for each in value]
    return type(value)


spaces = st.text(" \t\r\n", max_size=2) | st.text("]}'\"<,.a", max_size=4).map(lambda text: f" %{text}\n")


@given(values, st.lists(spaces, min_size=1, max_size=5))
def test_spaces_and_comments_change_nothing(value, between):
    written = str(placed(value))
    if not {'"', "'"} & set(written):
        fill = itertools.cycle(between)
        written = re.sub(r"[][{},]", lambda mark: f"{next(fill)}{mark[0]} ", written)
    assert read(f"{written} .{between[0]}") == value


@given(st.text("[]{}<>,.'\"%#\\/ \n01eax-_", max_size=40))
def test_any_text_is_a_term_or_an_error_with_a_place(text):
    try:
        read(text)
    except TermsError as error:
        place = (error.line, error.column)
    else:
        place = (1, 1)
    assert (1, 1) <= place <= (text.count("\n") + 1, len(text) + 2)
