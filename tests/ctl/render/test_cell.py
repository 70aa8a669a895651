import pytest

from pybroker.control.codec import table_triples
from pybrokerctl.render.cell import cell, drawn, lines, table_term


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", "text"),
        ("", ""),
        (None, ""),
        (True, "true"),
        (False, "false"),
        (5, "5"),
        (0.5, "0.5"),
        ([], "[]"),
        (["a", "b"], "[a, b]"),
        ({"k": "v", "n": 1}, "#{k => v, n => 1}"),
        ("ä € 漢", "ä € 漢"),
        ("a\tb\nc", r"a\tb\nc"),
        ("\x1b[31mred\x7f", r"\033[31mred\177"),
        ("right\u202eleft\u2066in\u2029", r"right\u202eleft\u2066in\u2029"),
        ("a\u2028b\u200b\ufeff\u00ad", r"a\u2028b\u200b\ufeff\u00ad"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ('back\\slash "quote"', 'back\\slash "quote"'),
    ],
)
def test_plain_values(value, expected):
    assert cell(value) == expected


def test_client_properties_are_an_erlang_term():
    # The client suites search for these in the third column of list_connections.
    properties = {
        "connection_name": "NAME",
        "product": 'a "b" \\ c',
        "capabilities": {"basic.nack": True, "none": {}},
        "n": -5,
        "list": [1, "a", {"k": "v"}],
        "empty": "",
        "void": None,
        "octets": b"ab",
    }
    assert cell(table_triples(properties), table=True) == (
        '[{"connection_name","NAME"},{"product","a \\"b\\" \\\\ c"},'
        '{"capabilities",[{"basic.nack",true},{"none",[]}]},{"n",-5},'
        '{"list",[1,"a",[{"k","v"}]]},{"empty",[]},{"void",undefined},{"octets",<<"ab">>}]'
    )


def test_an_empty_table_is_an_empty_list():
    assert cell([], table=True) == "[]"
    assert table_term([]) == "[]"


def test_control_characters_within_a_term_are_erlangs_escapes():
    assert table_term([["k", "longstr", "a\tb\n\x1b\x01"]]) == r'[{"k","a\tb\n\e\001"}]'


def test_a_text_of_lines_keeps_them_and_its_tabs():
    assert lines("a\n\tb\x1b[2J\x9b\u00e4") == "a\n\tb\\033[2J\\233\u00e4"


def test_nothing_turns_hides_or_breaks_a_line_in_a_text_or_a_term():
    assert lines("a\u202eb\u2028") == r"a\u202eb\u2028"
    assert table_term([["k", "longstr", "a\u202eb"]]) == r'[{"k","a\u202eb"}]'


def test_what_was_drawn_keeps_its_colours():
    assert drawn("\x1b[31m─ä\x1b[0m\n") == "\x1b[31m─ä\x1b[0m\n"
    assert drawn("\x1b[31mä\u202e\x9b31m") == "\x1b[31mä\\u202e\\23331m"
