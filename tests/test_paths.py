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


def test_a_runtime_folder_of_another_user_is_left_alone(monkeypatch, tmp_path):
    for name in ("STATE", "RUNTIME"):
        monkeypatch.delenv(f"{name}_DIRECTORY", raising=False)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1000)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    squatted = tmp_path / "runtime-1000"
    squatted.mkdir()
    monkeypatch.setattr(paths, "usual_runtime_dir", lambda: squatted / "pybroker")
    # Root's folders are trusted, as /run/user is.
    expected = tmp_path / "data" / "pybroker" / "run" if me else squatted / "pybroker"
    assert paths.runtime_dir() == expected
    monkeypatch.setattr(paths, "taken_by_another", lambda _: True)
    assert paths.runtime_dir() == tmp_path / "data" / "pybroker" / "run"


def test_what_platformdirs_refuses_is_left_alone_too(monkeypatch, tmp_path):
    for name in ("STATE", "RUNTIME"):
        monkeypatch.delenv(f"{name}_DIRECTORY", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1_000)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    def refuse(*_given, **_options):
        raise PermissionError("runtime directory /tmp/runtime-1000 is owned by uid 0, not 1000")

    monkeypatch.setattr("platformdirs.user_runtime_path", refuse)
    assert paths.runtime_dir() == tmp_path / "pybroker" / "run"


def test_what_is_not_there_is_nobodys(tmp_path):
    assert not paths.taken_by_another(tmp_path / "a" / "b")


def test_a_folder_whose_owner_is_somebody_else_is_taken(monkeypatch, tmp_path):
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner)
    assert not paths.taken_by_another(tmp_path / "pybroker")
    os.chown(tmp_path, 4_242, -1) if owner == 0 else monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert paths.taken_by_another(tmp_path / "pybroker")
