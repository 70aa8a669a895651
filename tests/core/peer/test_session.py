"""The part of a session that is the same for every protocol: what it is known by, and its end."""

import logging
from collections import deque
from types import SimpleNamespace

import pytest
from pamqp import frame

from pybroker.core.peer.states import State
from pybroker.daemon.log.log_format import message_of
from tests.fakes import PROTOCOL_HEADER, Basic, Connection, Queue


def test_it_has_a_name_and_a_pid_of_its_own(world):
    one, other = world.peer(), world.peer(peer=("192.0.2.1", 5))
    assert "127.0.0.1:40000 -> 127.0.0.1:5672" == one.session.name
    assert "192.0.2.1:5 -> 127.0.0.1:5672" == other.session.name
    epoch = world.broker.epoch
    assert [f"<pybroker@localhost.{epoch}.{i}.0>" for i in (1, 2)] == [one.session.pid, other.session.pid]
    assert "unix -> 127.0.0.1" == world.peer(peer=("unix", 0)).session.name


def test_the_broker_knows_it_from_the_first_octet_to_the_last(world):
    peer = world.peer()
    assert {peer.session.id: peer.session} == world.broker.sessions
    peer.disconnect()
    assert {} == world.broker.sessions


@pytest.fixture
def spare(world, monkeypatch):
    """Collect the steps that wait for spare time; call the result to take them, with those that they add."""
    steps = deque()
    monkeypatch.setattr(type(world.turn), "when_spare", lambda _, _kind, step: steps.append(step))

    def take():
        while steps:
            steps.popleft()()
            world.run()

    return take


def about_to_open(world, spare):
    """Return a peer that has everything behind it but connection.open."""
    peer = world.peer()
    peer.send_octets(PROTOCOL_HEADER)
    peer.send(Connection.StartOk({"capabilities": {}}, "PLAIN", "\0guest\0guest"), channel=0)
    spare()
    peer.send(Connection.TuneOk(2_047, 131_072, 0), channel=0)
    assert peer.session.state is State.OPENING
    return peer


def test_that_it_is_open_and_why_it_ended_is_logged_in_spare_time(world, caplog, spare):
    with caplog.at_level(logging.INFO):
        peer = about_to_open(world, spare)
        peer.send(Connection.Open("/"), channel=0)
        assert "authenticated" not in caplog.text
        peer.disconnect()
        assert "closing" not in caplog.text
        spare()
    told = [record.getMessage() for record in caplog.records]
    assert ["authenticated and granted" in told[0], "closing AMQP connection" in told[1]] == [True, True]
    assert len(told) == 2


def test_a_connection_that_goes_at_once_has_its_beginning_before_its_end(world, spare):
    heard = []
    world.broker.events.add_receiver(lambda name, *_: heard.append(name))
    peer = about_to_open(world, spare)
    peer.send(Connection.Open("/"), channel=0)
    assert heard == []
    peer.disconnect()
    spare()
    assert heard == ["connection.created", "connection.closed"]


def test_any_other_event_comes_after_those_that_a_connection_is_open(world, spare, caplog):
    heard = []
    world.broker.events.add_receiver(lambda name, *_: heard.append(name))
    about_to_open(world, spare).send(Connection.Open("/"), channel=0)
    world.broker.events.delay(lambda: 1 // 0)
    about_to_open(world, spare).send(Connection.Open("/"), channel=0)
    world.broker.add_vhost("other")
    assert heard[:2] == ["connection.created"] * 2
    assert "vhost.created" in heard
    assert "an event was not emitted" in caplog.text
    spare()
    assert heard.count("connection.created") == 2


def test_a_peer_that_leaves_before_its_login_is_checked_is_no_refused_login(world, caplog, spare):
    peer = world.peer()
    peer.send_octets(PROTOCOL_HEADER)
    peer.send(Connection.StartOk({"capabilities": {}}, "PLAIN", "\0guest\0wrong"), channel=0)
    assert peer.session.state is State.SECURING
    peer.disconnect()
    spare()
    assert "refused" not in caplog.text


def test_octets_are_counted_in_and_out(world):
    peer = world.connect()
    received, sent = peer.session.recv_octets, peer.session.send_octets
    peer.call(Basic.Qos())
    assert (received + 19, sent + 12, 0) == (
        peer.session.recv_octets,
        peer.session.send_octets,
        peer.session.send_pend,
    )


def test_f42_a_session_given_up_by_another_tells_its_own_driver(world):
    owner, other = world.connect(), world.connect()
    owner.declare("mine", exclusive=True)
    owner.session.link = SimpleNamespace(peer_alive=lambda: False)
    other.send_octets(frame.marshal(Queue.Declare(queue="mine", exclusive=True), 1))
    assert (True, True) == (owner.session.finished, owner.session.close_now)
    assert owner.session in world.turn.sessions
    world.run()
    assert isinstance(other.next(), Queue.DeclareOk)


def test_without_a_driver_a_peer_lives(world, peer):
    assert peer.session.peer_alive()


def test_a_health_check_that_hangs_up_without_a_word_is_no_warning(world, caplog):
    caplog.set_level("DEBUG", "pybroker")
    silent, stutterer = world.peer(), world.peer()
    silent.disconnect()
    stutterer.send_octets(b"AM")
    stutterer.disconnect()
    said = [(record.levelname, record.getMessage().rpartition(": ")[2]) for record in caplog.records]
    assert said == [("DEBUG", "no data received"), ("WARNING", "the peer is gone")]


def _ends(caplog):
    return [(each.levelname, each.event.id, each.getMessage()) for each in caplog.records if "closing" in each.message]


def test_a_silent_peer_is_logged_as_lost_however_long_its_name_is(world, caplog):
    peer = world.connect(heartbeat_s=1)
    peer.session.client_properties["connection_name"] = 300 * "n"
    for _ in range(4):
        world.advance(1_000)
    peer.session.peer_gone("closed")
    [(level, event_id, _)] = _ends(caplog)
    assert (level, event_id) == ("WARNING", "connection.lost")
    text = message_of(caplog.records[-1])  # as the log has it, with each argument capped
    assert text.endswith("): missed heartbeats from client, timeout: 1s")


@pytest.mark.parametrize("octets", [b"", b"AMQP", b"AMQP\0\0\x09\x01"])
def test_a_handshake_that_takes_too_long_is_logged_once_a_minute_for_each_address(world, caplog, octets):
    for _ in range(3):
        peer = world.peer()
        peer.send_octets(octets)
        world.advance(11_000)
        peer.session.tick()
        peer.session.peer_gone("closed")
    [(level, event_id, text)] = _ends(caplog)
    assert (level, event_id) == ("WARNING", "connection.lost")
    assert text.endswith("handshake_timeout")


def test_a_peer_that_does_not_answer_the_close_has_its_line(world, caplog):
    peer = world.connect()
    with caplog.at_level(logging.INFO):
        peer.session.close(320, "broker forced connection closure")
        peer.session.peer_gone("the node stops")
    [(level, event_id, text)] = _ends(caplog)
    assert (level, event_id) == ("INFO", "connection.closed")
    assert text.endswith("user: 'guest'): CONNECTION_FORCED - broker forced connection closure")
