import os
import socket
from pathlib import Path

import pytest

from pybroker import paths


@pytest.fixture
def runtime_dir(monkeypatch, tmp_path):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    monkeypatch.setattr(paths, "SYSTEM_RUNTIME_DIR", tmp_path / "none")
    return tmp_path


def listening(path):
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    return server


def test_the_default_node_name_has_no_domain(monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "box.example.org")
    assert paths.default_node_name() == "pybroker@box"


def test_root_gets_the_systems_folders(monkeypatch):
    for name in ("STATE", "LOGS", "RUNTIME", "CONFIGURATION"):
        monkeypatch.delenv(f"{name}_DIRECTORY", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert paths.data_dir() == Path("/var/lib/pybroker")
    assert paths.log_dir() == Path("/var/log/pybroker")
    assert paths.control_socket("a@b") == Path("/run/pybroker/a@b.sock")
    assert paths.config_file() == Path("/etc/pybroker/pybroker.conf")


def test_a_user_gets_folders_of_the_own_home(monkeypatch):
    for name in ("STATE", "LOGS", "RUNTIME", "CONFIGURATION"):
        monkeypatch.delenv(f"{name}_DIRECTORY", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_DATA_HOME", "/home/u/share")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/u/config")
    assert paths.data_dir() == Path("/home/u/share/pybroker")
    assert paths.config_file() == Path("/home/u/config/pybroker/pybroker.conf")


def test_the_folders_that_systemd_made_win(monkeypatch):
    monkeypatch.setenv("STATE_DIRECTORY", "/srv/a:/srv/b")
    assert paths.data_dir() == Path("/srv/a")


def test_a_listening_socket_is_found_and_a_leftover_is_not(runtime_dir):
    dead = listening(runtime_dir / "dead@host.sock")
    dead.close()
    (runtime_dir / "note.sock").write_text("no socket")
    with listening(runtime_dir / "live@host.sock"):
        assert paths.running_sockets() == [runtime_dir / "live@host.sock"]


def test_no_runtime_folder_means_no_node(runtime_dir):
    runtime_dir.rmdir()
    assert paths.running_sockets() == []
