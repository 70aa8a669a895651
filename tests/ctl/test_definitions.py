"""Files of definitions: what is read and written here, beside the node, with rabbitmqctl's texts."""

import json
import stat
import tempfile
from pathlib import Path

import pytest

from pybrokerctl.definitions import HASH_ADVICE
from tests.ctl.live_node import LiveNode

QUEUE = {"name": "q", "vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}
HASHED = {"hashing_algorithm": "rabbit_password_hashing_sha256"}
ROWS = [
    ["rabbit_version", "3.13.0"],
    ["users", None],
    ["users", {"name": "u", **HASHED}],
    ["users", {"name": "é", **HASHED}],
    ["queues", None],
]
PLAN_COLUMNS = ["action", "section", "vhost", "name", "member", "now", "wanted"]


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "d.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return write


# -- without a node: what a scripted one is sent, and what is made of its answer ---------------------------------------


def scripted(daemon, *rows):
    daemon.lines = [{"columns": ["section", "item"]}, *rows, {"end": len(rows)}]


def test_a_document_has_an_item_a_line(daemon, ctl):
    scripted(daemon, *ROWS)
    done = ctl("export_definitions", "-")
    first, second = (f'{{"name":"{name}","hashing_algorithm":"rabbit_password_hashing_sha256"}}' for name in ("u", "é"))
    assert f'{{\n"rabbit_version":"3.13.0",\n"users":[\n{first},\n{second}],\n"queues":[]}}\n' == done.out
    assert (0, "") == (done.code, done.err)
    assert ["u", "é"] == [user["name"] for user in json.loads(done.out)["users"]]


def test_passwords_that_rabbitmq_cannot_check_are_noted(daemon, ctl):
    """F11: argon2id is pybroker's own."""
    users = [["users", {"name": name, "hashing_algorithm": "argon2id"}] for name in ("a", "b")]
    scripted(daemon, ["users", None], users[0], ["users", {"name": "c", **HASHED}])
    told = (
        "user 'a' could not log in to RabbitMQ after an import, because RabbitMQ does not support their password hashes"
    )
    assert f"note: {told} {HASH_ADVICE}\n" == ctl("export_definitions", "-").err
    assert "" == ctl("export_definitions", "-q", "-").err
    scripted(daemon, ["users", None], *users)
    assert ctl("export_definitions", "-").err.startswith("note: 2 users could not log in")


def test_a_file_is_for_its_owner_alone_and_replaced_as_a_whole(daemon, ctl, tmp_path):
    scripted(daemon, *ROWS)
    path = tmp_path / "d.json"
    done = ctl("export_definitions", str(path))
    assert (0, f'Exporting definitions in JSON to a file at "{path}" ...\n') == (done.code, done.out)
    assert 2 == len(json.loads(path.read_text())["users"])
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    path.write_text("old")
    path.chmod(0o644)
    daemon.lines.pop()  # the node breaks off
    assert 69 == ctl("export_definitions", str(path)).code
    assert ("old", [path]) == (path.read_text(), [*tmp_path.iterdir()])
    scripted(daemon, *ROWS)
    assert 0 == ctl("export_definitions", "-q", str(path)).code
    assert 0o644 == stat.S_IMODE(path.stat().st_mode)


def test_what_is_no_file_is_written_to(daemon, ctl):
    scripted(daemon, *ROWS)
    assert 0 == ctl("export_definitions", "/dev/null").code
    assert '{"result":"ok","node":""}\n' == ctl("export_definitions", "--formatter", "json", "/dev/null").out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nowhere/d.json", "Directory {folder}/nowhere does not exist"),
        ("file/d.json", "Parent directory of file {folder}/file/d.json is not a directory"),
        ("file/x/d.json", "Parent directory of file {folder}/file/x/d.json is not a directory"),
        ("", "Path {folder} is a directory"),
    ],
)
def test_where_nothing_can_be_written(ctl, tmp_path, name, text):
    (tmp_path / "file").touch()
    done = ctl("export_definitions", str(tmp_path / name))
    assert (65, True) == (done.code, text.format(folder=tmp_path) in done.err)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nowhere", "File {folder}/nowhere does not exist"),
        ("empty/x", "Parent directory of file {folder}/empty/x is not a directory"),
        ("empty", "File {folder}/empty is zero-sized"),
        ("", "Path {folder} is a directory"),
        (
            "text",
            "File {folder}/text: Failed to deserialise input (format: JSON) (error: Expecting value: line 1 column 1",
        ),
        ("list", "File {folder}/list: Failed to deserialise input (format: JSON) (error: it is not an object)"),
        ("nan", "File {folder}/nan: Failed to deserialise input (format: JSON) (error: NaN is not JSON)"),
        (
            "long",
            "File {folder}/long is too large: its definitions have 11000",
        ),
        ("item", "an item has 600002 octets; the maximum is 524288"),
    ],
)
def test_what_cannot_be_read(ctl, tmp_path, monkeypatch, name, text):
    monkeypatch.setattr("pybrokerctl.definitions.DOCUMENT_OCTETS_MAX", 10_000_000)
    files = {"empty": "", "text": "nonsense", "list": "[]", "nan": '{"a":NaN}'}
    files |= {"long": json.dumps({"users": ["x" * 499_997] * 22}), "item": json.dumps({"users": ["x" * 600_000]})}
    made = name.partition("/")[0]
    if made in files:
        (tmp_path / made).write_text(files[made])
    for command in ("import_definitions", "definitions_plan"):
        done = ctl(command, str(tmp_path / name))
        assert (65, True) == (done.code, text.format(folder=tmp_path) in done.err)


@pytest.mark.parametrize("word", ["xml", "erlang"])
@pytest.mark.parametrize("command", ["import_definitions", "export_definitions"])
def test_other_formats(ctl, command, word):
    done = ctl(command, "x", "--format", word)
    assert 65 == done.code
    assert ("Format should be either json or erlang" if word == "xml" else "Erlang's own format is not") in done.err


def test_the_node_is_sent_lines(daemon, ctl, file):
    daemon.answers = {"import_definitions": [{"send": "lines"}]}
    lines = {"zebra": "x", "queues": [QUEUE] * 1_000, "rabbit_version": "3.5.0"}
    daemon.lines = [{"value": {"message": "done"}}, {"end": 0}]
    taken = []
    original = daemon._answer

    def answer(peer):
        from pybroker.control import codec

        peer.sendall(codec.encode({"node": "pybroker@vm", "version": "0.1.0", "protocol": 1}))
        stream = peer.makefile("rb")
        stream.readline()
        peer.sendall(codec.encode({"send": "lines"}))
        for line in stream:
            taken.append(codec.decode(line))
            if isinstance(taken[-1], dict):
                break
        for each in daemon.lines:
            peer.sendall(codec.encode(each))

    daemon._answer = answer
    try:
        done = ctl("import_definitions", file(lines))
    finally:
        daemon._answer = original
    assert (0, True) == (done.code, done.out.endswith("\ndone\n"))
    assert ["rabbit_version", "3.5.0"] == taken[0]
    assert ["zebra", "x"] == taken[-2]
    assert {"end": len(taken) - 1} == taken[-1]
    queues = [items for name, items in taken[:-1] if name == "queues"]
    assert 1_000 == sum(map(len, queues))
    assert len(queues) > 1


def plan_of(daemon, *rows):
    daemon.lines = [{"columns": PLAN_COLUMNS}, *rows, {"end": len(rows)}]


@pytest.mark.parametrize(
    ("rows", "code", "told"),
    [
        ([], 0, "Nothing to do\n"),
        ([["skip", "queues", "/", "amq.q", "", "why", None]], 0, "Nothing to do (1 skipped)\n"),
        ([["create", "queues", "/", "q", "", None, None]], 1, "1 to create\n"),
        (
            [["update", "users", "", "u", "tags", [], ["a"]], ["update", "users", "", "u", "limits", {}, {}]],
            1,
            "1 to update\n",
        ),
        (
            [["create", "queues", "/", "q", "", None, None], ["conflict", "queues", "/", "r", "durable", True, False]],
            65,
            "1 to create, 1 in conflict\n",
        ),
    ],
)
def test_a_plan_ends_as_it_says(daemon, ctl, file, rows, code, told):
    plan_of(daemon, *rows)
    done = ctl("definitions", "plan", file({}))
    assert (code, True, "") == (done.code, done.out.endswith(told), done.err)
    assert code == ctl("definitions", "plan", "-q", "--formatter", "json", file({})).code


def test_a_plan_for_programs_has_rows_alone(daemon, ctl, file):
    plan_of(daemon, ["create", "queues", "/", "q", "", None, None])
    rows = json.loads(ctl("definitions", "plan", file({}), "--formatter", "json").out)
    assert [dict(zip(PLAN_COLUMNS, ["create", "queues", "/", "q", "", None, None], strict=True))] == rows


# -- with a node -------------------------------------------------------------------------------------------------------


def test_there_and_back_again():
    """F9-F13: from one node's file into another; by standard input too."""
    with tempfile.TemporaryDirectory(prefix="ctl") as name:
        node = LiveNode(Path(name))
        try:
            document = {"queues": [QUEUE], "vhosts": [{"name": "v"}], "rabbit_version": "3.10.8"}
            done = node.ctl("import_definitions", stdin=None, input=json.dumps(document))
            assert (0, "") == (done.returncode, done.stderr)
            assert (
                done.stdout
                == "Importing definitions in JSON from standard input ...\nDefinitions imported: 2 created\n"
            )
            path = str(Path(name) / "d.json")
            assert 0 == node.ctl("export_definitions", path).returncode
            assert "Nothing to do" in node.ctl("definitions", "plan", path).stdout
            assert 0 == node.ctl("delete_queue", "q").returncode
            done = node.ctl("definitions", "plan", path)
            assert (1, True) == (done.returncode, "create\tqueues\t/\tq\t\t\t\n1 to create\n" in done.stdout)
            broken = json.loads(Path(path).read_text())
            broken["bindings"] = [{"vhost": "/", "source": "x"}]
            done = node.ctl("import_definitions", stdin=None, input=json.dumps(broken))
            assert (65, True) == (
                done.returncode,
                "nothing was changed:\n * item 1 of bindings: it has no" in done.stderr,
            )
            assert "" == node.ctl("list_queues", "-q", "--no-table-headers").stdout
        finally:
            node.end()
