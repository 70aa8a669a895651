"""Limits of users, virtual hosts and the node, through the protocol, with RabbitMQ's texts."""

import pytest

from pybroker.core.auth.quota import checked_user_limits, checked_vhost_limits
from pybroker.core.policy.parameters import ValidationError
from tests.core.kept import again, new_broker
from tests.fakes import Channel, Connection, Queue, World

EVERYTHING = (".*", ".*", ".*")


@pytest.fixture
def world() -> World:
    world = World(node_name="pybroker@vm")
    world.broker.add_vhost("v")
    for name in ("u", "w"):
        world.broker.users.add(name, "p")
        for vhost in ("/", "v"):
            world.broker.users.set_permissions(name, vhost, *EVERYTHING)
    return world


def refusal(world: World, user: str = "u", vhost: str = "/") -> tuple[int, str]:
    """Return what connection.open answers."""
    peer = world.peer(user=user, password="p", vhost=vhost)
    with pytest.raises(AssertionError) as error:
        peer.shake_hands()
    close = error.value.args[0]
    assert isinstance(close, Connection.Close), close
    peer.send(Connection.CloseOk(), channel=0)
    return close.reply_code, close.reply_text


def limit_vhost(world: World, vhost: str = "v", **limits: int) -> None:
    value = {name.replace("_", "-"): limit for name, limit in limits.items()}
    world.broker.parameters.set(vhost, "vhost-limits", "limits", value)


def limit_user(world: World, **limits: int) -> None:
    world.broker.users.add_limits("u", {name.replace("_", "-"): limit for name, limit in limits.items()})


# -- connections -------------------------------------------------------------------------------------------------------


def test_a_user_has_so_many_connections(world):
    limit_user(world, max_connections=2)
    first = world.connect(user="u", password="p")
    world.connect(user="u", password="p", vhost="v")
    text = "NOT_ALLOWED - connection refused for user 'u': user connection limit (2) is reached"
    assert refusal(world) == (530, text)
    world.connect(user="w", password="p")
    first.disconnect()
    again = world.connect(user="u", password="p")
    assert refusal(world) == (530, text)
    # Refused connections do not count, nor do closed ones any more.
    again.send(Connection.Close(200, "", 0, 0), channel=0)
    world.connect(user="u", password="p")


def test_a_virtual_host_has_so_many_connections(world):
    limit_vhost(world, max_connections=2)
    peers = [world.connect(user=name, password="p", vhost="v") for name in ("u", "w")]
    text = "NOT_ALLOWED - access to vhost 'v' refused for user 'u': connection limit (2) is reached"
    assert refusal(world, vhost="v") == (530, text)
    world.connect(user="u", password="p")
    peers[0].disconnect()
    world.connect(user="u", password="p", vhost="v")


def test_the_virtual_hosts_limit_is_told_before_the_users_and_both_before_permissions(world):
    limit_user(world, max_connections=0)
    world.broker.users.clear_permissions("u", "v")
    text = "NOT_ALLOWED - connection refused for user 'u': user connection limit (0) is reached"
    assert refusal(world, vhost="v") == (530, text)
    limit_vhost(world, max_connections=0)
    text = "NOT_ALLOWED - access to vhost 'v' refused for user 'u': connection limit (0) is reached"
    assert refusal(world, vhost="v") == (530, text)
    assert refusal(world, vhost="x") == (530, "NOT_ALLOWED - vhost x not found")


@pytest.mark.parametrize("limit", [-1, -5])
def test_below_zero_there_is_no_limit(world, limit):
    limit_user(world, max_connections=limit, max_channels=limit)
    limit_vhost(world, "/", max_connections=limit, max_queues=limit)
    for _ in range(3):
        world.connect(user="u", password="p").declare("q")


def test_the_node_has_so_many_connections(world):
    world.broker.settings.connection_max = 1
    peer = world.connect(user="w", password="p", vhost="v")
    text = "NOT_ALLOWED - connection refused: node connection limit (1) is reached"
    assert refusal(world) == (530, text)
    peer.disconnect()
    world.connect(user="u", password="p")


def test_who_is_over_a_new_limit_stays_and_no_other_comes(world):
    peers = [world.connect(user="u", password="p", vhost="v") for _ in range(3)]
    limit_user(world, max_connections=1)
    limit_vhost(world, max_connections=1)
    for peer in peers:
        peer.open(2)
    assert refusal(world, vhost="v")[0] == 530
    world.broker.parameters.clear("v", "vhost-limits", "limits")
    world.broker.users.set_limits("u", {})
    world.connect(user="u", password="p", vhost="v")


def test_a_connection_that_is_closed_by_us_counts_until_it_is_gone(world):
    limit_user(world, max_connections=1)
    peer = world.connect(user="u", password="p")
    peer.session.close(320, "bye")
    world.run()
    assert refusal(world)[0] == 530
    peer.take(0)
    peer.send(Connection.CloseOk(), channel=0)
    world.connect(user="u", password="p")


# -- channels ----------------------------------------------------------------------------------------------------------


def test_a_user_has_so_many_channels_in_all_connections(world):
    limit_user(world, max_channels=3)
    one = world.connect(user="u", password="p")
    two = world.connect(user="u", password="p")
    two.open(2)
    close = one.call(Channel.Open(), 2)
    text = "NOT_ALLOWED - number of channels opened for user 'u' has reached the maximum allowed user limit of (3)"
    assert (close.reply_code, close.reply_text) == (530, text)
    assert (close.class_id, close.method_id) == (20, 10)
    one.send(Connection.CloseOk(), channel=0)
    # The connection went, and its channel with it.
    two.open(3)
    assert isinstance(two.call(Channel.Close(0, "", 0, 0), 3), Channel.CloseOk)
    two.open(4)


def test_channels_are_counted_however_they_come_and_go(world):
    """A sum over the sessions would be looked up for each channel: seconds where ten thousand connect anew."""
    user = world.broker.users.named("u")
    peers = [world.connect(user="u", password="p") for _ in range(4)]

    def counted() -> int:
        count = sum(len(peer.session.channels) for peer in peers)
        assert (user.channels, world.broker.channels) == (count, count)
        return count

    for peer in peers:
        peer.call(Channel.Open(), channel=7)
    assert counted() == 8
    peers[0].call(Channel.Close(200, "", 0, 0), channel=7)
    assert counted() == 7
    assert peers[0].error(Queue.Declare(queue="none", passive=True))[0] == 404
    assert counted() == 7  # it has answered, and opened another one
    peers[1].disconnect()
    assert counted() == 5
    peers[2].send(Connection.Close(200, "", 0, 0), channel=0)
    world.run()
    assert counted() == 3
    world.broker.delete_user("u")
    assert counted() == 0


def test_the_node_has_so_many_channels(world):
    world.broker.settings.channels_per_node_max = 2
    world.connect(user="w", password="p", vhost="v")
    peer = world.connect(user="u", password="p")
    close = peer.call(Channel.Open(), 2)
    text = "NOT_ALLOWED - number of channels opened on node 'pybroker@vm' has reached the maximum allowed limit of (2)"
    assert (close.reply_code, close.reply_text) == (530, text)


# -- queues ------------------------------------------------------------------------------------------------------------


def test_a_virtual_host_has_so_many_queues(world):
    limit_vhost(world, max_queues=2)
    peer = world.connect(user="u", password="p", vhost="v")
    peer.declare("a")
    peer.declare("", exclusive=True)
    text = "PRECONDITION_FAILED - cannot declare queue 'b': queue limit in vhost 'v' (2) is reached"
    assert peer.error(Queue.Declare(queue="b")) == (406, text)
    # Existing queues are no new ones.
    peer.declare("a")
    peer.call(Queue.Delete(queue="a"))
    peer.declare("b")
    world.connect(user="u", password="p").declare("elsewhere")


def test_the_limit_is_told_before_what_a_dead_letter_exchange_needs(world):
    limit_vhost(world, max_queues=0)
    world.broker.users.set_permissions("u", "v", ".*", "", "")
    peer = world.connect(user="u", password="p", vhost="v")
    method = Queue.Declare(queue="q", arguments={"x-dead-letter-exchange": "x"})
    text = "PRECONDITION_FAILED - cannot declare queue 'q': queue limit in vhost 'v' (0) is reached"
    assert peer.error(method) == (406, text)


# -- what a limit may be -----------------------------------------------------------------------------------------------


# RabbitMQ exports lists of pairs, and takes both.
@pytest.mark.parametrize(
    "value", [{"max-connections": 2, "max-queues": -1}, [["max-connections", 2], ["max-queues", -1]]]
)
def test_limits_are_an_object_or_pairs(world, value):
    assert checked_vhost_limits("limits", value) == {"max-connections": 2, "max-queues": -1}
    world.broker.parameters.set("v", "vhost-limits", "limits", value)
    for name in ("u", "w"):
        world.connect(user=name, password="p", vhost="v")
    assert refusal(world, vhost="v")[0] == 530


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"max-queues": "1"}, 'max-queues should be a number, actually was <<"1">>'),
        ({"max-queues": True}, "max-queues should be a number, actually was true"),
        (
            {"a": None, "b": [1, {"c": 2}]},
            'Unrecognised terms [{<<"a">>,null},{<<"b">>,[1,#{<<"c">> => 2}]}] in limits',
        ),
        ("x", 'limits not a list <<"x">>'),
        ([["max-queues", 1, 2]], 'limits not a list [[<<"max-queues">>,1,2]]'),
    ],
)
def test_what_is_no_limit_is_refused_in_rabbitmqs_words(world, value, text):
    with pytest.raises(ValidationError) as error:
        world.broker.parameters.set("v", "vhost-limits", "limits", value)
    assert text in error.value.text
    assert world.broker.parameters.of("v", "vhost-limits") == {}


def test_limits_of_users_are_others():
    assert checked_user_limits({"max-channels": 1}) == {"max-channels": 1}
    with pytest.raises(ValueError, match="Unrecognised terms"):
        checked_user_limits({"max-queues": 1})


def test_limits_are_there_again_after_a_restart():
    broker = new_broker()
    broker.users.add_limits("guest", {"max-connections": 0})
    broker.parameters.set("/", "vhost-limits", "limits", {"max-queues": 0})
    restarted = again(broker)
    assert restarted.users.named("guest").limits == {"max-connections": 0}
    assert restarted.parameters.of("/", "vhost-limits") == {"limits": {"max-queues": 0}}


def test_the_node_has_so_many_queues(world):
    world.broker.settings.queues_max = 1
    world.broker.add_vhost("v")
    peer = world.connect()
    peer.declare("q")
    peer.declare("q")
    assert peer.error(Queue.Declare(queue="r")) == (
        406,
        "PRECONDITION_FAILED - cannot declare queue 'r': queue limit in cluster (1) is reached",
    )
