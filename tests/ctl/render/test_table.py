from pybrokerctl.render import Head, table

HEAD = Head(("name", "arguments"), tables=frozenset({1}))
ROWS = [["q", [["x-max-length", "signedint", 5]]], ["", []]]


def text(head, *batches):
    return "".join(table.rows(head, batches))


def test_columns_are_joined_by_tabs_below_a_header():
    assert text(HEAD, ROWS) == 'name\targuments\nq\t[{"x-max-length",5}]\n\t[]\n'


def test_the_header_comes_once_and_never_without_rows():
    assert text(HEAD, [], ROWS[1:], ROWS[1:]) == "name\targuments\n\t[]\n\t[]\n"
    assert text(HEAD, []) == ""
    assert text(HEAD) == ""


def test_the_header_may_be_left_out():
    assert text(HEAD._replace(show=False), ROWS[1:]) == "\t[]\n"


def test_values_may_be_padded_to_their_header():
    assert text(Head(("name", "n"), pad=True), [["q", 1], ["longer", 22]]) == "name\tn\nq   \t1\nlonger\t22\n"


def test_the_first_rows_do_not_wait_for_the_last():
    seen = table.rows(HEAD, (ROWS[1:] for _ in range(2)))
    assert next(seen) == "name\targuments\n\t[]\n"


def test_sentences_documents_and_success():
    assert list(table.value("done", "n")) == ["done\n"]
    assert "".join(table.value({"a": 1, "b": {"c": True}}, "n")) == "a: 1\nb: #{c => true}\n"
    assert list(table.value(None, "n")) == []
