import sys
import types
from pathlib import Path

import pytest

from pybroker import paths
from pybroker.daemon.config.load import load
from pybroker.daemon.config.options import Options
from pybroker.daemon.main import VERSION_LINE, execute
from pybroker.daemon.start_error import StartError


@pytest.fixture(autouse=True)
def no_default_file(monkeypatch, tmp_path):
    monkeypatch.setenv("CONFIGURATION_DIRECTORY", str(tmp_path / "etc"))
    monkeypatch.delenv(paths.SOCKET_VARIABLE, raising=False)


@pytest.fixture
def booted(monkeypatch):
    """Return what would have been started; nothing is."""
    configs = []

    def boot(config):
        configs.append(config)
        return types.SimpleNamespace(run=lambda: 0)

    monkeypatch.setitem(sys.modules, "pybroker.daemon.boot", types.SimpleNamespace(boot=boot))
    return configs


def conf(tmp_path, text):
    path = tmp_path / "p.conf"
    path.write_text(text)
    return str(path)


def test_without_options_the_defaults_are_started(booted, capsys):
    assert execute([]) == 0
    assert [config.settings.config_files for config in booted] == [()]
    assert capsys.readouterr() == ("", "")


def test_options_and_file_come_together(booted, tmp_path):
    path = conf(tmp_path, "heartbeat = 7\nlisteners.tcp.default = 1")
    assert execute(["--config", path, "--port", "2"]) == 0
    (config,) = booted
    assert config.settings.heartbeat_s == 7
    assert [address.port for address in config.tcp] == [2]
    assert config.settings.config_files == (path,)


def test_the_default_file_is_read_if_it_is_there(booted, tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "pybroker.conf").write_text("heartbeat = 9")
    execute([])
    assert booted[0].settings.heartbeat_s == 9


def test_the_socket_may_come_from_the_environment(booted, monkeypatch):
    monkeypatch.setenv(paths.SOCKET_VARIABLE, "/e.sock")
    execute([])
    execute(["--socket", "/o.sock"])
    assert [config.control_socket for config in booted] == [Path("/e.sock"), Path("/o.sock")]


def test_data_kept_elsewhere_takes_its_log_along(tmp_path):
    assert load(Options(data_dir="/d")).log_dir == Path("/d/log")
    assert load(Options(data_dir="/d", config=conf(tmp_path, "log.dir = /l"))).log_dir == Path("/l")


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["--prot", "1"], "No such option '--prot'. Did you mean '--port'? (pybroker --help)"),
        (["stray"], "Got unexpected extra argument (stray) (pybroker --help)"),
        (
            ["--port", "65536"],
            "--port 65536: expected a port, or an IP address and a port: 5672, 127.0.0.1:5672, ::1:5672",
        ),
        (["--log-level", "loud"], "--log-level loud: expected debug, info, notice, warning, error, critical or none"),
    ],
)
def test_a_wrong_option_is_one_line_and_64(argv, line, booted, capsys):
    assert execute(argv) == 64
    assert capsys.readouterr() == ("", f"pybroker: {line}\n")
    assert booted == []


def test_a_wrong_key_is_one_line_and_78(booted, capsys, tmp_path):
    path = conf(tmp_path, "heartbeet = 1\nfoo = 2")
    assert execute(["--config", path]) == 78
    line = f"{path}:1: unknown key heartbeet; did you mean heartbeat? (and 1 more: see pybroker --check)"
    assert capsys.readouterr() == ("", f"pybroker: {line}\n")


def test_check_tells_every_fault_and_starts_nothing(booted, capsys, tmp_path):
    path = conf(tmp_path, "heartbeet = 1\nheartbeat = x")
    assert execute(["--check", "--config", path]) == 78
    assert capsys.readouterr().err.splitlines() == [
        f"pybroker: {path}:1: unknown key heartbeet; did you mean heartbeat?",
        f"pybroker: {path}:2: heartbeat = x: expected an integer from 0 to 65535",
    ]
    assert booted == []


def test_check_says_that_all_is_fine(booted, capsys, tmp_path):
    path = conf(tmp_path, "heartbeat = 1")
    assert execute(["--check", "--config", path]) == 0
    out, err = capsys.readouterr()
    first, *limits = out.splitlines()
    assert first == f"pybroker: the options and {path}: no faults"
    assert [line.partition(":")[0] for line in limits] == [
        "available memory",
        "memory limit",
        "paging threshold",
        "free disk limit",
    ]
    assert err == ""
    assert booted == []


def test_check_warns_of_what_is_odd(booted, capsys, tmp_path):
    path = conf(tmp_path, "vm_memory_high_watermark_paging_ratio = 2")
    assert execute(["--check", "--config", path]) == 0
    line = "vm_memory_high_watermark_paging_ratio = 2.0: contents are never paged out"
    assert capsys.readouterr().err == f"pybroker: warning: {line}\n"


def test_a_missing_file_is_one_line_and_66(booted, capsys, tmp_path):
    assert execute(["--config", str(tmp_path / "no.conf")]) == 66
    assert capsys.readouterr().err.count("\n") == 1


def test_what_keeps_it_from_starting_is_one_line_and_its_code(monkeypatch, capsys):
    def boot(config):
        raise StartError("cannot do\nthat", 73)

    monkeypatch.setitem(sys.modules, "pybroker.daemon.boot", types.SimpleNamespace(boot=boot))
    assert execute([]) == 73
    assert capsys.readouterr() == ("", "pybroker: cannot do that\n")


def test_ctrl_c_while_starting_is_no_traceback(monkeypatch, capsys):
    def boot(config):
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "pybroker.daemon.boot", types.SimpleNamespace(boot=boot))
    assert execute([]) == 130
    assert capsys.readouterr().err.strip() == ""


def test_version_names_the_rabbitmq_it_stands_for(capsys):
    assert execute(["--version"]) == 0
    assert capsys.readouterr().out == VERSION_LINE + "\n"
    assert "RabbitMQ 3.13.0" in VERSION_LINE


def test_help_shows_every_option(capsys):
    assert execute(["--help"]) == 0
    text = capsys.readouterr().out
    for name in Options._fields:
        assert f"--{name.replace('_', '-')}" in text
