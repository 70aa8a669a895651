"""The words of Erlang's terms."""

import pytest

from pybroker.daemon.config.classic.erlang_tokens import TermsError, Tokens


def words(text):
    tokens = Tokens(text)
    found = []
    while tokens.kind != "end":
        found.append((tokens.kind, tokens.text))
        tokens.advance()
    return found


def test_each_kind_of_word():
    assert words("[{rabbit, 0.4}, 16#FF -1_000 'PLAIN' \"a\" <<>>].") == [
        ("mark", "["),
        ("mark", "{"),
        ("atom", "rabbit"),
        ("mark", ","),
        ("float", "0.4"),
        ("mark", "}"),
        ("mark", ","),
        ("based", "16#FF"),
        ("integer", "-1_000"),
        ("quoted", "'PLAIN'"),
        ("string", '"a"'),
        ("mark", "<<"),
        ("mark", ">>"),
        ("mark", "]"),
        ("mark", "."),
    ]


def test_comments_and_spaces_are_left_out():
    assert words(" % one\n\t a%two\r\n %%") == [("atom", "a")]
    assert words("") == []


def test_a_percent_sign_or_a_bracket_in_quotes_is_part_of_the_text():
    assert words("\"a%b]\" 'c%d'") == [("string", '"a%b]"'), ("quoted", "'c%d'")]


def test_the_place_counts_lines_and_columns_from_one():
    tokens = Tokens("a\n  b")
    assert tokens.place(tokens.at) == (1, 1)
    tokens.advance()
    assert tokens.place(tokens.at) == (2, 3)
    tokens.advance()
    assert tokens.place(tokens.at) == (2, 4)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"a\n\t\"\\", 'a\n\t"\\'),
        (r"\x41\x{20ac}\101\^A\e\s", "A\N{EURO SIGN}A\x01\x1b "),
        ("two\nlines", "two\nlines"),
        (r"\q", "q"),
    ],
)
def test_escapes(written, text):
    assert Tokens(f'"{written}"').unescaped() == text


@pytest.mark.parametrize("written", [r"\xzz", r"\x{110000}", r"\x{d800}", r"\x{}"])
def test_an_escape_that_is_no_character_is_refused(written):
    with pytest.raises(TermsError):
        Tokens(f'"{written}"').unescaped()


def test_what_is_quoted_is_not_shown_since_it_may_be_a_password():
    with pytest.raises(TermsError) as caught:
        Tokens('"secret"').fail("a number")
    assert str(caught.value) == "expected a number, found a string"


def test_a_text_that_is_never_closed_is_told_by_its_beginning():
    tokens = Tokens('a\n "never closed')
    tokens.advance()
    with pytest.raises(TermsError) as caught:
        tokens.fail("a term")
    assert (2, 2, 'unterminated text: missing the closing "') == (
        caught.value.line,
        caught.value.column,
        str(caught.value),
    )
