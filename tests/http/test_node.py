"""The node through its socket: what is asked, and what if it goes away."""

import gevent
import pytest
from gevent import socket

from pybroker.control import codec, commands, server as server_module
from pybroker.control.doors import WEB
from pybroker.control.server import ControlServer
from pybroker.control.spec import Command, NoArgs
from pybroker.http import node as node_module
from pybroker.http.node import Node, Refused, Unavailable
from tests.control.conftest import Operator
from tests.crowd import crowd


@pytest.fixture
def server(world, folder):
    server = ControlServer(world.broker, folder / "c.web", Operator(world).daemon, door=WEB)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def asked(server):
    return Node(server.path)


def test_values_and_rows(asked, peer):
    peer.declare("a")
    assert asked.ask("ping") == "Ping succeeded"
    assert list(asked.rows("object_figures", noun="queue", metrics=["messages"])) == [["/", "a", "classic", 0]]


def test_a_refusal_leaves_the_connection_as_it_was(asked, server):
    for _ in range(3):
        with pytest.raises(Refused, match="Not management user") as caught:
            asked.ask("list_queues")
        assert caught.value.exit_code == 77
    assert len(server._callers) == 1


def test_requests_that_overlap_have_connections_of_their_own(asked, server, peer):
    for n in range(120):
        peer.declare(f"q{n}")
    rows = asked.rows("object_figures", noun="queue", metrics=["messages"])
    assert next(rows)[1] == "q0"
    assert asked.ask("ping") == "Ping succeeded"
    assert len(list(rows)) == 119
    assert len(server._callers) == 2


def test_rows_that_nobody_wants_any_more_end_the_connection(asked, server, peer):
    for n in range(120):
        peer.declare(f"q{n}")
    rows = asked.rows("object_figures", noun="queue", metrics=["messages"])
    next(rows)
    rows.close()
    assert asked.ask("ping") == "Ping succeeded"
    gevent.sleep(0.05)
    assert len(server._callers) == 1


def test_a_node_that_was_restarted_is_asked_anew(asked, server):
    assert asked.ask("ping") == "Ping succeeded"
    server.stop()
    gevent.sleep(0.05)
    with pytest.raises(Unavailable, match="no node answers on"):
        asked.ask("ping")
    server.start()
    assert asked.ask("ping") == "Ping succeeded"


def test_a_node_that_does_not_answer_is_not_waited_for(asked, server, monkeypatch):
    monkeypatch.setattr(node_module, "TIMEOUT_S", 0.05)
    server._listener.close()
    listener = gevent.socket.socket(gevent.socket.AF_UNIX)
    server.path.unlink(missing_ok=True)
    listener.bind(str(server.path))
    listener.listen()
    with pytest.raises(Unavailable, match="timed out"):
        asked.ask("ping")
    listener.close()


@pytest.fixture
def slow(monkeypatch):
    """A command that says nothing for a while."""

    def run(node, _args):
        node.pause(0.3)
        return "done"

    command = Command("slow", "Tests", "Tests", NoArgs, "read", "none", run)
    monkeypatch.setattr(commands, "KNOWN", commands.KNOWN | {"slow"})
    load = commands.load
    monkeypatch.setattr(commands, "load", lambda name: command if name == "slow" else load(name))


@pytest.mark.usefixtures("slow")
def test_a_command_that_goes_on_is_waited_for(asked, monkeypatch):
    monkeypatch.setattr(node_module, "TIMEOUT_S", 0.1)
    with pytest.raises(Unavailable, match="timed out"):
        asked.ask("slow")
    monkeypatch.setattr(server_module, "BEAT_S", 0.02)
    assert asked.ask("slow") == "done"
    assert asked.ask("ping") == "Ping succeeded"
    monkeypatch.setattr(node_module, "SILENCE_S_MAX", 0.05)
    with pytest.raises(Unavailable, match="it has not answered for"):
        asked.ask("slow")


@pytest.mark.usefixtures("slow")
def test_operators_are_not_told_that_a_command_goes_on(world, folder, monkeypatch):
    monkeypatch.setattr(server_module, "BEAT_S", 0.02)
    server = ControlServer(world.broker, folder / "c.sock", Operator(world).daemon)
    server.start()
    with gevent.socket.socket(gevent.socket.AF_UNIX) as peer:
        peer.connect(str(server.path))
        peer.sendall(codec.encode_request("slow", {}))
        peer.settimeout(10)
        found = b""
        while b'"end"' not in found:
            found += peer.recv(1_000)
    assert b"goes_on" not in found
    server.stop()


def test_a_stranger_is_told_why(world, folder):
    refuses = WEB._replace(refusal=lambda caller: "not you")
    server = ControlServer(world.broker, folder / "d.web", Operator(world).daemon, door=refuses)
    server.start()
    with pytest.raises(Unavailable, match="not you"):
        Node(server.path).ask("ping")
    server.stop()


@pytest.fixture
def session(server):
    """The handle of a session of guest."""
    users = server.broker.users
    return server._sessions.begin(users.get("guest"), "127.0.0.1", 60, 60)


def test_lines_follow_a_request(asked, session, peer):
    peer.declare("q")
    body = [codec.encode(text) for text in ("aGVs", "bG8=", {"end": 2})]
    asks = asked.answer("publish_message", {"exchange": "", "routing_key": "q", "vhost": "/"}, session, body)
    assert next(asks) == {"value": {"routed": True}}
    assert next(asks) == {"end": 0}
    assert peer.get("q").body == b"hello"


def test_lines_that_are_refused_end_the_connection(asked, server, session):
    for _ in range(2):
        with pytest.raises(Refused, match="a body is sent as text in base64"):
            asked.ask("publish_message", session, [codec.encode("x")] * 100, exchange="", routing_key="q", vhost="/")
        gevent.sleep(0.05)
        assert len(server._callers) == 0


def test_after_lines_the_next_request_has_a_connection_of_its_own(asked, session, peer):
    peer.declare("q")
    for text in "ab":
        body = [codec.encode("eA=="), codec.encode({"end": 1})]
        asked.ask("publish_message", session, body, exchange="", routing_key="q", vhost="/")
        *_, last = asked.answer("get_messages", {"queue": "q", "vhost": "/", "ack": True}, session)
        assert last["end"] == 1, text
    assert not asked._idle


def test_what_was_shown_is_settled(asked, server, session, peer):
    peer.declare("q")
    peer.publish("", "q", b"x")
    options = {"queue": "q", "vhost": "/", "ack": True}
    lines = asked.answer("get_messages", options, session)
    assert [next(lines), next(lines)[0]["body"], next(lines)] == [{"columns": ["value"]}, "x", {"send": "shown"}]
    lines.close()
    gevent.sleep(0.05)
    assert server.broker.vhosts["/"].queues["q"].messages_ready == 1
    *_, last = asked.answer("get_messages", options, session)
    assert last["facts"]["messages_ready"] == 0


def test_silence_is_told(asked, session):
    lines = asked.answer("trace_message", {"queue": "", "header": ["a=b"]}, session, idle_s=0.01)
    # The node may be silent before its first line, too.
    assert next(line for line in lines if line is not node_module.IDLE) == {"columns": ["value"]}
    assert next(lines) is node_module.IDLE
    assert next(lines) is node_module.IDLE
    lines.close()
    assert asked.ask("ping") == "Ping succeeded"


def test_a_node_with_a_crowd_before_it_is_waited_for_with_pauses(folder, monkeypatch):
    listener, callers = crowd(folder / "c.web")
    waits = []

    def let_in(seconds):
        waits.append(seconds)
        if len(waits) < 3:
            return
        for caller in callers[:-1]:
            caller.close()
            listener.accept()[0].close()
        gevent.spawn(answer)

    def answer():
        peer = socket.socket(fileno=listener.detach()).accept()[0]
        peer.sendall(codec.encode({"node": "n", "version": "1", "protocol": 1}))
        peer.recv(1_024)
        peer.sendall(codec.encode({"value": "Ping succeeded"}) + codec.encode({"end": 0}))

    monkeypatch.setattr(node_module.gevent, "sleep", let_in)
    assert Node(folder / "c.web").ask("ping") == "Ping succeeded"
    assert waits == [node_module.AGAIN_S] * 3


def test_a_crowd_is_waited_for_no_longer_than_the_time_limit(folder, monkeypatch):
    listener, callers = crowd(folder / "c.web")
    monkeypatch.setattr(node_module, "TIMEOUT_S", 0.05)
    with pytest.raises(Unavailable, match="too many callers are waiting"):
        Node(folder / "c.web").ask("ping")
    assert listener.fileno() >= 0
    assert len(callers) > 1
