"""load_definitions: what a node has before anybody is served, and what keeps it from starting."""

import json
import logging
import os

import pytest

from pybroker.daemon import loading
from pybroker.daemon.config.conf_file import parse_conf
from pybroker.daemon.config.config import Config, configure
from pybroker.daemon.log.log_format import LineFormatter
from pybroker.daemon.start_error import StartError
from tests.daemon.running import Running
from tests.fakes import World

QUEUE = {"vhost": "/", "name": "q"}
USER = {"name": "u", "password": "p", "tags": ["administrator"]}


@pytest.fixture
def world():
    return World(seeds_defaults=False)


def config_of(*places, **options):
    return Config(definitions=places, **options)


def write(path, content):
    path.write_text(json.dumps(content))
    return path


def test_a_named_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StartError, match=r"cannot read the definitions in .*pipe: not a regular file"):
        loading.read((tmp_path / "pipe",))


def test_a_fresh_node_that_loads_definitions_has_no_defaults(world, tmp_path):
    """Neither guest nor / but for what the file has; RabbitMQ does so as well."""
    assert (0, {}) == (len(world.broker.users), world.broker.vhosts)
    path = write(tmp_path / "d.json", {"users": [USER], "vhosts": [{"name": "v"}]})
    loading.load(config_of(path), world.broker)
    assert (["u"], ["v"]) == ([user.name for user in world.broker.users], list(world.broker.vhosts))


def test_a_folders_files_count_in_the_order_of_their_names(world, tmp_path):
    write(tmp_path / "20.json", {"vhosts": [{"name": "/", "description": "later"}], "queues": [QUEUE]})
    write(tmp_path / "10.json", {"vhosts": [{"name": "/", "description": "first"}]})
    (tmp_path / ".hidden").write_text("nonsense")
    (tmp_path / "folder").mkdir()
    loading.load(config_of(tmp_path), world.broker)
    assert "later" == world.vhost.description
    assert ["q"] == list(world.vhost.queues)


def test_each_file_has_its_own_version(tmp_path):
    old = {"name": "old", "tags": "", "password_hash": "AAAA"}
    write(tmp_path / "1", {"rabbit_version": "3.5.0", "users": [old]})
    write(tmp_path / "2", {"users": [{**old, "name": "new"}]})
    found = loading.read((tmp_path,))
    assert ["rabbit_password_hashing_md5", "rabbit_password_hashing_sha256"] == [
        item.value["hashing_algorithm"] for item in found
    ]


def test_without_any_nothing_is_done(world):
    loading.load(config_of(), world.broker)


def test_a_node_without_users_says_so(world, tmp_path, caplog):
    caplog.set_level(logging.INFO, "pybroker")
    path = write(tmp_path / "d.json", {"vhosts": [{"name": "/"}], "queues": [{**QUEUE, "name": "amq.x"}]})
    loading.load(config_of(path), world.broker)
    assert [
        "definitions: queue 'amq.x' in vhost '/' is skipped: its name begins with 'amq.'",
        f"Definitions imported: 1 created, 1 skipped from {path}",
        "no user exists, so no client can connect; create one with 'pybrokerctl add_user'",
    ] == caplog.messages


def test_the_same_again_is_skipped_where_that_is_configured(world, tmp_path, caplog):
    caplog.set_level(logging.INFO, "pybroker")
    path = write(tmp_path / "d.json", {"users": [USER], "vhosts": [{"name": "/"}]})
    for _ in range(2):
        loading.load(config_of(path, definitions_skipped_if_unchanged=True), world.broker)
    assert caplog.messages[-1] == f"The definitions are unchanged since the last import and were skipped from {path}"


@pytest.mark.parametrize(
    ("content", "code", "text"),
    [
        ("nonsense", 65, "the definitions in {path} are not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("[]", 65, "the definitions in {path} are not a JSON object"),
        (
            '{"queues":[{"name":"q"}]}',
            65,
            (
                "the definitions in {path} cannot be loaded: item 1 of queues: it has no virtual host; import "
                "definitions of a single virtual host with --vhost"
            ),
        ),
        (
            '{"queues":[{"name":"q","vhost":"v"},{"name":"r","vhost":"v"}]}',
            65,
            (
                "the definitions in {path} cannot be loaded: queue 'q' in vhost 'v': virtual host 'v' does not exist "
                "(and 1 more; see the log)"
            ),
        ),
        (None, 66, "cannot read the definitions in {path}: No such file or directory"),
    ],
)
def test_a_broken_file_is_told_in_a_sentence(world, tmp_path, content, code, text):
    path = tmp_path / "d.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(StartError) as caught:
        loading.load(config_of(path), world.broker)
    assert (text.format(path=path), code) == (caught.value.text, caught.value.code)
    assert {} == world.broker.vhosts


def configured(text):
    assignments, problems = parse_conf(text.encode(), "f")
    return configure(assignments, problems)


def test_three_keys_mean_the_same():
    lines = ["definitions.local.path = /c", "load_definitions = /a", "management.load_definitions = /b"]
    config = configured("\n".join([*lines, "definitions.import_backend = local_filesystem"]))
    assert ["/a", "/b", "/c"] == [str(path) for path in config.definitions]
    assert not config.settings.seeds_defaults
    assert configured("").settings.seeds_defaults


def test_a_node_starts_with_what_it_loads_and_not_with_what_it_cannot(tmp_path):
    path = write(tmp_path / "d.json", {"users": [USER], "vhosts": [{"name": "v"}], "queues": [{**QUEUE, "vhost": "v"}]})
    conf = tmp_path / "c.conf"
    conf.write_text(f"load_definitions = {path}\n")
    options = ("--port", "0", "--bind", "127.0.0.1", "--node", "test@here", "--config", str(conf))
    node = Running(tmp_path, *options)
    try:
        assert ["q"] == node.ctl("list_queues", "-p", "v", "-q", "--no-table-headers", "name").split()
        assert ["u", "[administrator]"] == node.ctl("list_users", "-q", "--no-table-headers").split()
        assert not [line for line in node.places["next"] if "guest" in line]
        # After a reset the node is as fresh as at its first start.
        for word in ("stop_app", "reset", "start_app"):
            node.ctl(word)
        assert ["u", "[administrator]"] == node.ctl("list_users", "-q", "--no-table-headers").split()
        assert ["v"] == node.ctl("list_vhosts", "-q", "--no-table-headers").split()
    finally:
        node.stop()
    path.write_text("nonsense")
    code, stderr = Running(tmp_path, *options).ended()
    assert (65, f"pybroker: the definitions in {path} are not JSON") == (code, stderr.partition(": Expecting")[0])


def test_the_log_has_all_faults_whole(world, tmp_path, caplog):
    path = tmp_path / "d.json"
    names = [letter * 200 for letter in "qr"]
    path.write_text(json.dumps({"queues": [{"name": name, "vhost": "v"} for name in names]}))
    with pytest.raises(StartError, match="see the log"):
        loading.load(config_of(path), world.broker)
    line = LineFormatter().format(caplog.records[-1])
    for name in names:
        assert f" * queue '{name}' in vhost 'v': virtual host 'v' does not exist" in line
    assert len(line.splitlines()) == 3


@pytest.mark.parametrize(
    ("queue", "more", "text"),
    [
        ({}, {}, None),
        ({"arguments": {"x-max-length": -1}}, {}, "invalid arg 'x-max-length' for queue 'q' in vhost 'v'"),
        ({"arguments": {"x-max-length": -1}}, {"vhosts": []}, "invalid arg 'x-max-length' for queue 'q' in vhost 'v'"),
        # They may be on the node.
        ({}, {"vhosts": [], "users": []}, None),
    ],
)
def test_files_are_checked_as_at_a_start(tmp_path, queue, more, text):
    permission = {"user": "u", "vhost": "v", "configure": "", "write": "", "read": ""}
    content = {"users": [USER], "vhosts": [{"name": "v"}], "queues": [{**QUEUE, "vhost": "v", **queue}]}
    path = write(tmp_path / "d.json", {**content, "permissions": [permission], **more})
    config = config_of(path)
    if text is None:
        assert loading.check(config) == (4 if not more else 2)
    else:
        with pytest.raises(StartError, match=text) as caught:
            loading.check(config)
        assert caught.value.code == 65
