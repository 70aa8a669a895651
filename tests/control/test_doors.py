"""The callers that each socket lets in, and what they may do there."""

import os
import stat

import gevent
import pytest

from pybroker.control import codec
from pybroker.control.doors import OPERATORS, WEB
from pybroker.control.identity import Identity
from pybroker.control.server import ControlServer
from pybroker.control.spec import Command, NoArgs
from tests.control.test_server import Caller

# Neither root nor anybody whom tests run as.
STRANGER = 61_234


@pytest.fixture
def web(operator, folder):
    server = ControlServer(operator.world.broker, folder / "c.web", operator.daemon, door=WEB)
    server.start()
    yield server
    server.stop()


def test_a_group_may_ask_on_the_web_socket_nobody_else_on_that_of_operators(server, web):
    assert [stat.S_IMODE(each.path.stat().st_mode) for each in (server, web)] == [0o600, 0o660]


@pytest.mark.parametrize(
    ("caller", "operators", "web"),
    [
        (Identity(1, os.geteuid(), STRANGER), True, True),
        (Identity(1, 0, STRANGER), True, True),
        (Identity(1, STRANGER, os.getegid()), False, True),
        (Identity(1, STRANGER, STRANGER), False, False),
    ],
)
def test_who_is_let_in(caller, operators, web):
    assert [not OPERATORS.refusal(caller), not WEB.refusal(caller)] == [operators, web]


def test_on_the_web_socket_nothing_may_be_done_that_needs_a_tag(web, operator):
    caller = Caller(web.path)
    assert caller.line()["protocol"] == 1
    for command, args in (
        ("list_queues", {}),
        ("delete_user", {"username": "guest"}),
        ("peek_messages", {"queue": "q"}),
        ("stop", {}),
        ("hold_log", {}),
    ):
        (answer,) = caller.ask(command, **args)
        assert (answer["error"]["exit_code"], answer["error"]["text"][:4]) == (77, "Not "), command
    assert caller.ask("ping")[0] == {"value": "Ping succeeded"}
    assert operator.daemon.asked == []


def test_a_command_that_goes_on_ends_with_the_session(web, add, operator):
    ended = []

    def work(_node, _args):
        try:
            while True:
                gevent.sleep(0.001)
                yield [{"event": 1}]
        finally:
            ended.append(True)

    add(Command("follow", "Tests", "Tests", NoArgs, "read", "none", work, streams="json"))
    users = operator.world.broker.users
    handle = operator.daemon.web_sessions.begin(users.get("guest"), "127.0.0.1", 60, 60)
    caller = Caller(web.path)
    caller.line()
    caller.socket.sendall(codec.encode_request("follow", {}, progress=True, session=handle))
    assert [caller.line(), caller.line()] == [{"columns": ["value"]}, [{"event": 1}]]
    users.set_tags("guest", [])
    while isinstance(last := caller.line(), list):
        pass
    assert last["error"] == {"text": "the session has ended; log in again", "exit_code": 79}
    assert ended


def test_on_the_web_socket_a_session_has_what_its_user_may_do(web, server, operator):
    user = operator.world.broker.users.get("guest")
    handle = operator.daemon.web_sessions.begin(user, "127.0.0.1", 60, 60)
    caller = Caller(web.path)
    caller.line()
    request = codec.encode_request("list_users", {}, session=handle)
    caller.socket.sendall(request)
    assert caller.line() == {"columns": ["user", "tags"]}
    assert caller.line()[0] == "guest"
    caller.line()
    operator.daemon.web_sessions.end(handle)
    caller.socket.sendall(request)
    assert caller.line()["error"] == {"text": "the session has ended; log in again", "exit_code": 79}
    operators = Caller(server.path)
    operators.line()
    operators.socket.sendall(request)
    assert operators.line()["error"]["text"] == "this socket takes no sessions"
