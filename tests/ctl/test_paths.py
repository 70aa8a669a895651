"""Choice of telemetry and warehouse: the named ones, else those of the node that answers, else the usual folders."""

import json

import pytest

from pybroker.control.spec import Refused
from pybrokerctl import paths, pipeline
from pybrokerctl.options import Options


@pytest.fixture(autouse=True)
def usual(monkeypatch, tmp_path):
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    return tmp_path


@pytest.fixture
def args():
    from pybroker.control.commands import load

    return load("pipeline_status").parse({})


def data(daemon, folder):
    daemon.lines = [{"value": {"data_directory": folder}}, {"end": 0}]


@pytest.mark.parametrize("named", [True, False])
def test_a_node_that_answers_says_where_its_data_is(daemon, args, named):
    data(daemon, "/srv/node")
    found = paths.fill(args, Options(socket=str(daemon.path) if named else None))
    assert found.args == ("/srv/node/warehouse", "/srv/node/telemetry")
    assert found.note == "using warehouse and telemetry of node pybroker@vm in /srv/node"
    assert daemon.requests == [("status", {})]


def test_what_is_named_is_meant_and_nobody_is_asked(daemon, args):
    both = args._replace(warehouse="/w", telemetry="/t")
    assert paths.fill(both, Options()) == (both, "")
    assert daemon.requests == []
    data(daemon, "/srv/node")
    assert paths.fill(args._replace(warehouse="/w"), Options()).args == ("/w", "/srv/node/telemetry")


def test_the_usual_folder_is_nothing_to_talk_about(daemon, args, usual):
    data(daemon, str(usual))
    assert paths.fill(args, Options()) == (args, "")


def test_without_a_node_it_is_the_usual_folder_which_is_said_if_one_was_named(args, usual):
    assert paths.fill(args, Options()) == (args, "")
    found = paths.fill(args, Options(socket="/none.sock"))
    assert found.args == args
    assert found.note.startswith("node pybroker@vm does not respond (")
    assert found.note.endswith(f"); using warehouse and telemetry in {usual}")


def test_a_node_without_data_has_the_usual_folder(daemon, args):
    data(daemon, "")
    assert paths.fill(args, Options(socket=str(daemon.path))).note.startswith("node pybroker@vm has no data folder; ")


def test_another_node_than_the_one_named_is_not_asked(daemon, args):
    with pytest.raises(Refused) as refused:
        paths.fill(args, Options(node="other@vm", socket=str(daemon.path)))
    assert (refused.value.exit_code, daemon.requests) == (69, [])
    with pytest.raises(Refused):
        paths.fill(args, Options(node="other@elsewhere"))


def test_several_nodes_are_no_reason_to_ask_one_of_them(daemon, folder, args):
    daemon.path.rename(folder / "one@vm.sock")
    (folder / "two@vm.sock").hardlink_to(folder / "one@vm.sock")
    assert paths.fill(args, Options()) == (args, "")


def test_a_command_says_it_beside_its_answer(ctl, daemon, monkeypatch):
    data(daemon, "/srv/node")
    words = []

    def run(given, **_):
        words.append(given)
        return {"message": "done"}

    monkeypatch.setattr(pipeline, "run", run)
    note = "note: using warehouse and telemetry of node pybroker@vm in /srv/node\n"
    assert ctl("pipeline", "status") == (0, "done\n", note)
    code, out, err = ctl("pipeline", "status", "--formatter", "json")
    assert (code, json.loads(out), err) == (0, {"message": "done"}, "")
    assert ctl("-q", "pipeline", "status").err == ""
    assert words == [["status", "--warehouse", "/srv/node/warehouse", "--telemetry", "/srv/node/telemetry"]] * 3
