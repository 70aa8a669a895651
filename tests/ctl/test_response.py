"""One answer in every shape a daemon gives, as the formatters and views show it."""

import json

import pytest

from pybroker.control import commands
from pybrokerctl import response
from pybrokerctl.call import Call
from pybrokerctl.client import Connection, Gone
from pybrokerctl.options import Options


def said(daemon, name: str, formatter: str = "table", **options) -> list[str]:
    command = commands.load(name)
    call = Call(command, {}, Options(formatter=formatter, **options))
    with Connection(daemon.path, 10) as connection:
        return [*response.texts(call, command.parse({}), connection, {})]


def test_rows_come_as_they_come(daemon):
    daemon.lines = [{"columns": ["name", "messages"]}, ["a", 1], {"end": 1}]
    assert "".join(said(daemon, "list_queues")) == "name\tmessages\na\t1\n"
    assert "".join(said(daemon, "list_queues", headers=False)) == "a\t1\n"


def test_a_sentence_is_hidden_by_silence(daemon):
    daemon.lines = [{"value": "Ping succeeded"}, {"end": 0}]
    assert said(daemon, "ping") == ["Ping succeeded\n"]
    assert said(daemon, "ping", silent=True) == []


def test_a_document_with_a_message_is_shown_by_it_and_in_json_whole(daemon):
    daemon.lines = [{"value": {"result": "ok", "message": "all is well"}}, {"end": 0}]
    assert said(daemon, "check_running") == ["all is well\n"]
    assert said(daemon, "check_running", "json") == ['{"result":"ok","message":"all is well"}\n']


@pytest.mark.parametrize("lines", [[], [{"columns": ["name"]}], [{"columns": ["name"]}, ["a"]], [{"value": None}]])
def test_an_answer_that_breaks_off_is_told(daemon, lines):
    daemon.lines = lines
    with pytest.raises(Gone):
        said(daemon, "list_queues")


def test_notes_go_to_standard_error_and_programs_have_them_whole(daemon, capsys):
    document = {"result": "ok", "notes": ["another one\nprecedes it"], "message": ""}
    daemon.lines = [{"value": document}, {"end": 0}]
    assert said(daemon, "check_running") == []
    assert capsys.readouterr().err == "note: another one\nprecedes it\n"
    assert said(daemon, "check_running", silent=True) == []
    assert json.loads(said(daemon, "check_running", "json")[0])["notes"] == document["notes"]
    assert capsys.readouterr().err == ""
    document["message"] = "done"
    assert said(daemon, "check_running") == ["done\n"]
