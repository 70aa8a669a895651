"""A reload is all or nothing, and told in the log, in the audit log and among the alarms."""

import json
import os
import signal

import pytest

from pybroker.control.spec import Refused
from pybroker.core.events.cause import Cause
from pybroker.daemon.config.load import load
from pybroker.daemon.config.options import Options
from pybroker.daemon.configuration import Configuration
from pybroker.daemon.log.log_format import LineFormatter
from pybroker.daemon.start_error import StartError
from pybroker.daemon.system.systemd import Notifier
from tests.daemon.config.test_difference import state
from tests.daemon.running import Running
from tests.fakes import World

BY_HAND = Cause("command config_reload", "rmq-cli", "pid 7")


class Node:
    """A broker with a configuration file, and a part that prepares."""

    def __init__(self, path):
        self.path = path
        self.world = World()
        self.write("")
        self.config = load(Options(config=str(path)))
        self.config.name_node("n@h")
        self.fault = None
        self.prepared = []
        self.in_force = []
        self.noted = []
        self.world.broker.events.add_receiver(lambda name, facts, cause, _more: self.noted.append((name, facts, cause)))
        notifier = Notifier({})
        parts = [self.prepare, self.other]
        self.configuration = Configuration(self.world.broker, self.config, notifier, parts)

    def prepare(self, target, _wanted):
        self.prepared.append(target.settings.heartbeat_s)
        return lambda: self.in_force.append(self.config.settings.heartbeat_s)

    def other(self, _target, _wanted):
        if self.fault is not None:
            raise self.fault
        return lambda: None

    def write(self, text):
        self.path.write_text(text)


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path / "p.conf")


def test_what_changed_is_told(node, caplog):
    node.write("heartbeat = 20\ndata_dir = /b\ndefault_user = a\n")
    assert node.configuration.reload(BY_HAND) == {
        "changed": ["heartbeat"],
        "restart": ["data_dir", "pid_file"],
        "new_node": ["default_user"],
        "kept": [],
        "renewed": [],
        "message": "The configuration is reloaded; 1 value has changed:\n"
        " * heartbeat = 20 (before: 60)\n"
        "Restart the node for: data_dir, pid_file\n"
        "Without effect, since only a new node reads them: default_user",
    }
    assert node.config.settings.heartbeat_s == 20
    assert (node.prepared, node.in_force) == ([20], [20])


def test_without_a_change_parts_are_asked_all_the_same(node):
    assert node.configuration.reload(BY_HAND)["message"] == "The configuration is reloaded; no value has changed"
    assert node.in_force == [60]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("heartbeat = 20\nchannel_max = x\n", "{path}:2: channel_max = x: expected an integer from 0 to 65535"),
        ("heartbeat = 20\nhartbeat = 1\n", "{path}:2: unknown key hartbeat; did you mean heartbeat?"),
        (
            "heartbeat = 20\ndefault_pass = $(</none)\n",
            "{path}:2: default_pass: cannot read /none: No such file or directory",
        ),
    ],
)
def test_a_bad_file_changes_nothing(node, text, problem):
    before = state(node.config)
    node.write(text)
    with pytest.raises(Refused) as caught:
        node.configuration.reload(BY_HAND)
    problem = problem.format(path=node.path)
    assert caught.value.text == f"The configuration is not reloaded, nothing has changed:\n * {problem}"
    assert caught.value.facts == {"problems": [problem]}
    assert caught.value.exit_code == os.EX_CONFIG
    assert state(node.config) == before
    assert node.prepared == node.in_force == []
    assert node.noted == [("config.refused", {"error": problem}, BY_HAND)]


def test_a_part_that_cannot_refuses_all(node):
    before = state(node.config)
    node.write("heartbeat = 20\n")
    node.fault = StartError("the key does not belong to the certificate", 78)
    with pytest.raises(Refused, match="the key does not belong to the certificate"):
        node.configuration.reload(BY_HAND)
    assert state(node.config) == before
    assert node.in_force == []


def test_what_a_part_renews_is_told_beside_the_values(node):
    node.other = lambda _target, _wanted: lambda: "new connections get the certificate in c.pem"
    node.configuration = Configuration(node.world.broker, node.config, Notifier({}), [node.other, node.prepare])
    told = node.configuration.reload(BY_HAND)
    assert told["renewed"] == ["new connections get the certificate in c.pem"]
    assert told["message"].splitlines() == [
        "The configuration is reloaded; no value has changed",
        " * new connections get the certificate in c.pem",
    ]


def test_a_bug_in_one_part_does_not_keep_the_others_from_following(node, caplog):
    node.other = lambda _target, _wanted: lambda: 1 / 0
    node.configuration = Configuration(node.world.broker, node.config, Notifier({}), [node.other, node.prepare])
    node.write("heartbeat = 20\n")
    assert node.configuration.reload(BY_HAND)["changed"] == ["heartbeat"]
    assert node.in_force == [20]
    assert "ZeroDivisionError" in caplog.text


def test_a_file_that_is_gone_refuses_all(node):
    node.path.unlink()
    with pytest.raises(Refused, match="cannot read the configuration file") as caught:
        node.configuration.reload(BY_HAND)
    assert caught.value.exit_code == os.EX_NOINPUT


def test_a_notice_stays_among_the_alarms_until_a_reload_succeeds(node):
    notices = node.world.broker.notices
    node.write("heartbeat = x\n")
    for _ in range(2):
        with pytest.raises(Refused):
            node.configuration.reload(BY_HAND)
        assert len(notices) == 1
        assert f"{node.path}:1: heartbeat = x: expected an integer" in notices[0]
    node.write("heartbeat = y\n")
    with pytest.raises(Refused):
        node.configuration.reload(BY_HAND)
    assert len(notices) == 1
    assert "heartbeat = y" in notices[0]
    node.write("")
    node.configuration.reload(BY_HAND)
    assert notices == []


def test_the_audit_log_has_the_keys_and_who_it_was(node):
    node.write("heartbeat = 20\nchannel_max = 5\n")
    node.configuration.reload(BY_HAND)
    assert node.noted == [("config.reloaded", {"changed": ["heartbeat", "channel_max"]}, BY_HAND)]


def test_differences_are_told_without_a_reload(node):
    node.write("heartbeat = 20\n")
    assert [each.key for each in node.configuration.difference(everything=False)] == ["heartbeat"]
    assert len(node.configuration.difference(everything=True)) > 40
    assert node.config.settings.heartbeat_s == 60
    node.write("heartbeat = x\n")
    with pytest.raises(Refused, match="The configuration is invalid"):
        node.configuration.difference(everything=False)
    assert node.world.broker.notices == []


# -- a running node ----------------------------------------------------------------------------------------------------


@pytest.fixture
def running(tmp_path):
    (tmp_path / "p.conf").write_text("")
    running = Running(tmp_path, config=tmp_path / "p.conf")
    yield running
    code, stderr = running.stop()
    assert code == 0, stderr
    assert "Traceback" not in running.log + stderr


def hang_up(running, text, expected):
    (running.folder / "p.conf").write_text(text)
    os.kill(running.pid, signal.SIGHUP)
    running.wait_for_log(expected)


def test_sighup_reloads_and_a_bad_file_is_an_alarm(running):
    hang_up(running, "heartbeat = 20\nlog.file.level = debug\ntelemetry.interval = 5000\n", "3 values have changed")
    settings = json.loads(running.ctl("environment", "--formatter", "json"))
    assert settings["heartbeat"] == {"value": "20", "source": f"{running.folder}/p.conf:1"}
    assert json.loads(running.ctl("status", "--formatter", "json"))["telemetry"]["interval_ms"] == 5000
    hang_up(running, "heartbeat = x\n", "p.conf:1: heartbeat = x: expected an integer from 0 to 65535")
    assert "the configuration could not be reloaded" in running.ctl("alarms")
    assert json.loads(running.ctl("environment", "--formatter", "json"))["heartbeat"]["value"] == "20"
    hang_up(running, "", "heartbeat = 60 (before: 20)")
    assert "the configuration could not be reloaded" not in running.ctl("alarms")
    audited = running.ctl("audit", "--formatter", "json")
    assert "config.reloaded" in audited
    assert "config.refused" in audited
    assert "signal SIGHUP" in audited


def test_the_commands_of_the_configuration(running):
    path = running.folder / "p.conf"
    path.write_text("heartbeat = 20\ndata_dir = /elsewhere\n")
    told = running.ctl("config", "diff", "-q")
    assert f"{path}:1" in told
    assert "reload" in told
    assert "restart" not in told  # the option overrides it
    assert "no faults" in running.ctl("config_check", "--config", str(path)).lower()
    assert "heartbeat = 20 (before: 60)" in running.ctl("config", "reload")
    told = running.ctl("config_explain", "heartbeat")
    assert f"In effect: heartbeat = 20 ({path}:1)" in told
    assert "A change needs: reload" in told
    path.write_text("heartbeat = x\n")
    assert f"{path}:1: heartbeat = x: expected" in running.ctl("config_reload", expected=os.EX_CONFIG)
    assert f"{path}:1: heartbeat = x: expected" in running.ctl("config_diff", expected=os.EX_CONFIG)
    assert f"{path}:1: heartbeat = x: expected" in running.ctl("config_check", "--config", str(path), expected=78)
    refused = json.loads(running.ctl("config_check", "--config", str(path), "--formatter", "json", expected=78))
    assert refused["problems"] == [f"{path}:1: heartbeat = x: expected an integer from 0 to 65535"]
    path.write_text("")


def test_values_that_commands_have_set_stay(running):
    running.ctl("set_log_level", "warning")
    running.ctl("set_vm_memory_high_watermark", "0.3")
    running.ctl("set_disk_free_limit", "1000")
    (running.folder / "p.conf").write_text("heartbeat = 20\n")
    told = running.ctl("config_reload")
    assert "Unchanged, since they were set with pybrokerctl" in told
    settings = json.loads(running.ctl("environment", "--formatter", "json"))
    assert settings["log.file.level"]["value"] == "warning"
    assert settings["vm_memory_high_watermark.relative"]["value"] == "0.3"
    assert settings["disk_free_limit.absolute"]["value"] == "1000"
    (running.folder / "p.conf").write_text("log.file.level = debug\nvm_memory_high_watermark.absolute = 1GB\n")
    running.ctl("config_reload")
    settings = json.loads(running.ctl("environment", "--formatter", "json"))
    assert settings["log.file.level"] == {"value": "debug", "source": f"{running.folder}/p.conf:1"}
    assert settings["vm_memory_high_watermark.absolute"]["value"] == "1GB"
    assert settings["disk_free_limit.absolute"] == {"value": "1000", "source": "pybrokerctl"}
    (running.folder / "p.conf").write_text("")


def test_the_log_has_a_fault_whole(node, caplog):
    key = "x" * 300
    node.write(f"{key} = 1\n")
    with pytest.raises(Refused):
        node.configuration.reload(BY_HAND)
    assert f"the configuration is not reloaded: {node.path}:1: unknown key {key}" in LineFormatter().format(
        caplog.records[-1]
    )
