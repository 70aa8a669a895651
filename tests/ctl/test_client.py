import os

import pytest

from pybroker.control import codec
from pybroker.control.spec import Refused
from pybrokerctl.client import Connection, TimedOut, Unreachable


def ask(daemon, timeout_s=10):
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


@pytest.mark.parametrize("lines", [[[1]], [{}], [{"columns": ["n"]}, {}], [{"columns": ["n"]}, 5], [{"error": 1}]])
def test_an_answer_of_another_shape_is_told(daemon, lines):
    daemon.lines = lines
    with pytest.raises(Refused, match="does not speak pybroker's control protocol"):
        ask(daemon)


def test_an_answer_that_breaks_off_is_told(daemon):
    daemon.lines = [b'{"columns":']
    with pytest.raises(Unreachable, match="in the midst of its answer"):
        ask(daemon)


def test_silence_ends_at_the_deadline(daemon):
    daemon.silent = True
    with pytest.raises(TimedOut):
        ask(daemon, 0.02)


def test_nobody_there_is_told_with_the_systems_reason(folder):
    with pytest.raises(Unreachable) as unreachable:
        Connection(folder / "none.sock", 1)
    assert unreachable.value.why == "No such file or directory"
