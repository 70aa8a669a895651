import os
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pybroker import paths
from pybroker.core.settings import Settings
from pybroker.daemon import boot
from pybroker.daemon.boot import _ctl_command, _make_runtime_folder, describe_codec
from pybroker.daemon.config.config import Config
from pybroker.daemon.start_error import StartError


def config_with(path, **named):
    return Config(control_socket=path, settings=Settings(node_name=named.get("node", paths.default_node_name())))


def test_the_tool_is_called_by_its_path_where_no_shell_finds_it(monkeypatch, tmp_path):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "bin" / "pybroker")])
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pybrokerctl").touch(0o755)
    config = config_with(tmp_path / "a@b.sock")
    monkeypatch.setenv("PATH", "/nowhere")
    assert _ctl_command(config) == str(tmp_path / "bin" / "pybrokerctl")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert _ctl_command(config) == "pybrokerctl"


def test_a_socket_elsewhere_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    assert _ctl_command(config_with(Path("/elsewhere/s"))).endswith("pybrokerctl --socket /elsewhere/s")


def test_a_node_of_another_name_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    assert _ctl_command(config_with(tmp_path / "a@b.sock", node="a@b")).endswith("pybrokerctl -n a@b")


def test_the_runtime_folder_is_made(monkeypatch, tmp_path):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run" / "pybroker"))
    _make_runtime_folder(config_with(paths.control_socket("a@b")))
    assert (tmp_path / "run" / "pybroker").is_dir()


def test_another_folder_is_the_operators_business(monkeypatch, tmp_path):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    _make_runtime_folder(config_with(tmp_path / "none" / "s"))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("theirs", ["", "pybroker"])
def test_a_runtime_folder_that_somebody_else_made_is_refused(monkeypatch, tmp_path, theirs):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run" / "pybroker"))
    (tmp_path / "run" / "pybroker").mkdir(parents=True)
    folder = tmp_path / "run" / theirs
    stat = Path.stat

    def owned_by_another(path, **options):
        found = stat(path, **options)
        return os.stat_result([*found[:4], 12_345, *found[5:]]) if path == folder else found

    monkeypatch.setattr(Path, "stat", owned_by_another)
    with pytest.raises(StartError) as caught:
        _make_runtime_folder(config_with(tmp_path / "run" / "pybroker" / "a@b.sock"))
    assert caught.value.code == 77
    assert caught.value.text == f"the folder {folder} belongs to another user: specify --socket"


def test_the_codec_in_c_needs_no_words(monkeypatch):
    monkeypatch.setattr(boot, "CODEC", "C")
    assert describe_codec() == "C"


@pytest.mark.parametrize(
    ("pure", "advice"),
    [
        ("", "for the C codec, install gcc and python3-dev, then reinstall pybroker"),
        ("1", "unset PYBROKER_PURE to use the C codec"),
    ],
)
def test_the_codec_in_python_says_what_it_costs_and_how_to_have_the_other(monkeypatch, pure, advice):
    monkeypatch.setattr(boot, "CODEC", "pure Python")
    monkeypatch.setenv("PYBROKER_PURE", pure)
    assert describe_codec() == f"pure Python, several times slower with small messages; {advice}"


def test_the_screen_says_where_clients_connect():
    def listener(protocol, port, path=""):
        return SimpleNamespace(protocol=protocol, port=port, path=path)

    both = [listener("amqp", 0, "/run/amqp"), listener("amqp", 5672), listener("amqp/ssl", 5671), listener("amqp", 1)]
    assert boot._addresses(both, with_certificate=False) == [
        ("amqp://guest:guest@localhost:5672/", "connect a client on this machine"),
        ("amqps://guest:guest@localhost:5671/", "connect a client on this machine over TLS"),
    ]
    assert boot._addresses(both, with_certificate=True)[1] == (
        "amqps://guest:guest@localhost:5671/",
        "connect a client on this machine over TLS, with a certificate of its own",
    )
    assert boot._addresses(both[:1], with_certificate=False) == []


def test_the_screen_says_where_pybroker_web_answers(monkeypatch):
    monkeypatch.setattr(boot, "_is_free", lambda *_: True)
    config = Config(web=True, prometheus_host="::1", prometheus_port=15_692)
    assert boot._web_addresses(config) == [
        ("web interface", "http://127.0.0.1:15672/"),
        ("metrics", "http://[::1]:15692/metrics"),
    ]
    config.management = config.management._replace(tls=object(), tls_host="0.0.0.0")
    assert boot._web_addresses(config)[1] == ("web interface over TLS", "https://localhost:15671/")
    config.management = None
    config.prometheus_host = "::"
    assert boot._web_addresses(config) == [("metrics", "http://localhost:15692/metrics")]
    config.prometheus_port = 0
    assert boot._web_addresses(config) == []
    config.prometheus_port, config.prometheus = 15_692, False
    assert boot._web_addresses(config) == []
    assert not config.has_web
    config.prometheus = True
    assert config.has_web
    config.web = False
    assert boot._web_addresses(config) == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_screen_says_which_port_another_program_has(host):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        config = Config(web=True, management=None, prometheus_host=host, prometheus_port=port)
        assert boot._web_addresses(config) == [("metrics", f"http://{host}:{port}/metrics{boot.TAKEN}")]
    assert boot._web_addresses(config) == [("metrics", f"http://{host}:{port}/metrics")]


def test_what_cannot_be_tried_is_not_called_taken():
    assert boot._is_free("no.such.host.invalid", 1)
