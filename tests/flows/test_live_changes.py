"""Changes of users and virtual hosts take effect at once on connections that are open."""

import pytest

from tests.fakes import Basic, Channel, Connection, Exchange, Queue, World

EVERYTHING = (".*", ".*", ".*")


@pytest.fixture
def world() -> World:
    world = World()
    world.broker.add_vhost("v")
    for name in ("u", "w"):
        world.broker.users.add(name, "p")
        for vhost in ("/", "v"):
            world.broker.users.set_permissions(name, vhost, *EVERYTHING)
    return world


@pytest.fixture
def users(world):
    return world.broker.users


@pytest.fixture
def peer(world):
    """A connection of `u` that has published: its route is known."""
    peer = world.connect(user="u", password="p")
    peer.declare("q")
    peer.publish("", "q", b"before")
    peer.publish("amq.topic", "a.key", b"before")
    assert peer.take() == []
    return peer


def refusal(peer, *frames) -> tuple[int, str]:
    return peer.error(*frames)


def test_a_route_that_is_known_is_refused_when_the_permission_goes(users, peer):
    users.set_permissions("u", "/", ".*", "^other$", ".*")
    text = "ACCESS_REFUSED - write access to exchange 'amq.default' in vhost '/' refused for user 'u'"
    assert refusal(peer, *peer.publish_frames("", "q", b"after")) == (403, text)
    users.set_permissions("u", "/", *EVERYTHING)
    peer.publish("", "q", b"again")
    assert [content.body for content in peer.drain("q")] == [b"before", b"again"]


def test_permissions_that_are_cleared_leave_the_connection_and_refuse_all(users, peer):
    users.clear_permissions("u", "/")
    for method, permission in [
        (Queue.Declare(queue="q"), "configure"),
        (Queue.Purge(queue="q"), "read"),
        (Queue.Bind(queue="q", exchange="amq.topic", routing_key="k"), "write"),
        (Basic.Consume(queue="q"), "read"),
    ]:
        text = f"ACCESS_REFUSED - {permission} access to queue 'q' in vhost '/' refused for user 'u'"
        assert refusal(peer, method) == (403, text)


def test_a_consumer_that_is_there_goes_on_without_the_permission(world, users, peer):
    peer.consume("q", no_ack=True)
    assert peer.bodies() == [b"before"]
    users.clear_permissions("u", "/")
    world.connect().publish("", "q", b"after")
    assert peer.bodies() == [b"after"]


def test_a_topic_permission_acts_on_a_key_that_is_known(users, peer):
    users.set_topic_permissions("u", "/", "amq.topic", "^{username}[.]", ".*")
    text = "write access to topic 'a.key' in exchange 'amq.topic' in vhost '/' refused for user 'u'"
    assert refusal(peer, *peer.publish_frames("amq.topic", "a.key")) == (403, f"ACCESS_REFUSED - {text}")
    peer.publish("amq.topic", "u.key")
    users.clear_topic_permissions("u", "/", "amq.topic")
    peer.publish("amq.topic", "a.key")
    assert peer.take() == []


def test_a_tag_that_is_taken_away_is_gone_at_once(users, peer):
    text = "PRECONDITION_FAILED - user_id property set to 'w' but authenticated user was 'u'"
    claim = peer.publish_frames("", "q", b"x", user_id="w")
    assert refusal(peer, *claim) == (406, text)
    users.set_tags("u", ["impersonator"])
    peer.send(*claim)
    assert peer.take() == []
    users.set_tags("u", [])
    assert refusal(peer, *claim) == (406, text)


def test_a_deleted_users_connections_are_closed_and_no_others(world, peer):
    elsewhere = world.connect(user="u", password="p", vhost="v")
    others = [world.connect(user="w", password="p"), world.connect()]
    others[0].declare("mine", exclusive=True)
    elsewhere.declare("theirs", exclusive=True)
    world.broker.delete_user("u")
    world.run()
    for each in (peer, elsewhere):
        close = each.next(0)
        assert (close.reply_code, close.reply_text) == (320, "CONNECTION_FORCED - user 'u' is deleted")
        each.send(Connection.CloseOk(), channel=0)
        assert each.session.finished
    assert world.broker.vhosts["v"].queues == {}
    for each in others:
        each.declare("q")
    assert [session.user.name for session in world.vhost.sessions] == ["w", "guest"]


def test_a_user_that_is_made_again_is_another_one(world, users, peer):
    world.broker.delete_user("u")
    users.add("u", "p")
    users.set_permissions("u", "/", *EVERYTHING)
    users.set_limits("u", {"max-connections": 1})
    world.connect(user="u", password="p").declare("q")


def test_who_has_not_entered_a_virtual_host_cannot_when_its_user_is_deleted_meanwhile(world, users):
    peer = world.peer(user="u", password="p")
    users.set_limits("u", {})
    peer.send_octets(b"AMQP\0\0\x09\x01")
    world.run()
    peer.take(0)
    peer.send(Connection.StartOk({}, "PLAIN", "\0u\0p"), channel=0)
    peer.take(0)
    peer.send(Connection.TuneOk(10, 131_072, 0), channel=0)
    world.broker.delete_user("u")
    peer.send(Connection.Open("/"), channel=0)
    assert peer.next(0).reply_text == "NOT_ALLOWED - access to vhost '/' refused for user 'u'"


def test_a_deleted_virtual_hosts_connections_are_closed_and_what_was_in_it_is_gone(world, users):
    peer, other = world.connect(user="u", password="p", vhost="v"), world.connect(user="w", password="p")
    peer.call(Exchange.Declare(exchange="x"))
    peer.declare("q", durable=True)
    peer.publish("", "q", b"x")
    world.broker.parameters.set("v", "vhost-limits", "limits", {"max-queues": 1})
    world.broker.delete_vhost("v")
    world.run()
    close = peer.next(0)
    assert (close.reply_code, close.reply_text) == (320, "CONNECTION_FORCED - vhost 'v' is deleted")
    peer.send(Connection.CloseOk(), channel=0)
    other.declare("q")
    world.broker.add_vhost("v")
    # Made again it is empty, and nobody's.
    assert world.broker.parameters.of("v", "vhost-limits") == {}
    assert [sorted(user.permissions) for user in users] == [["/"], ["/"], ["/"]]
    users.set_permissions("u", "v", *EVERYTHING)
    again = world.connect(user="u", password="p", vhost="v")
    assert refusal(again, Queue.Declare(queue="q", passive=True))[0] == 404


def test_a_channel_opened_after_all_permissions_went_can_do_nothing(users, peer):
    users.clear_permissions("u", "/")
    assert isinstance(peer.call(Channel.Open(), 2), Channel.OpenOk)
    peer.send(Basic.Get(queue="q"), channel=2)
    assert peer.next(2).reply_code == 403
