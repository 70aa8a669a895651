"""One stream through two protocols: what came through either is read through both, at the same offsets.

RabbitMQ 3.10.8 differs where it delivers through AMQP 0-9-1: it skips sub-batches, ends connections where one stands
first or a message is not AMQP 1.0, and has the last section of data alone.
"""

import pika
import pytest

from tests.interop.stream.amqp10 import Symbol, Timestamp, Unsigned, message, message_of
from tests.interop.stream.client import OFFSET
from tests.interop.stream.peer import Code, amqp_data, octets, sub_batch


@pytest.fixture
def channel(door):
    connection = door.amqp.pika()
    channel = connection.channel()
    channel.confirm_delivery()
    yield channel
    connection.close()


def amqp_read(channel, stream, count, offset="first"):
    """Return the offsets, properties and bodies that an AMQP consumer gets first."""
    channel.basic_qos(prefetch_count=500)
    got = []
    for method, properties, body in channel.consume(
        stream, arguments={"x-stream-offset": offset}, inactivity_timeout=10
    ):
        assert method is not None, f"{len(got)} of {count}"
        channel.basic_ack(method.delivery_tag)
        got.append((properties.headers.pop("x-stream-offset"), properties, body, method))
        if len(got) == count:
            break
    channel.cancel()
    return got


def test_what_came_through_amqp_is_read_through_both(client, stream, channel):
    for number in range(50):
        channel.basic_publish("", stream, b"%d" % number)
    assert client.subscribe(1, stream) == Code.OK
    got = client.take(50)
    assert [(m.offset, message_of(m.body).body) for m in got] == [(n, b"%d" % n) for n in range(50)]
    assert [(o, body) for o, _, body, _ in amqp_read(channel, stream, 50)] == [(n, b"%d" % n) for n in range(50)]


def test_what_came_through_the_protocol_of_streams_is_read_through_both(client, stream, channel):
    client.declare(1, stream)
    client.publish(1, {number: amqp_data(b"%d" % number) for number in range(50)})
    client.confirmed(1, 50)
    got = amqp_read(channel, stream, 50)
    assert [(offset, body) for offset, _, body, _ in got] == [(n, b"%d" % n) for n in range(50)]
    client.subscribe(1, stream, (OFFSET, 25))
    assert client.take(25, since=25) == [(n, amqp_data(b"%d" % n)) for n in range(25, 50)]


def test_both_write_to_one_stream(client, stream, channel):
    client.declare(1, stream)
    for number in range(0, 40, 2):
        client.publish(1, {number: amqp_data(b"%d" % number)})
        client.confirmed(1, 1)
        channel.basic_publish("", stream, b"%d" % (number + 1))
    wanted = [(number, b"%d" % number) for number in range(40)]
    client.subscribe(1, stream)
    assert [(m.offset, message_of(m.body).body) for m in client.take(40)] == wanted
    assert [(offset, body) for offset, _, body, _ in amqp_read(channel, stream, 40)] == wanted
    assert [(offset, body) for offset, _, body, _ in amqp_read(channel, stream, 7, 33)] == wanted[33:]


def test_properties_of_amqp_are_those_of_amqp_1(client, stream, channel):
    properties = pika.BasicProperties(
        content_type="text/plain",
        content_encoding="utf-8",
        delivery_mode=2,
        priority=5,
        correlation_id="correlation",
        reply_to="answers",
        message_id="message",
        timestamp=1_700_000_000,
        type="kind",
        user_id="guest",
        app_id="application",
        headers={"text": "value", "number": 42, "yes": True, "large": 2**40},
    )
    channel.basic_publish("amq.direct", "nowhere", b"")
    channel.queue_bind(stream, "amq.topic", "a.b")
    channel.basic_publish("amq.topic", "a.b", b"body", properties)
    client.subscribe(1, stream)
    told = message_of(client.take(1)[0].body)
    assert told.body == b"body"
    assert told.properties == {
        "message-id": "message",
        "user-id": b"guest",
        "reply-to": "answers",
        "correlation-id": "correlation",
        "content-type": "text/plain",
        "content-encoding": "utf-8",
        "creation-time": 1_700_000_000_000,
    }
    headers = {"text": "value", "number": 42, "yes": True, "large": 2**40}
    assert told.application == headers | {"x-basic-type": "kind", "x-basic-app-id": "application"}
    basic = {"x-basic-priority": 5, "x-basic-delivery-mode": 2}
    assert told.annotations == basic | {"x-exchange": "amq.topic", "x-routing-key": "a.b"}


def test_what_amqp_published_comes_back_through_amqp_as_it_was(stream, channel):
    properties = pika.BasicProperties(
        content_type="a/b", message_id="id", timestamp=1, headers={"list": [1, "two"], "table": {"in": "side"}}
    )
    channel.basic_publish("", stream, bytes(70_000), properties)
    ((offset, told, body, method),) = amqp_read(channel, stream, 1)
    assert (offset, body) == (0, bytes(70_000))
    assert (method.exchange, method.routing_key) == ("", stream)
    assert (told.content_type, told.message_id, told.timestamp) == ("a/b", "id", 1)


def test_properties_of_amqp_1_are_those_of_amqp(client, stream, channel):
    told = message(
        b"body",
        properties={
            "message-id": "message",
            "user-id": b"guest",
            "reply-to": "answers",
            "correlation-id": "correlation",
            "content-type": Symbol("text/plain"),
            "content-encoding": Symbol("utf-8"),
            "creation-time": Timestamp(1_700_000_000_000),
            "group-sequence": Unsigned(3),
        },
        application={"text": "value", "number": 42, "yes": True, "x-basic-app-id": "application"},
        annotations={"x-exchange": "from", "x-routing-key": "there"},
    )
    client.declare(1, stream)
    client.publish(1, {1: told})
    client.confirmed(1, 1)
    ((_, properties, body, _),) = amqp_read(channel, stream, 1)
    assert body == b"body"
    assert (properties.content_type, properties.content_encoding) == ("text/plain", "utf-8")
    assert (properties.message_id, properties.correlation_id) == ("message", "correlation")
    assert (properties.reply_to, properties.user_id, properties.app_id) == ("answers", "guest", "application")
    assert properties.timestamp == 1_700_000_000
    headers = {"text": "value", "number": 42, "yes": True}
    assert {name: properties.headers[name] for name in headers} == headers


@pytest.mark.parametrize("codec", [0, 1])
def test_sub_batches_have_their_offsets(door, client, stream, channel, codec):
    if not door.is_ours:
        pytest.skip("RabbitMQ ends the connection, or skips them")
    client.declare(1, stream)
    entries = {1: octets(amqp_data(b"0"))}
    entries |= {n: sub_batch([amqp_data(b"%d" % (3 * n - 5 + m)) for m in range(3)], codec=codec) for n in (2, 3)}
    client.publish_entries(1, entries | {4: octets(amqp_data(b"7"))})
    client.confirmed(1, 4)
    got = amqp_read(channel, stream, 8)
    assert [(offset, body) for offset, _, body, _ in got] == [(n, b"%d" % n) for n in range(8)]


def test_a_message_that_is_no_amqp_is_not_in_the_way(door, client, stream, channel):
    if not door.is_ours:
        pytest.skip("RabbitMQ ends the channel")
    client.declare(1, stream)
    client.publish(1, {1: b"\xff\xfe", 2: b"", 3: b"\0", 4: amqp_data(b"sound")})
    client.confirmed(1, 4)
    got = amqp_read(channel, stream, 1, 3)
    assert [(offset, body) for offset, _, body, _ in got] == [(3, b"sound")]


def test_more_than_one_section_of_data_is_told_as_it_came(door, client, stream, channel):
    told = amqp_data(b"one ") + amqp_data(b"two")
    client.declare(1, stream)
    client.publish(1, {1: told})
    client.confirmed(1, 1)
    ((_, properties, body, _),) = amqp_read(channel, stream, 1)
    assert (properties.type, body) == (("amqp-1.0", told) if door.is_ours else (None, b"two"))
