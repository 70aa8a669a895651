import os
import socket
import threading
from pathlib import Path

import pytest

from pybroker.control import codec
from pybroker.control.spec import Refused
from pybrokerctl import client
from pybrokerctl.client import Connection, Gone, TimedOut, Unreachable
from tests.crowd import crowd


def ask(daemon, timeout_s=60):
    with Connection(daemon.path, timeout_s) as connection:
        columns, answer = connection.ask("x", {})
        return columns, answer if columns is None else [row for batch in answer for row in batch]


def test_the_greeting_tells_who_answers(daemon):
    with Connection(daemon.path, 10) as connection:
        assert (connection.node, connection.version, connection.pid) == ("pybroker@vm", "0.1.0", os.getpid())


def test_a_value_and_rows(daemon):
    assert ask(daemon) == (None, None)
    daemon.lines = [{"columns": ["n"]}, [1], [2], {"end": 2}]
    assert ask(daemon) == (["n"], [[1], [2]])


def test_lines_may_arrive_in_any_pieces(daemon):
    whole = b"".join(map(codec.encode, [{"columns": ["n"]}, *([n] for n in range(300)), {"end": 300}]))
    for size in (7, 100):
        daemon.lines = [whole[at : at + size] for at in range(0, len(whole), size)]
        assert ask(daemon) == (["n"], [[n] for n in range(300)])


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"5\n", b"\xff\n", b"{}\n"])
def test_something_else_behind_the_socket_is_told(daemon, greeting):
    daemon.greeting = greeting
    with pytest.raises(Refused, match="does not speak pybroker's control protocol"):
        Connection(daemon.path, 10)


def test_another_protocol_asks_for_another_pybrokerctl(daemon):
    daemon.greeting = {"node": "n", "version": "9.0", "protocol": 2}
    with pytest.raises(Refused, match=r"the daemon is version 9\.0"):
        Connection(daemon.path, 10)


def test_a_refusal_at_the_door_is_the_daemons_sentence(daemon):
    daemon.greeting = {"error": {"text": "not you", "exit_code": 69}}
    with pytest.raises(Refused, match="not you"):
        Connection(daemon.path, 10)


@pytest.mark.parametrize(
    "lines",
    [
        [[1]],
        [{}],
        [{"columns": ["n"]}, {}],
        [{"columns": ["n"]}, 5],
        [{"error": 1}],
        [{"progress": 5}],
        [{"columns": 5}],
    ],
)
def test_an_answer_of_another_shape_is_told(daemon, lines):
    daemon.lines = lines
    with pytest.raises(Refused, match="does not speak pybroker's control protocol"):
        ask(daemon)


def test_a_daemon_that_does_not_even_greet_is_not_reached(folder):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "c.sock"))
        listener.listen()

        def leave():
            listener.accept()[0].close()

        leaving = threading.Thread(target=leave)
        leaving.start()
        with pytest.raises(Unreachable, match="before its greeting") as unreachable:
            Connection(folder / "c.sock", 10)
        assert not isinstance(unreachable.value, Gone)
        leaving.join()


class Told:
    """Keeps what it is told of the waiting."""

    def __init__(self):
        self.steps = []

    def wait(self):
        self.steps.append("wait")

    def count(self, done, total):
        self.steps.append((done, total))

    def stop(self):
        self.steps.append("stop")


def test_progress_is_told_and_over_before_the_answer(daemon):
    daemon.lines = [{"progress": [1, 2]}, {"progress": [2, 2]}, {"value": "done"}, {"end": 0}]
    with Connection(daemon.path, 10) as connection:
        connection.patience = Told()
        assert connection.ask("x", {}, progress=True) == (None, "done")
        assert [step for step in connection.patience.steps if step != "wait"] == [(1, 2), (2, 2), "stop"]
    assert ask(daemon) == (None, "done")


def test_once_there_are_rows_nothing_else_is_shown(daemon):
    daemon.lines = [{"columns": ["n"]}, [1], {"end": 1}]
    with Connection(daemon.path, 10) as connection:
        told = connection.patience = Told()
        _, batches = connection.ask("x", {})
        assert (told.steps[-1], connection.patience) == ("stop", None)
        assert [row for batch in batches for row in batch] == [[1]]


def test_while_nothing_comes_time_goes_by(daemon, monkeypatch):
    monkeypatch.setattr("pybrokerctl.client.TICK_S", 0.01)
    daemon.silent = True
    with Connection(daemon.path, 0.2) as connection:
        told = connection.patience = Told()
        with pytest.raises(TimedOut):
            connection.ask("x", {})
        assert told.steps.count("wait") > 3


def test_a_conversation_may_go_on_and_its_clock_begin_anew(daemon):
    daemon.answers["x"] = [{"value": 1}, {"end": 0}]
    with Connection(daemon.path, 10) as connection:
        assert [connection.ask("x", {})[1] for _ in range(3)] == [1, 1, 1]
        connection._deadline = 0
        with pytest.raises(TimedOut):
            connection.ask("x", {})
        connection.restart_clock()
        assert connection.ask("x", {}) == (None, 1)


def test_an_answer_that_breaks_off_is_told(daemon):
    daemon.lines = [b'{"columns":']
    with pytest.raises(Unreachable, match="before its answer was complete"):
        ask(daemon)


def test_silence_ends_at_the_deadline(daemon):
    daemon.silent = True
    with pytest.raises(TimedOut):
        ask(daemon, 0.02)


def test_nobody_there_is_told_with_the_systems_reason(folder):
    with pytest.raises(Unreachable) as unreachable:
        Connection(folder / "none.sock", 1)
    assert unreachable.value.why == "No such file or directory"


def test_a_daemon_with_a_crowd_before_it_is_waited_for(folder, monkeypatch):
    listener, callers = crowd(folder / "c.sock")
    waits = []

    def let_in(seconds):
        waits.append(seconds)
        if len(waits) < 3:
            return
        for caller in callers[:-1]:
            caller.close()
            listener.accept()[0].close()
        threading.Thread(target=greet).start()

    def greet():
        peer, _ = listener.accept()
        peer.sendall(codec.encode({"node": "n", "version": "1", "protocol": 1}))

    monkeypatch.setattr(client.time, "sleep", let_in)
    with Connection(folder / "c.sock", 10) as connection:
        assert connection.node == "n"
    assert waits == [client.AGAIN_S] * 3


def test_a_crowd_is_waited_for_no_longer_than_the_time_limit(folder):
    listener, callers = crowd(folder / "c.sock")
    with pytest.raises(TimedOut):
        Connection(folder / "c.sock", 0.05)
    assert listener.fileno() >= 0
    assert len(callers) > 1


def test_a_node_that_holds_something_is_listened_to_until_we_leave():
    ours, theirs = socket.socketpair()
    theirs.sendall(codec.encode({"node": "n", "version": "1", "protocol": 1}))
    connection = Connection(Path("node"), None, ours)
    theirs.sendall(codec.encode({"progress": [0, 0]}) + codec.encode({"value": {"ticket": 7}}))
    assert connection.hold("hold_log") == {"ticket": 7}
    assert codec.decode_request(theirs.recv(1_000)) == ("hold_log", {}, True, None, None)
    thread = threading.Thread(target=connection.drain)
    thread.start()
    # More than any buffer takes.
    theirs.settimeout(60)
    for _ in range(20_000):
        theirs.sendall(codec.encode({"progress": [0, 0]}))
    connection.leave()
    thread.join(60)
    assert not thread.is_alive()
    assert theirs.recv(1) == b""
    theirs.close()
    ours.close()
