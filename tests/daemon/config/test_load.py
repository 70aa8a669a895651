"""The configuration file, those of conf.d, and options: which one holds, and what is refused."""

import os
from pathlib import Path

import pytest

from pybroker.daemon.config.config import ConfigError
from pybroker.daemon.config.environment import effective
from pybroker.daemon.config.load import load
from pybroker.daemon.config.options import Options
from pybroker.daemon.start_error import StartError


@pytest.fixture
def etc(tmp_path, monkeypatch):
    monkeypatch.setenv("CONFIGURATION_DIRECTORY", str(tmp_path / "etc"))
    (tmp_path / "etc/conf.d").mkdir(parents=True)
    return tmp_path / "etc"


def rows(config):
    return {row.key: (row.value, row.source) for row in effective(config)}


def test_later_files_override_and_say_where(etc):
    (etc / "pybroker.conf").write_text("heartbeat = 10\nchannel_max = 5\n")
    (etc / "conf.d/20-b.conf").write_text("heartbeat = 30\n")
    (etc / "conf.d/10-a.conf").write_text("\nheartbeat = 20\nconnection_max = 7\n")
    config = load(Options())
    assert rows(config)["heartbeat"] == ("30", f"{etc}/conf.d/20-b.conf:1")
    assert rows(config)["connection_max"] == ("7", f"{etc}/conf.d/10-a.conf:3")
    assert rows(config)["channel_max"] == ("5", f"{etc}/pybroker.conf:2")
    assert [(each.value, each.where) for each in config.overridden] == [
        ("10", f"{etc}/pybroker.conf:1"),
        ("20", f"{etc}/conf.d/10-a.conf:2"),
    ]
    assert config.settings.heartbeat_s == 30
    assert config.settings.config_files == tuple(
        f"{etc}/{name}" for name in ("pybroker.conf", "conf.d/10-a.conf", "conf.d/20-b.conf")
    )


def test_the_folder_is_enough_and_other_files_in_it_are_not_read(etc):
    (etc / "conf.d/a.conf").write_text("heartbeat = 10\n")
    for name in (".hidden.conf", "a.conf.dpkg-old", "README"):
        (etc / "conf.d" / name).write_text("nonsense")
    assert load(Options()).settings.heartbeat_s == 10


def test_a_file_may_be_in_the_classic_form(etc):
    (etc / "pybroker.conf").write_text("heartbeat = 10\n")
    (etc / "conf.d/a.conf").write_text("[{rabbit, [{heartbeat, 20}]}].\n")
    assert load(Options()).settings.heartbeat_s == 20


def test_the_other_form_of_a_key_is_overridden_too(etc):
    (etc / "pybroker.conf").write_text(
        "listeners.tcp = none\nloopback_users.a = true\nvm_memory_high_watermark.absolute = 1GB\n"
    )
    (etc / "conf.d/a.conf").write_text(
        "listeners.tcp.x = 7\nloopback_users = none\nvm_memory_high_watermark.relative = 0.5\n"
    )
    config = load(Options())
    assert [address.port for address in config.tcp] == [7]
    assert config.settings.loopback_users == frozenset()
    assert config.settings.watermarks.memory_relative == 0.5
    assert config.settings.watermarks.memory_octets is None
    assert len(config.overridden) == 3


def test_lists_of_several_files_add_up(etc):
    (etc / "pybroker.conf").write_text("listeners.tcp.x = 7\n")
    (etc / "conf.d/a.conf").write_text("listeners.tcp.y = 8\n")
    assert [address.port for address in load(Options()).tcp] == [7, 8]


def test_faults_of_all_files_are_told_with_file_and_line(etc):
    (etc / "pybroker.conf").write_text("heartbeat = x\nhartbeat = 1\n")
    (etc / "conf.d/a.conf").write_text("\nchannel_max\n")
    (etc / "conf.d/b.conf").write_text("channel_max = -1\n")
    with pytest.raises(ConfigError) as caught:
        load(Options())
    assert [problem.partition(": ")[0] for problem in caught.value.problems] == [
        f"{etc}/conf.d/a.conf:2",
        f"{etc}/conf.d/b.conf:1",
        f"{etc}/pybroker.conf:1",
        f"{etc}/pybroker.conf:2",
    ]


def test_the_folder_is_beside_the_file_that_is_named(etc, tmp_path):
    (etc / "conf.d/a.conf").write_text("heartbeat = 10\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/p.conf").write_text("channel_max = 5\n")
    assert load(Options(config=str(tmp_path / "other/p.conf"))).settings.heartbeat_s == 60
    assert load(Options(config=str(etc / "conf.d/a.conf"))).settings.heartbeat_s == 10


def test_an_option_overrides_every_file(etc):
    (etc / "pybroker.conf").write_text("node.name = a@a\nlisteners.tcp.x = 7\n")
    (etc / "conf.d/a.conf").write_text("node.name = b@b\n")
    config = load(Options(node="c@c", port="1"))
    assert config.node_name == "c@c"
    assert [address.port for address in config.tcp] == [1]
    assert sorted((each.key, each.value) for each in config.overridden) == [
        ("listeners.tcp.x", "7"),
        ("node.name", "a@a"),
        ("node.name", "b@b"),
    ]


def test_a_file_that_cannot_be_read_refuses_all(etc):
    (etc / "conf.d/a.conf").mkdir()
    with pytest.raises(StartError, match=r"cannot read the configuration file .*/a\.conf: Is a directory"):
        load(Options())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_refuses_all(etc):
    (etc / "conf.d").chmod(0)
    with pytest.raises(StartError, match="cannot read the configuration folder"):
        load(Options())


def test_passwords_in_files_are_used_and_never_shown(etc):
    (etc / "pass").write_text("s3cret\n")
    (etc / "pybroker.conf").write_text(
        "default_pass = $(<pass)\ndefault_users.a.password = $(<pass)\ndefault_user = $(<pass)\n"
    )
    config = load(Options())
    assert (config.settings.default_pass, config.settings.default_user) == ("s3cret", "s3cret")
    assert config.settings.default_users["a"]["password"] == "s3cret"
    assert rows(config)["default_pass"] == ("$(<pass)", f"{etc}/pybroker.conf:1")
    assert "s3cret" not in str(rows(config))


def test_a_fault_does_not_show_what_is_in_a_file(etc):
    (etc / "value").write_text("(s3cret\n")
    for key in ("heartbeat", "default_permissions.read", "log.file.level", "data_dir", "node.name"):
        (etc / "pybroker.conf").write_text(f"{key} = $(<{etc}/value)\n")
        with pytest.raises(ConfigError) as caught:
            load(Options())
        shown = f"$(<{etc}/value)"[:80]  # a long path is cut off
        assert f"pybroker.conf:1: {key} = {shown}: expected " in caught.value.text
        assert "s3cret" not in caught.value.text


def test_no_folder_is_no_fault(tmp_path, monkeypatch):
    monkeypatch.setenv("CONFIGURATION_DIRECTORY", str(tmp_path / "none"))
    config = load(Options())
    assert config.settings.config_files == ()
    assert load(Options(config=os.devnull)).settings.config_files == (str(Path(os.devnull)),)
