"""Steps between accept and session: passed, refused, left, too late; each newcomer is counted until it is through."""

import logging

import pytest
from gevent import sleep, socket

from pybroker.line_limit import LINES_MAX
from pybroker.net.preamble import Step
from pybroker.net.server import AMQP
from tests.loop import until
from tests.net.conftest import Client


class Password(Step):
    """Wants `open`, refuses `shut`, and breaks for `bug`."""

    waits_for = "a password"

    def begin(self) -> None:
        self.preamble.transport.start_reading(self._read)

    def _read(self) -> None:
        preamble = self.preamble
        word = preamble.transport.receive(4)
        if not word:
            preamble.peer_left("it left")
            return
        preamble.began = True
        if word == b"open":
            preamble.passed()
        elif word == b"shut":
            preamble.transport.send([b"no"])
            preamble.refuse("wrong password")


class Rename(Step):
    """Ends at once."""

    def begin(self) -> None:
        self.preamble.peer = self.preamble.peer._replace(address=("192.0.2.9", 9))
        self.preamble.passed()


@pytest.fixture
def door():
    return AMQP._replace(protocol="guarded", steps=(Password, Rename))


@pytest.fixture
def newcomer(server, door):
    """Return a function that connects to a listener with two steps."""
    listener = server.listen_tcp("127.0.0.1", 0, door=door)
    clients = []

    def newcomer(word: bytes = b"") -> Client:
        clients.append(Client((listener.interface, listener.port)))
        clients[-1].sock.sendall(word)
        return clients[-1]

    yield newcomer
    for client in clients:
        client.close()


def test_the_session_begins_after_the_last_step_with_what_the_steps_learnt(server, newcomer):
    client = newcomer()
    until(lambda: len(server.preambles) == 1)
    assert not server.connections
    client.sock.sendall(b"open")
    client.open()
    [session] = server.broker.sessions.values()
    assert session.peer_host == "192.0.2.9"
    assert (len(server.preambles), sum(server._handshakes.values())) == (0, 0)


def test_a_refused_peer_reads_why_and_is_logged(server, newcomer, caplog):
    client = newcomer(b"shut")
    assert client.sock.recv(10) == b"no"
    assert client.sock.recv(10) == b""
    assert (len(server.preambles), sum(server._handshakes.values())) == (0, 0)
    [line] = caplog.messages
    assert line == f"closing guarded connection {_name(client)}: wrong password"


@pytest.mark.parametrize(("word", "level"), [(b"", logging.DEBUG), (b"wait", logging.ERROR)])
def test_one_that_leaves_is_logged_if_it_has_begun(server, newcomer, caplog, word, level):
    caplog.set_level(logging.DEBUG, "pybroker.connection")
    client = newcomer(word)
    until(lambda: any(each.began == bool(word) for each in server.preambles._under_way))
    client.close()
    until(lambda: not any(server._handshakes.values()))
    [record] = caplog.records
    assert (record.levelno, record.args[2]) == (level, "it left")


def test_a_peer_that_stalls_is_closed_at_its_deadline(server, newcomer, caplog):
    server.broker.settings.handshake_timeout_ms = 50
    client = newcomer(b"wait")
    assert client.sock.recv(10) == b""
    assert not any(server._handshakes.values())
    assert caplog.messages == [f"closing guarded connection {_name(client)}: timeout waiting for a password"]


def test_of_a_flood_so_many_lines_a_second_are_logged_and_how_many_more(server, newcomer, caplog):
    for _ in range(LINES_MAX + 3):
        newcomer(b"shut")
    until(lambda: any("more connections" in each for each in caplog.messages))
    told = sum("wrong password" in each for each in caplog.messages)
    more = sum(int(each.split()[0]) for each in caplog.messages if "more connections" in each)
    assert told + more == LINES_MAX + 3
    assert more


def test_a_bug_in_the_session_costs_one_connection(server, newcomer, caplog, monkeypatch):
    def broken(*_):
        raise RuntimeError

    monkeypatch.setattr(server.preambles, "_enter", broken)
    client = newcomer(b"open")
    assert client.sock.recv(10) == b""
    assert (len(server.preambles), sum(server._handshakes.values())) == (0, 0)
    assert "internal error" in caplog.text


class Broken(Step):
    """Cannot begin: a bug, or no memory."""

    def __init__(self, preamble) -> None:
        super().__init__(preamble)
        raise RuntimeError


@pytest.mark.parametrize(("steps", "word"), [((Broken,), b""), ((Password, Broken), b"open")], ids=["first", "second"])
def test_a_step_that_cannot_begin_costs_one_connection(server, newcomer, door, caplog, steps, word):
    listener = server.listen_tcp("127.0.0.1", 0, door=door._replace(steps=steps))
    client = Client((listener.interface, listener.port))
    client.sock.sendall(word)
    assert client.sock.recv(10) == b""
    client.close()
    assert (len(server.preambles), sum(server._handshakes.values())) == (0, 0)
    assert "internal error: a connection was refused" in caplog.text
    newcomer(b"open").open()


def test_a_stop_closes_those_that_are_under_way(server, newcomer):
    client = newcomer()
    until(lambda: len(server.preambles) == 1)
    server.stop("the test", 0.1)
    assert client.sock.recv(10) == b""
    assert not any(server._handshakes.values())


def test_newcomers_wait_in_the_backlog_while_as_many_as_allowed_are_under_way(server, newcomer, monkeypatch):
    monkeypatch.setattr("pybroker.net.server.HANDSHAKES_MAX", 2)
    first, _, third = (newcomer() for _ in range(3))
    until(lambda: len(server.preambles) == 2)
    sleep(0.05)
    assert len(server.preambles) == 2
    first.sock.sendall(b"shut")
    third.sock.sendall(b"shut")
    assert third.sock.recv(10) == b"no"


def _name(client: Client) -> str:
    def of(address):
        return f"{address[0]}:{address[1]}"

    assert isinstance(client.sock, socket.socket)
    return f"{of(client.sock.getsockname())} -> {of(client.sock.getpeername())}"
