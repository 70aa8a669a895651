"""Class connection: what the handshake refuses, and how."""

import pytest

from tests.fakes import PROTOCOL_HEADER, Connection, World


def started(world: World):
    peer = world.peer()
    peer.send_octets(PROTOCOL_HEADER)
    world.run()
    peer.take(0)
    return peer


def answer(peer, mechanism: str, response: str):
    peer.send(Connection.StartOk({"capabilities": peer.capabilities}, mechanism, response), channel=0)
    reply = peer.next(0)
    return reply if isinstance(reply, Connection.Tune) else (reply.reply_code, reply.reply_text)


@pytest.mark.parametrize("response", ["", "guest", "\0guest", "guest\0guest\0guest", "\0guest\0guest\0more"])
def test_a_malformed_plain_response_is_502(world, response):
    code, _ = answer(started(world), "PLAIN", response)
    assert code == 502


@pytest.mark.parametrize("response", ["", "\x05LOGINS\x00\x00\x00\x05guest", "\x05LOGINI\x00\x00\x00\x05"])
def test_a_malformed_amqplain_response_is_502(world, response):
    code, _ = answer(started(world), "AMQPLAIN", response)
    assert code == 502


def test_mechanisms_that_are_switched_off_are_unknown():
    world = World(auth_mechanisms=("PLAIN",))
    assert answer(started(world), "AMQPLAIN", "")[0] == 503


def test_a_user_without_a_password_cannot_log_in(world):
    world.broker.users.add("empty", "")
    assert answer(started(world), "PLAIN", "\0empty\0")[0] == 403


def test_loopback_users_may_be_let_in_from_anywhere():
    world = World(loopback_users=frozenset())
    peer = world.peer(peer=("192.0.2.1", 1_000), peer_is_local=False)
    peer.send_octets(PROTOCOL_HEADER)
    world.run()
    peer.take(0)
    assert isinstance(answer(peer, "PLAIN", "\0guest\0guest"), Connection.Tune)


def test_limits_are_what_the_peer_chose_within_ours(world):
    peer = world.connect(channel_max=10, frame_octets_max=5_000, heartbeat_s=7)
    session = peer.session
    assert (session.channel_max, session.frame_octets_max, session.heartbeat_s) == (10, 5_000, 7)
    assert (session.user.name, session.vhost.name, session.auth_mechanism) == ("guest", "/", "PLAIN")


def test_limits_that_a_reload_lowers_meanwhile_are_those_that_were_offered(world):
    peer = started(world)
    tune = answer(peer, "PLAIN", "\0guest\0guest")
    world.broker.settings.frame_octets_max, world.broker.settings.channel_max = 4_096, 1
    peer.send(Connection.TuneOk(tune.channel_max, tune.frame_max, tune.heartbeat), channel=0)
    peer.send(Connection.Open("/"), channel=0)
    assert isinstance(peer.next(0), Connection.OpenOk)
    assert (peer.session.channel_max, peer.session.frame_octets_max) == (tune.channel_max, tune.frame_max)


def test_no_limit_on_channels_where_we_have_none():
    peer = World(channel_max=0).connect(channel_max=0)
    peer.open(65_535)
    assert peer.declare("q", channel=65_535).queue == "q"


def test_the_product_is_what_the_settings_say():
    world = World(product="Other", cluster_name="mine")
    peer = world.peer()
    properties = peer.shake_hands().server_properties
    assert (properties["product"], properties["cluster_name"]) == ("Other", "mine")
    assert properties["pybroker_version"] in properties["platform"]


def test_client_properties_are_kept(world):
    peer = started(world)
    properties = {"capabilities": {"basic.nack": True}, "connection_name": "mine", "deep": {"a": [1, {"b": None}]}}
    peer.send(Connection.StartOk(properties, "PLAIN", "\0guest\0guest"), channel=0)
    assert peer.session.client_properties == properties
    assert peer.session.capabilities == {"basic.nack": True}


def test_a_second_start_ok_is_504(world):
    peer = started(world)
    answer(peer, "PLAIN", "\0guest\0guest")
    assert answer(peer, "PLAIN", "\0guest\0guest")[0] == 504
