"""Messages that an operator publishes: made, checked, routed and stored as a client's are."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pamqp import commands

from pybroker.content_view import body, property_octets
from pybroker.core.events.cause import BROKER
from pybroker.core.operator.publish import FRAME_OCTETS, SHARE_MESSAGES, content_of, header_value, made_properties
from pybroker.errors import AccessRefused, ContentTooLarge, NoRoute, NotFound, PreconditionFailed
from pybroker.wire.properties import Properties, decode_properties, encode_properties
from pybroker.wire.table import Array, Table
from tests.fakes import World


@pytest.fixture
def world():
    return World()


@pytest.fixture
def peer(world):
    return world.connect()


def compose(world, exchange="", routing_key="q", octets=b"hello", properties=None, headers=(), user=None):
    return world.vhost.compose(
        user,
        BROKER,
        exchange=exchange,
        routing_key=routing_key,
        properties=properties or {},
        headers=headers,
        body=octets,
    )


def test_a_consumer_gets_what_was_published(world, peer):
    peer.declare("q")
    headers = [("s", "string", "x"), ("n", "unsignedbyte", "5"), ("deep", "json", {"a": [1, None]})]
    sent = compose(world, properties={"message_id": "m", "priority": "3"}, headers=headers).publish(2)
    assert (2, ("q",), False, 0, 1) == (
        sent.messages,
        sent.destinations,
        sent.lasting,
        sent.rejected,
        sent.receipt.completed,
    )
    reply = peer.get("q")
    assert (reply.body, reply.method.routing_key, reply.method.message_count) == (b"hello", "q", 1)
    assert (reply.properties.message_id, reply.properties.priority) == ("m", 3)
    assert reply.headers == {"s": "x", "n": 5, "deep": {"a": [1, None]}}


@pytest.mark.parametrize("size", [0, 1, FRAME_OCTETS - 8, FRAME_OCTETS - 7, 3 * FRAME_OCTETS])
def test_large_bodies_are_in_several_frames(world, peer, size):
    peer.declare("q")
    octets = bytes(range(256)) * (size // 256 + 1)
    compose(world, octets=octets[:size]).publish(1)
    assert peer.get("q").body == octets[:size]


def test_without_a_queue_nothing_is_done(world, peer):
    with pytest.raises(NoRoute):
        compose(world, "amq.direct", "nowhere").publish(1)
    peer.declare("q")
    outgoing = compose(world)
    outgoing.publish(1)
    world.vhost.delete_queue(world.vhost.queues["q"])
    with pytest.raises(NoRoute):
        outgoing.publish(1)


def test_a_full_queue_refuses(world, peer):
    peer.declare("q", {"x-max-length": 2, "x-overflow": "reject-publish"})
    assert 1 == compose(world).publish(3).rejected


def test_what_basic_publish_refuses_is_refused(world, peer):
    user = world.broker.users.get("guest")
    with pytest.raises(NotFound, match="no exchange 'x'"):
        compose(world, "x")
    with pytest.raises(AccessRefused, match="internal exchange"):
        compose(world, "amq.rabbitmq.trace")
    with pytest.raises(PreconditionFailed, match="user_id property set to 'u'"):
        compose(world, properties={"user_id": "u"}, user=user)
    compose(world, properties={"user_id": "guest"}, user=user)
    with pytest.raises(PreconditionFailed, match="fast reply"):
        compose(world, properties={"reply_to": "amq.rabbitmq.reply-to"})
    with pytest.raises(PreconditionFailed, match="expiration"):
        compose(world, properties={"expiration": "soon"})
    with pytest.raises(PreconditionFailed, match="255 octets"):
        compose(world, routing_key="x" * 256)
    world.broker.settings.message_octets_max = 3
    with pytest.raises(ContentTooLarge):
        compose(world)


def test_permissions_are_the_users(world, peer):
    peer.declare("q")
    world.broker.users.add("u", "p")
    user = world.broker.users.get("u")
    with pytest.raises(AccessRefused, match=r"write access to exchange 'amq.default'"):
        compose(world, user=user)


def test_the_firehose_sees_it(world, peer):
    peer.declare("q")
    peer.declare("traces")
    peer.call(commands.Queue.Bind(queue="traces", exchange="amq.rabbitmq.trace", routing_key="#"))
    world.vhost.trace(on=True)
    compose(world).publish(1)
    world.run()
    assert "publish." == peer.get("traces").method.routing_key


def test_many_are_published_in_shares(world, peer):
    peer.declare("q")
    assert [1, SHARE_MESSAGES] == [compose(world).share(left) for left in (1, 100_000)]
    assert 1 == compose(world, octets=b"x" * 1_000_000).share(9)


def test_a_content_is_what_a_client_would_send():
    octets = encode_properties(Properties(type="t"))
    made = content_of(octets, b"abc")
    assert (body(made), property_octets(made)) == (b"abc", octets)
    with pytest.raises(PreconditionFailed, match="maximum"):
        content_of(bytes(FRAME_OCTETS), b"")


def test_properties_come_by_name():
    made = made_properties({"timestamp": "17", "delivery_mode": "2", "type": "t"}, [])
    assert made == Properties(timestamp=17, delivery_mode=2, type="t")
    for given in ({"x": "1"}, {"headers": "1"}, {"priority": "256"}, {"priority": "a"}, {"type": "x" * 256}):
        with pytest.raises(PreconditionFailed):
            made_properties(given, [])
    with pytest.raises(PreconditionFailed, match="name of a header"):
        made_properties({}, [("x" * 256, "string", "")])


@pytest.mark.parametrize(
    ("kind", "text", "value", "letter"),
    [
        ("string", "5", "5", "S"),
        ("bool", "true", True, "t"),
        ("byte", "-5", -5, "b"),
        ("unsignedbyte", "200", 200, "B"),
        ("short", "-5", -5, "s"),
        ("unsignedshort", "5", 5, "u"),
        ("int", "5", 5, "I"),
        ("unsignedint", "5", 5, "i"),
        ("long", "5", 5, "l"),
        ("float", "0.5", 0.5, "f"),
        ("double", "0.5", 0.5, "d"),
        ("decimal", "1.5", Decimal("1.5"), "D"),
        ("timestamp", "86400", datetime(1970, 1, 2, tzinfo=UTC), "T"),
        ("binary", "aGk=", b"hi", "x"),
        ("void", "", None, "V"),
        ("json", [1, {"a": None}], Array([1, Table({"a": None})]), "A"),
    ],
)
def test_headers_have_types(kind, text, value, letter):
    made = made_properties({}, [("h", kind, text)])
    decoded = decode_properties(encode_properties(made)).headers
    assert (decoded["h"], decoded.type_of("h")) == (value, letter)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("bool", "yes"),
        ("byte", "300"),
        ("int", "3000000000"),
        ("int", "x"),
        ("long", str(1 << 63)),
        ("double", "x"),
        ("decimal", "x"),
        ("timestamp", "99999999999999999999"),
        ("binary", "!"),
        ("table", [1]),
        ("json", 1 << 70),
    ],
)
def test_values_that_no_type_holds_are_refused(kind, text):
    with pytest.raises(PreconditionFailed, match="header 'h'"):
        header_value("h", kind, text)
