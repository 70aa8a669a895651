"""Listening sockets: addresses, Unix socket files, and running out of file descriptors."""

import errno
import logging
import socket
import stat

import gevent
import pytest
from gevent import get_hub
from pamqp import commands

from pybroker.net.listener import (
    SEND_BUFFER_OCTETS,
    USER_TIMEOUT_MS,
    Listener,
    _is_here,
    tcp_socket,
    unix_socket,
)
from pybroker.net.spare_time import SpareTime
from tests.loop import until


@pytest.fixture
def accepted():
    sockets: list[socket.socket] = []
    yield sockets
    for sock in sockets:
        sock.close()


@pytest.fixture
def spare():
    return SpareTime(get_hub().loop, lambda work: work(), lambda: False)


@pytest.fixture
def listen(accepted, spare):
    listeners = []

    def listen(sock, path=""):
        listeners.append(Listener(sock, get_hub().loop, spare, accepted.append, path))
        listeners[-1].start()
        return listeners[-1]

    yield listen
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_free_port_is_named(listen, accepted, host):
    listener = listen(tcp_socket(host, 0))
    assert (listener.interface, listener.protocol, listener.path) == (host, "amqp", "")
    with socket.create_connection((host, listener.port), timeout=60):
        until(lambda: accepted)


def test_ipv6_listeners_leave_ipv4_to_others():
    with tcp_socket("::", 0) as six:
        assert six.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY) == 1


def test_a_port_taken_is_an_oserror(listen):
    listener = listen(tcp_socket("127.0.0.1", 0))
    with pytest.raises(OSError, match="in use"):
        tcp_socket("127.0.0.1", listener.port)


def test_a_unix_socket_has_a_path_and_takes_it_with_it(spare, accepted, tmp_path):
    path = str(tmp_path / "amqp.sock")
    listener = Listener(unix_socket(path), get_hub().loop, spare, accepted.append, path)
    listener.start()
    assert (listener.interface, listener.port, listener.path) == (path, 0, path)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        until(lambda: accepted)
    listener.close()
    assert not (tmp_path / "amqp.sock").exists()


def test_a_dead_socket_file_is_replaced_and_a_living_one_is_not(tmp_path):
    path = tmp_path / "amqp.sock"
    with unix_socket(str(path)), pytest.raises(OSError, match="in use"):
        unix_socket(str(path))
    with unix_socket(str(path)):
        assert stat.S_ISSOCK(path.stat().st_mode)


def test_a_file_that_is_no_socket_is_left_alone(tmp_path):
    path = tmp_path / "amqp.sock"
    path.write_text("precious")
    with pytest.raises(OSError, match="in use"):
        unix_socket(str(path))
    assert path.read_text() == "precious"


def test_a_paused_listener_leaves_newcomers_in_the_backlog(listen, accepted):
    listener = listen(tcp_socket("127.0.0.1", 0))
    listener.pause()
    with socket.create_connection(("127.0.0.1", listener.port), timeout=60):
        with pytest.raises(AssertionError, match="never"):
            _briefly(lambda: accepted)
        listener.start()
        until(lambda: accepted)


def _briefly(condition):
    import gevent

    for _ in range(5):
        gevent.sleep(0.01)
        if condition():
            return
    raise AssertionError("never")


def test_without_file_descriptors_it_rests_and_says_so(listen, accepted, caplog, monkeypatch):
    listener = listen(tcp_socket("127.0.0.1", 0))
    real = listener._sock

    class Exhausted:
        calls = 0

        def accept(self):
            self.calls += 1
            raise OSError(errno.EMFILE, "Too many open files")

    listener._sock = Exhausted()
    monkeypatch.setattr("pybroker.net.listener.REST_S", 0.05)
    with caplog.at_level(logging.ERROR), socket.create_connection(("127.0.0.1", listener.port), timeout=60):
        until(lambda: caplog.records)
        assert "cannot accept a connection: Too many open files" in caplog.text
        calls, listener._sock = listener._sock.calls, real
        assert calls < 5
        until(lambda: accepted)


def test_who_pauses_a_listener_that_rests_finds_it_paused(listen, accepted, monkeypatch):
    listener = listen(tcp_socket("127.0.0.1", 0))
    monkeypatch.setattr("pybroker.net.listener.REST_S", 0.01)
    listener._rest()
    listener.pause()
    with socket.create_connection(("127.0.0.1", listener.port), timeout=60):
        gevent.sleep(0.05)
        assert not accepted
        listener.start()
        until(lambda: accepted)


def test_a_newcomer_who_comes_as_the_listener_closes_is_not_kept(listen, accepted):
    listener = listen(tcp_socket("127.0.0.1", 0))
    listener.pause()
    with socket.create_connection(("127.0.0.1", listener.port), timeout=60) as client:
        listener._open = True
        listener._accept()
        listener.close()
        until(lambda: not len(listener._spare))
        assert client.recv(1) == b""
    assert not accepted


def test_a_listener_that_is_paused_and_started_amid_a_newcomer_lines_up_once(listen, accepted):
    listener = listen(tcp_socket("127.0.0.1", 0))
    listener.pause()
    with socket.create_connection(("127.0.0.1", listener.port), timeout=60):
        listener._open = True
        listener._accept()
        listener.pause()
        listener.start()
        assert not listener._watcher.active
        until(lambda: accepted)
        until(lambda: listener._watcher.active)
        assert len(listener._spare) == 0


def test_a_bug_with_one_newcomer_keeps_no_other_one_out(listen, accepted, monkeypatch, caplog):
    listener = listen(tcp_socket("127.0.0.1", 0))
    set_options, calls = listener._set_options, []

    def broken_once(self, *given):
        calls.append(given)
        if len(calls) == 1:
            raise ValueError
        set_options(*given)

    monkeypatch.setattr(Listener, "_set_options", broken_once)
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", listener.port), timeout=60):
            until(lambda: len(calls) == 1 or accepted)
    until(lambda: accepted)
    assert "internal error: a connection was refused" in caplog.text


def test_sockets_are_ready_for_the_loop(listen, accepted):
    listener = listen(tcp_socket("127.0.0.1", 0))
    with socket.create_connection(("127.0.0.1", listener.port), timeout=60):
        until(lambda: accepted)
        (sock,) = accepted
        assert not sock.getblocking()
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == USER_TIMEOUT_MS
        with socket.socket() as other:  # the system may allow less
            other.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_OCTETS)
            sent = other.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == sent
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0") == b"reno"


@pytest.mark.parametrize(
    ("peer", "local", "here"),
    [
        ("127.0.0.1", "127.0.1.1", True),
        ("10.0.0.1", "127.0.0.1", True),
        ("::1", "::1", True),
        ("::ffff:127.0.0.1", "::ffff:127.0.0.1", True),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.2", "10.0.0.1", False),
        ("fe80::1%eth0", "fe80::2%eth0", False),
    ],
)
def test_other_hosts_are_paced_as_the_system_does_it(peer, local, here):
    assert _is_here(peer, local) is here


def test_clients_on_a_unix_socket_are_local(server, connect, tmp_path):
    path = str(tmp_path / "amqp.sock")
    server.listen_unix(path)
    client = connect(path).open()  # guest may come from this machine only
    assert isinstance(client.call(commands.Queue.Declare(queue="q")), commands.Queue.DeclareOk)
    (session,) = server.broker.sessions.values()
    assert session.name == f"unix -> {path}"


@pytest.mark.parametrize("error", [OSError(errno.EPERM, "firewall"), OSError(errno.ENETUNREACH, "no network")])
def test_whatever_accept_says_the_listener_goes_on(listen, accepted, caplog, monkeypatch, error):
    # Linux hands a new socket's pending network errors to accept; an exception would end the watcher.
    listener = listen(tcp_socket("127.0.0.1", 0))
    real = listener._sock

    class Failing:
        def accept(self):
            listener._sock = real
            raise error

    listener._sock = Failing()
    monkeypatch.setattr("pybroker.net.listener.REST_S", 0.02)
    with caplog.at_level(logging.ERROR), socket.create_connection(("127.0.0.1", listener.port), timeout=60):
        until(lambda: accepted)
    assert error.strerror in caplog.text


@pytest.mark.parametrize("fault", [OSError("gone"), RuntimeError("a bug")])
def test_a_newcomer_that_cannot_be_taken_costs_nobody_else(spare, accepted, fault):
    taken = []

    def accept(sock):
        taken.append(sock)
        if len(taken) == 1:
            raise fault
        accepted.append(sock)

    listener = Listener(tcp_socket("127.0.0.1", 0), get_hub().loop, spare, accept)
    listener.start()
    try:
        with socket.create_connection(("127.0.0.1", listener.port), timeout=60) as first:
            until(lambda: taken)
            with socket.create_connection(("127.0.0.1", listener.port), timeout=60):
                until(lambda: accepted)
            assert first.recv(1) == b""
    finally:
        listener.close()


def test_closing_says_so_when_the_socket_file_had_gone_already(spare, tmp_path, caplog):
    path = tmp_path / "amqp.sock"
    listener = Listener(unix_socket(str(path)), get_hub().loop, spare, lambda _sock: None, str(path))
    path.unlink()
    with caplog.at_level(logging.WARNING):
        listener.close()
    assert "was already removed" in caplog.text
