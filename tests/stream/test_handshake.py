"""From the first octet to an open connection, and what keeps a peer out."""

import logging

import pytest

from pybroker.core.auth.password import SHA256
from pybroker.tls_facts import TlsFacts
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Code
from pybroker.wire.stream.fields import FORMS, FieldReader, Versions
from tests.fakes import World
from tests.stream_peer import StreamPeer


def pairs(content: bytes) -> dict[str, str]:
    return FORMS["arguments"][0](FieldReader(content, 0, len(content)))


@pytest.fixture
def stranger(world):
    return StreamPeer(world, is_open=False)


def test_the_steps_of_a_handshake(world, stranger, caplog):
    caplog.set_level(logging.INFO, "pybroker")
    answer = stranger.call(commands.PeerProperties, {"connection_name": "billing"})
    properties = pairs(answer.content)
    assert ("RabbitMQ", "3.13.0") == (properties["product"], properties["version"])
    answer = stranger.call(commands.SaslHandshake)
    assert (1, b"\0\0\0\x02\0\x08AMQPLAIN\0\x05PLAIN") == (answer.code, answer.content)
    assert Code.OK == stranger.log_in().code
    (tune,) = stranger.take(20)
    assert b"\0\x10\0\0\0\0\0\x3c" == tune.content
    stranger.send(commands.Tune(8_192, 10))
    answer = stranger.call(commands.Open, "/")
    assert {"advertised_host": "127.0.0.1", "advertised_port": "5552"} == pairs(answer.content)
    session = stranger.session
    assert ("running", 8_192, 10, "PLAIN") == (
        session.shown_state,
        session.frame_octets_max,
        session.heartbeat_s,
        session.auth_mechanism,
    )
    assert session in world.vhost.sessions
    assert "billing): user 'guest' authenticated and granted access to vhost '/'" in caplog.text


@pytest.mark.parametrize(
    ("theirs", "ours", "agreed"), [(0, 1_048_576, 1_048_576), (4_096, 1_048_576, 4_096), (9, 0, 9), (1 << 30, 50, 50)]
)
def test_the_smaller_frame_is_agreed_on(theirs, ours, agreed):
    world = World(stream_frame_octets_max=ours)
    assert agreed == StreamPeer(world, frame_octets_max=theirs).session.frame_octets_max


def test_frames_may_come_octet_by_octet(world, stranger):
    octets = commands.PeerProperties(1, {}).octets + commands.SaslHandshake(2).octets
    for octet in octets:
        stranger.send_octets(bytes([octet]))
    assert [1, 2] == [answer.correlation_id for answer in stranger.answers]


# -- who is kept out --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("user", "password", "code"), [("guest", "wrong", 8), ("nobody", "guest", 8), ("guest", "", 8)]
)
def test_a_wrong_password_is_answered_later(world, caplog, user, password, code):
    peer = StreamPeer(world, user=user, password=password, is_open=False)
    assert code == peer.log_in().code
    assert peer.session.finished
    assert 1_000 <= peer.session.answer_at_ms - world.clock.now_ms < 3_000
    assert f"PLAIN login refused: user '{user}'" in caplog.text
    assert {"stream": 1} == {name: each.failed for name, each in world.broker.logins.attempts.items()}


def test_a_loopback_user_from_elsewhere_is_told(world):
    peer = StreamPeer(world, peer=("192.0.2.1", 1), peer_is_local=False, is_open=False)
    assert Code.AUTHENTICATION_FAILURE_LOOPBACK == peer.log_in().code
    assert peer.session.finished


@pytest.mark.parametrize(
    ("mechanism", "response", "code"),
    [("EXTERNAL", b"", 7), ("NONE", b"", 7), ("PLAIN", b"guest", 9), ("PLAIN", b"a\0b\0c", 9)],
)
def test_other_mechanisms_and_responses_are_refused(stranger, mechanism, response, code):
    assert code == stranger.call(commands.SaslAuthenticate, mechanism, response).code
    assert stranger.session.finished


def test_amqplain_is_served(stranger):
    response = b"\x05LOGINS\0\0\0\x05guest\x08PASSWORDS\0\0\0\x05guest"
    assert Code.OK == stranger.call(commands.SaslAuthenticate, "AMQPLAIN", response).code


def test_external_without_a_certificate_is_not_offered():
    world = World(auth_mechanisms=("PLAIN", "EXTERNAL"))
    tls = TlsFacts("tlsv1.3", "any", "aes_256_gcm", "aead", b"")
    assert b"\0\0\0\x01\0\x05PLAIN" == StreamPeer(world, tls=tls, is_open=False).call(commands.SaslHandshake).content


@pytest.mark.parametrize("vhost", ["nowhere", "other"])
def test_a_virtual_host_may_be_closed_to_the_user(world, stranger, vhost):
    world.broker.add_vhost("other")
    stranger.log_in()
    stranger.send(commands.Tune(0, 0))
    answer = stranger.call(commands.Open, vhost)
    assert (Code.VHOST_ACCESS_FAILURE, b"") == (answer.code, answer.content)
    assert stranger.session.finished


def test_connections_count_for_limits(world, peer):
    world.broker.parameters.set("/", "vhost-limits", "limits", {"max-connections": 1})
    second = StreamPeer(world, is_open=False)
    second.log_in()
    second.send(commands.Tune(0, 0))
    assert Code.VHOST_ACCESS_FAILURE == second.call(commands.Open, "/").code
    peer.disconnect()
    assert StreamPeer(world).session.vhost is world.vhost


def test_a_command_before_its_turn_ends_the_connection(stranger):
    stranger.send(commands.Open(1, "/"))
    assert stranger.session.finished
    assert not stranger.answers


def test_frames_are_small_before_open(stranger):
    stranger.send_octets((8_193).to_bytes(4))
    assert stranger.session.finished
    assert not stranger.inbox


@pytest.mark.parametrize(
    ("octets", "name"), [(b"AMQP\0\0\x09\x01", "plain AMQP"), (b"\x16\x03\x01\x02", "a TLS handshake")]
)
def test_another_protocol_is_named_in_the_log(stranger, caplog, octets, name):
    stranger.send_octets(octets)
    assert f"{name} instead of the stream protocol" in caplog.text
    assert stranger.session.finished


# -- versions, heartbeats, the end ------------------------------------------------------------------------------------


def test_versions_are_exchanged(peer):
    answer = peer.call(commands.ExchangeCommandVersions, (Versions(8, 1, 2),))
    told = {each.key: each for each in FORMS["versions"][0](FieldReader(answer.content, 0, len(answer.content)))}
    assert Versions(2, 1, 2) == told[2]
    assert told.keys() >= {26, 29, 30}
    assert peer.session.knows_committed
    peer.call(commands.ExchangeCommandVersions, (Versions(8, 1, 1),))
    assert not peer.session.knows_committed


def test_heartbeats_go_both_ways(world):
    peer = StreamPeer(world, heartbeat_s=5)
    for _ in range(10):
        world.advance(1_000)
        peer.send(commands.Heartbeat())
    assert len(peer.take(23)) >= 2
    for _ in range(12):
        world.advance(1_000)
    assert "missed heartbeats from client, timeout: 5s" == peer.session.reason


def test_a_close_is_answered(world, peer):
    assert Code.OK == peer.call(commands.Close, 1, "bye").code
    assert ("closed", True) == (peer.session.state, peer.session.finished)
    assert not world.vhost.sessions


def test_an_operators_close_ends_the_connection_without_a_word(world, peer):
    peer.session.close(320, "maintenance")
    world.run()
    assert peer.take(22) == []
    assert (peer.session.finished, peer.session.reason) == (True, "maintenance")


# -- credentials that are renewed -------------------------------------------------------------------------------------


def renew(peer: StreamPeer, user: str = "guest", password: str = "guest", mechanism: str = "PLAIN") -> int:
    return peer.call(commands.SaslAuthenticate, mechanism, f"\0{user}\0{password}".encode()).code


def test_the_same_user_may_renew_them(peer):
    assert Code.OK == renew(peer)
    assert not peer.take(20)
    assert Code.OK == peer.call(commands.StreamStats, "s").code


def test_another_mechanism_or_user_is_refused(world):
    world.broker.users.add("other", "other", (), SHA256)
    for asked, code in (({"mechanism": "AMQPLAIN"}, 20), ({"user": "other", "password": "other"}, 21)):
        peer = StreamPeer(world)
        assert code == renew(peer, **asked)
        assert peer.session.finished


def test_a_wrong_one_ends_the_connection(peer):
    assert Code.AUTHENTICATION_FAILURE == renew(peer, password="wrong")
    assert peer.session.finished


def test_what_the_user_may_not_have_any_more_is_taken_away(world, peer):
    peer.declare()
    peer.subscribe()
    world.broker.users.set_permissions("guest", "/", ".*", "^$", ".*")
    assert Code.OK == renew(peer)
    (update,) = peer.take(16)
    assert b"\0\x06\0\x01s" == update.content
    assert not peer.session.channel.publishers
    world.broker.users.clear_permissions("guest", "/")
    assert Code.VHOST_ACCESS_FAILURE == renew(peer)
