"""The tool: one request on the socket it was given, answered in the control protocol."""

import json
import os
import random
import shutil
import socket
import threading
from pathlib import Path

import pytest

from pybroker.control import codec
from pybroker.daemon import offline_tool as tool_module
from pybroker.daemon.data_folder import claim_data_folder
from pybroker.daemon.offline_tool import serve
from pybroker.humanize import counted
from pybroker.store.disk import Disk
from pybroker.store.log_path import log_folder
from pybroker.version import VERSION
from tests.store.data_folder import QUEUES, DataFolder, contents, flip
from tests.store.streams.lives import Life


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    data = DataFolder(tmp_path_factory.mktemp("template") / "data")
    data.busy(random.Random(9), 60)
    data.node.close()
    data.definitions.stop()
    (data.path / "node_id").write_text("pybroker@test\n")
    return data


@pytest.fixture
def data(template, tmp_path):
    return shutil.copytree(template.path, tmp_path / "data")


def ask(command, args, **more):
    """Return the greeting and all lines of the answer."""
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=lambda: (serve(theirs, "pybroker@test"), theirs.close()))
    thread.start()
    ours.sendall(codec.encode_request(command, args, **more))
    lines = [json.loads(line) for line in ours.makefile("rb")]
    thread.join()
    ours.close()
    return lines


def value_of(lines):
    assert [*lines[-2], *lines[-1]] == ["value", "end"], lines
    return lines[-2]["value"]


def refusal_of(lines):
    error = lines[-1]["error"]
    return error["exit_code"], error["text"]


def held_by(data, template):
    segments = [[segment.number, 0] for segment in template.node.log.live_index.segments]
    commit_position = max(int(path.name[5:], 16) for path in data.glob("groups/local/ckpt.*"))
    return {"node": "pybroker@test", "data_dir": str(data), "ticket": commit_position, "segments": segments}


def test_it_greets_as_a_node_does(data):
    assert ask("log_verify", {"data_dir": str(data)})[0] == {"node": "pybroker@test", "version": VERSION, "protocol": 1}


def test_a_sound_folder_is_counted(data):
    found = value_of(ask("log_verify", {"data_dir": str(data)}))
    assert (found["damage"], found["definitions"]) == ([], len(QUEUES))
    counts = f"{counted(found['messages'], 'message')} in {counted(found['segments'], 'segment')}, 3 definitions"
    assert found["message"] == f"The data folder {data} is intact: {counts}, {found['octets']:,} octets"


def test_damage_is_a_refusal_with_a_line_for_each(data):
    path = next(data.glob("groups/local/seg.*"))
    flip(path, random.Random(1))
    code, text = refusal_of(ask("log_verify", {"data_dir": str(data)}))
    assert code == 65
    assert text.splitlines()[0] == f"The data folder {data} is damaged in 1 place:"
    assert text.splitlines()[1].startswith(f" * {path.name}: ")


def test_progress_is_told_to_who_wants_to_hear(data, monkeypatch):
    monkeypatch.setattr(tool_module, "PROGRESS_S", 0)
    told = [line["progress"] for line in ask("log_verify", {"data_dir": str(data)}, progress=True)[1:-2]]
    assert told[-1][0] == told[-1][1] > 0
    assert [] == [line for line in ask("log_verify", {"data_dir": str(data)}) if "progress" in line]


def test_a_folder_in_use_is_left_alone(data):
    claimed = claim_data_folder(data, "", "")
    for command in ("log_verify", "log_repair"):
        code, text = refusal_of(ask(command, {"data_dir": str(data)}))
        assert (code, text) == (69, f"the data folder {data} is in use by another pybroker, process {os.getpid()}")
    claimed.release()


def test_what_is_no_data_folder_is_left_alone(tmp_path):
    assert refusal_of(ask("log_repair", {"data_dir": str(tmp_path)})) == (
        65,
        f"{tmp_path} is not the data folder of a node: it has no file node_id",
    )
    assert [] == list(tmp_path.iterdir())


def test_the_usual_data_folder_is_meant_if_none_is_given(data, monkeypatch):
    monkeypatch.setenv("STATE_DIRECTORY", str(data))
    assert value_of(ask("log_repair", {}))["message"].startswith("There was nothing to repair\n")


def test_a_repair_says_what_it_did_and_that_all_is_well(data):
    flip(next(data.glob("groups/local/seg.*")), random.Random(1))
    found = value_of(ask("log_repair", {"data_dir": str(data)}))
    assert len(found["repaired"]) == 1
    assert found["damage"] == []
    assert found["message"].splitlines()[0] == "1 fault was repaired:"


def test_a_node_is_read_beside_it_as_far_as_it_holds(data, template):
    claimed = claim_data_folder(data, "", "")
    found = value_of(ask("log_verify", {}, held=held_by(data, template)))
    claimed.release()
    assert found["message"].startswith("The data of node pybroker@test is intact: ")


def test_streams_are_verified_repaired_and_backed_up(data, template, tmp_path):
    life = Life(Disk(log_folder(data)))
    life.fill(30)
    stream = data / "groups/local/streams/0000000000000007"
    folder, target = str(tmp_path / "backup"), tmp_path / "restored"
    found = value_of(ask("log_verify", {"data_dir": str(data)}))
    assert " segments, 1 stream, 3 definitions" in found["message"]
    value_of(ask("backup_create", {"folder": folder}, held=held_by(data, template)))
    assert value_of(ask("backup_verify", {"folder": folder}))["result"] == "ok"
    value_of(ask("backup_restore", {"folder": folder, "data_dir": str(target)}))
    assert (target / stream.relative_to(data) / "meta").exists()
    flip(next(stream.glob("*.log")), random.Random(1))
    code, text = refusal_of(ask("log_verify", {"data_dir": str(data)}))
    assert (code, "streams/0000000000000007/" in text) == (65, True)
    assert value_of(ask("log_repair", {"data_dir": str(data)}))["message"].startswith("1 fault was repaired:")


def test_a_backup_is_made_verified_and_restored(data, template, tmp_path):
    folder, target = str(tmp_path / "backup"), tmp_path / "restored"
    made = value_of(ask("backup_create", {"folder": folder}, held=held_by(data, template)))
    assert made["message"] == (
        f"The backup {folder} is complete: {made['files']} files, {made['octets']:,} octets, 3 definitions"
    )
    assert value_of(ask("backup_verify", {"folder": folder}))["files"] == made["files"]
    restored = value_of(ask("backup_restore", {"folder": folder, "data_dir": str(target)}))
    assert restored["data_dir"] == str(target)
    figures = made["message"].replace("complete", "restored")
    assert restored["message"] == f"{figures}\nStart node pybroker@test with: pybroker --data-dir {target}"
    assert (target / "node_id").read_text() == "pybroker@test\n"
    assert target.stat().st_mode & 0o777 == 0o700
    assert contents(target) == template.expected
    value_of(ask("log_verify", {"data_dir": str(target)}))


def test_a_backup_is_not_restored_over_anything(data, template, tmp_path):
    folder = str(tmp_path / "backup")
    value_of(ask("backup_create", {"folder": folder}, held=held_by(data, template)))
    code, text = refusal_of(ask("backup_restore", {"folder": folder, "data_dir": str(data)}))
    assert (code, text) == (65, f"the folder {data} is not empty: restore a backup to a new data folder")
    flip(next(Path(folder).glob("groups/local/seg.*")), random.Random(2))
    assert refusal_of(ask("backup_verify", {"folder": folder}))[0] == 65
    assert refusal_of(ask("backup_restore", {"folder": folder, "data_dir": str(tmp_path / "new")}))[0] == 65
    assert [] == [path for path in (tmp_path / "new").rglob("*") if path.is_file()]


def test_who_goes_leaves_nothing_half_done(data, template, tmp_path, monkeypatch):
    monkeypatch.setattr(tool_module, "PROGRESS_S", 0)
    ours, theirs = socket.socketpair()
    request = codec.encode_request(
        "backup_create", {"folder": str(tmp_path / "backup")}, progress=True, held=held_by(data, template)
    )
    ours.sendall(request)
    ours.close()
    with theirs, pytest.raises((BrokenPipeError, ConnectionResetError)):
        serve(theirs, "pybroker@test")
    assert [] == [path for path in (tmp_path / "backup").rglob("*") if path.is_file()]


def test_what_the_disk_refuses_is_a_sentence(data, template, tmp_path):
    shutil.rmtree(data / "groups")
    code, text = refusal_of(ask("backup_create", {"folder": str(tmp_path / "b")}, held=held_by_nothing(data)))
    assert code == 69
    assert text.endswith("No such file or directory")


def held_by_nothing(data):
    return {"node": "pybroker@test", "data_dir": str(data), "ticket": 1, "segments": [[1, 0]]}


def test_a_nodes_own_command_is_refused():
    assert refusal_of(ask("list_users", {})) == (64, "list_users runs in a node only")
