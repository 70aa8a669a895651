"""Whether a listener can be reached."""

import socket

import pytest

from pybroker.daemon.port_probe import why_unreachable


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
