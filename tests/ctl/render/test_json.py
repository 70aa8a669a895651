from json import loads

from pybrokerctl.render import Head, json

HEAD = Head(("name", "n"))


def test_one_object_a_line_between_brackets():
    text = "".join(json.rows(HEAD, [[["a", 1], ["ä", None]], [], [["c", [1]]]]))
    assert text == '[\n{"name":"a","n":1}\n,{"name":"ä","n":null}\n,{"name":"c","n":[1]}\n]\n'
    assert len(loads(text)) == 3


def test_no_rows_are_an_empty_array():
    assert "".join(json.rows(HEAD, [])) == "[\n]\n"


def test_documents_sentences_success_and_refusals_are_one_object():
    assert loads("".join(json.value({"a": [1]}, "n"))) == {"a": [1]}
    assert loads("".join(json.value("done", "n"))) == {"result": "ok", "node": "n", "message": "done"}
    assert loads("".join(json.value(None, "n"))) == {"result": "ok", "node": "n"}
    assert loads(json.error("no", "n")) == {"result": "error", "node": "n", "message": "no"}


def test_what_would_turn_or_break_a_line_is_escaped_and_means_the_same():
    name = "ä\u202e\u2028\U000e0041\x9b"
    text = "".join(json.rows(HEAD, [[[name, 1]]]))
    assert r'"ä\u202e\u2028\udb40\udc41\u009b"' in text
    assert loads(text) == [{"name": name, "n": 1}]
