from pathlib import Path

from pybroker.daemon.config.conf_file import Assignment
from pybroker.daemon.config.config import configure
from pybroker.daemon.config.options import Options, overrule
from pybroker.daemon.config.values import Address


def config_of(in_file=(), **given):
    lines = [Assignment(key, value, f"f:{n}") for n, (key, value) in enumerate(in_file, 1)]
    return configure(overrule(lines, Options(**given).assignments())[0])


def test_nothing_typed_says_nothing():
    assert Options().assignments() == []


def test_a_port_is_of_all_interfaces():
    assert config_of(port="1").tcp == (Address("", 1),)


def test_addresses_get_the_port():
    assert config_of(port="1", bind=("127.0.0.1", "::1")).tcp == (Address("127.0.0.1", 1), Address("::1", 1))
    assert config_of(bind=("localhost",)).tcp == (Address("localhost", 5672),)


def test_typed_listeners_replace_those_of_the_file():
    in_file = [("listeners.tcp", "none"), ("listeners.tcp.a", "7"), ("listeners.unix.a", "/a")]
    assert config_of(in_file, port="1").tcp == (Address("", 1),)
    assert config_of(in_file, port="1").unix == (Path("/a"),)
    assert config_of(in_file, unix=("/b",)).unix == (Path("/b"),)
    assert config_of(in_file, unix=("/b",)).tcp == ()


def test_options_win_over_the_file():
    assert config_of([("node.name", "a@a")], node="b@b").node_name == "b@b"


def test_typed_paths_start_in_the_current_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    config = config_of(data_dir="d", socket="s", unix=("u",), log="l")
    assert config.data_dir == tmp_path / "d"
    assert config.control_socket == tmp_path / "s"
    assert config.unix == (tmp_path / "u",)
    assert config.log_file == tmp_path / "l"


def test_a_dash_logs_to_standard_output_only():
    config = config_of(log="-", log_level="debug")
    assert (config.log_file, config.console, config.console_level) == (None, True, "debug")


def test_the_level_is_for_the_file_too():
    assert config_of(log_level="error").log_level == "error"
