"""Whether a listener can be reached, and who has a port."""

import os
import socket
from types import SimpleNamespace

import psutil
import pytest

from pybroker.daemon.port_probe import port_holder, why_unreachable


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost"])
def test_who_listens_is_reached(port, host):
    assert why_unreachable(host, port, 5) == ""


def test_who_does_not_is_told_by_the_systems_words(port):
    assert why_unreachable("127.0.0.9", port, 5) == "Connection refused"


def test_a_unix_socket_is_reached_by_its_path(tmp_path):
    path = str(tmp_path / "s")
    assert why_unreachable(path, 0, 5) == "No such file or directory"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        assert why_unreachable(path, 0, 5) == ""


def test_a_name_that_is_none_is_told(port):
    assert why_unreachable("no.such.host.invalid", port, 5)


def test_the_program_that_has_a_port_is_named_if_the_system_tells(port, monkeypatch):
    assert port_holder(port) == f"{psutil.Process().name()}, process {os.getpid()}"

    other = SimpleNamespace(status=psutil.CONN_LISTEN, laddr=SimpleNamespace(port=port), pid=None)
    found = psutil.net_connections
    with monkeypatch.context() as patch:
        patch.setattr(psutil, "net_connections", lambda kind: [*found(kind), other])
        assert port_holder(port) == ""

    def refuse(_):
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil, "net_connections", refuse)
    assert port_holder(port) == ""
