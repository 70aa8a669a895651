import csv as reader

from pybrokerctl.render import Head, csv


def test_all_but_numbers_is_quoted_as_rabbitmqctl_does():
    head = Head(("name", "durable", "messages", "arguments", "policy"), tables=frozenset({3}))
    rows = [["q", True, 5, [], ""], ['a"b', False, 0.5, [["k", "longstr", "v"]], None]]
    assert "".join(csv.rows(head, [rows])) == (
        '"name","durable","messages","arguments","policy"\n'
        '"q","true",5,"[]",""\n'
        '"a""b","false",0.5,"[{""k"",""v""}]",""\n'
    )


def test_any_name_comes_back_through_a_csv_reader():
    names = ["plain", "a,b", 'quo"te', "tab\t", "line\nbreak", "", "ä"]
    text = "".join(csv.rows(Head(("name",)), [[[name] for name in names]]))
    assert [row[0] for row in reader.reader(text.splitlines(keepends=True))] == ["name", *names]


def test_nothing_without_rows_and_one_header():
    assert list(csv.rows(Head(("n",), show=False), [])) == []
    assert "".join(csv.rows(Head(("n",), show=False), [[[1]], [[2]]])) == '"n"\n1\n2\n'


def test_documents_are_rows_of_key_and_value():
    document = {"a": {"b": 1, "c": {"d": "x"}}, "e": [1, 2]}
    assert "".join(csv.value(document, "n")) == '"key","value"\n"a.b",1\n"a.c.d","x"\n"e","[1, 2]"\n'
    assert list(csv.value("one, two", "n")) == ['"one, two"\n']
    assert list(csv.value(None, "n")) == []
