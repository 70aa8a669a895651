"""The node through its socket: what is asked, and what if it goes away."""

import gevent
import pytest

from pybroker.control import codec
from pybroker.control.doors import WEB
from pybroker.control.server import ControlServer
from pybroker.http import node as node_module
from pybroker.http.node import Node, Refused, Unavailable
from tests.control.conftest import Operator


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
    assert next(lines) == {"columns": ["value"]}
    assert next(lines) is node_module.IDLE
    assert next(lines) is node_module.IDLE
    lines.close()
    assert asked.ask("ping") == "Ping succeeded"
