import pytest

from pybrokerctl.render import Head, pretty_table


def test_boxes_with_a_rule_between_the_rows():
    assert pretty_table.draw(("user", "tags"), [["guest", "administrator"], ["u", ""]], utf8=True) == (
        "┌───────┬───────────────┐\n"
        "│ user  │ tags          │\n"
        "├───────┼───────────────┤\n"
        "│ guest │ administrator │\n"
        "├───────┼───────────────┤\n"
        "│ u     │               │\n"
        "└───────┴───────────────┘\n"
    )


def test_a_terminal_without_utf8_gets_ascii():
    assert pretty_table.draw(("n",), [["1"]], utf8=False) == "+---+\n| n |\n+---+\n| 1 |\n+---+\n"


def test_the_header_is_bold_without_moving_the_lines():
    assert "│ \x1b[1mn\x1b[0m  │" in pretty_table.draw(("n",), [["12"]], utf8=True, bold=True)


@pytest.mark.parametrize(("text", "columns"), [("ab", 2), ("ä", 1), ("漢字", 4), ("e\u0301", 1), ("", 0)])
def test_widths_are_those_of_the_terminal(text, columns):
    assert pretty_table.width(text) == columns


def test_lists_lose_their_brackets_and_empty_tables_vanish():
    head = Head(("tags", "arguments"), tables=frozenset({1}))
    text = "".join(pretty_table.rows(head, [[[["a", "b"], []]]]))
    assert "a, b" in text
    assert "[" not in text


def test_nothing_without_rows():
    assert list(pretty_table.rows(Head(("n",)), [[], []])) == []
    assert list(pretty_table.value(None, "n")) == []


def test_sentences_and_documents():
    assert "Output" in "".join(pretty_table.value("done", "n"))
    assert "a.b" in "".join(pretty_table.value({"a": {"b": 1}}, "n"))
