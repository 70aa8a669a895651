"""Output on a terminal: drawn by rich, readable at any width, streaming below the first page."""

import io
import itertools
import sys

import pytest

from pybrokerctl.render import Head, terminal


@pytest.fixture(autouse=True)
def stdout(person):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    person.setattr(sys, "stdout", out)
    return person


def shown(columns, rows, **head) -> str:
    return "".join(terminal.rows(Head(columns, **head), [rows] if rows else []))


def test_a_table_has_its_header_and_a_rule(stdout):
    stdout.setenv("NO_COLOR", "1")
    text = "name  messages\n──────────────\na            1\nbb          20\n"
    assert shown(("name", "messages"), [["a", 1], ["bb", 20]]) == text
    assert shown(("name", "messages"), [["a", 1]], show=False) == "a  1\n"


def test_without_rows_there_is_nothing():
    assert shown(("name",), []) == ""


def test_states_are_coloured_by_what_they_mean():
    text = shown(("state",), [["running"], ["flow"], ["blocked"]])
    assert ["\x1b[32mrunning" in text, "\x1b[33mflow" in text, "\x1b[31mblocked" in text] == [True] * 3


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_escapes_where_they_are_not_wanted(stdout, name, value):
    stdout.setenv(name, value)
    assert "\x1b" not in shown(("name", "state"), [["a", "running"]] * 300)
    assert "\x1b" not in "".join(terminal.value({"a": 1}, "n"))


def test_without_utf8_lines_are_drawn_in_ascii(stdout):
    stdout.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert shown(("name",), [["a"]]).isascii()


def test_nothing_is_wider_than_the_terminal_and_nothing_is_lost(stdout):
    stdout.setenv("NO_COLOR", "1")
    name = "x" * 150
    text = shown(("name", "messages_unacknowledged", "state"), [[name, 5, "running"]])
    assert max(map(len, text.splitlines())) < 80
    assert text.count("x") == 150


def test_too_many_columns_become_lines(stdout):
    stdout.setenv("NO_COLOR", "1")
    columns = tuple(f"column_{n}" for n in range(20))
    text = shown(columns, [[n * 1000 for n in range(20)]] * 2)
    first, second = text.split("\n\n")
    assert first.splitlines()[3] == "column_3   3000"
    assert len(second.splitlines()) == 20


def test_later_rows_stand_in_the_columns_of_the_first_page(stdout):
    stdout.setenv("NO_COLOR", "1")
    lines = shown(("name", "messages", "state"), [[f"q{n:04}", n, "running"] for n in range(500)]).splitlines()
    assert len(lines) == 502
    assert {line.index("running") for line in lines[2:]} == {17}
    assert {len(line) for line in lines[2:]} == {24}


def test_the_first_page_is_there_before_the_last_row():
    endless = ([[n, "x"]] for n in itertools.count())
    pieces = terminal.rows(Head(("n", "x")), endless)
    assert "n" in next(pieces)
    assert next(pieces) == "100  x\n"


def test_control_characters_stay_escaped_and_markup_is_none():
    text = shown(("name",), [["a\x1b[31mb"], ["[red]x[/red]"], [":smile:"]])
    assert r"a\033[31mb" in text
    assert "[red]x[/red]" in text
    assert ":smile:" in text


def test_amqp_tables_are_erlang_terms_that_can_be_folded():
    text = shown(("arguments",), [[[["a", "longstr", "b"], ["c", "signedint", 1]]]], tables=frozenset({0}))
    assert '[{"a","b"}, {"c",1}]' in text


def test_documents_have_their_keys_in_a_column(stdout):
    stdout.setenv("NO_COLOR", "1")
    assert "".join(terminal.value({"a": 1, "long": [1, 2]}, "n")) == "a     1\nlong  [1, 2]\n"
    assert "".join(terminal.value("done", "n")) == "done\n"
    assert "".join(terminal.value(None, "n")) == ""
