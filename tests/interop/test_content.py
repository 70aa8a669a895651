"""Contents come out as they went in: text and binary bodies, every property, every type of a headers table."""

import hashlib
import os
import struct

import pika
import pytest
from pamqp import commands

SIXTEEN_MIB = 16 * 1024 * 1024
# RabbitMQ refuses what is larger, and so does pybroker.
LARGEST = 128 * 1024 * 1024
# 131,064 is what one frame of the negotiated 131,072 octets carries.
SIZES = (0, 1, 7, 8, 255, 4_095, 131_063, 131_064, 131_065, 262_128, 262_129, 1_048_576, SIXTEEN_MIB)

# One entry of each type RabbitMQ's dialect knows; nested twice.
INNER = b"\x01iI\xff\xff\xff\xff\x01sS\x00\x00\x00\x03abc"
ARRAY = b"I\x00\x00\x00\x01S\x00\x00\x00\x01xt\x00V"
ENTRIES = (
    b"\x01tt\x01\x01bb\x80\x01BB\xff\x01ss\x80\x00\x01uu\xff\xff\x01II\x80\x00\x00\x00"
    b"\x01ii\xff\xff\xff\xff\x01ll\x80\x00\x00\x00\x00\x00\x00\x00\x01ff\x3f\x80\x00\x00"
    b"\x01dd\x3f\xf0\x00\x00\x00\x00\x00\x00\x01DD\x02\x00\x00\x01\x3a\x01SS\x00\x00\x00\x05na\xc3\xafv"
    b"\x01xx\x00\x00\x00\x03\x00\xff\xce\x01TT\x00\x00\x00\x00\x5e\x0b\xe1\x00\x01VV"
    b"\x01F" + b"F" + struct.pack(">I", len(INNER)) + INNER + b"\x01AA" + struct.pack(">I", len(ARRAY)) + ARRAY
)  # fmt: skip
HEADERS = struct.pack(">I", len(ENTRIES)) + ENTRIES


def short(text: str) -> bytes:
    octets = text.encode()
    return bytes([len(octets)]) + octets


ALL_PROPERTIES = (
    b"\xff\xfc" + short("text/plain") + short("utf-8") + HEADERS + b"\x02" + b"\x09" + short("corr") + short("reply")
    + short("3600000") + short("id-1") + struct.pack(">Q", 1_700_000_000) + short("kind") + short("guest")
    + short("app") + short("cluster")
)  # fmt: skip


@pytest.fixture(scope="module")
def channel(broker):
    connection = broker.pika()
    yield connection.channel()
    connection.close()


@pytest.mark.parametrize("octets", SIZES)
@pytest.mark.parametrize("kind", ["text", "binary"])
def test_a_body_of_any_size_comes_back_by_get_and_by_consume(channel, kind, octets):
    queue = channel.queue_declare("", exclusive=True).method.queue
    body = ("naïve 日本 " * (octets // 12 + 1)).encode()[:octets] if kind == "text" else os.urandom(octets)
    for _ in range(2):
        channel.basic_publish("", queue, body)
    _, _, got = channel.basic_get(queue, auto_ack=True)
    assert hashlib.sha256(body).digest() == hashlib.sha256(got).digest()
    _, _, consumed = next(channel.consume(queue, auto_ack=True))
    assert hashlib.sha256(body).digest() == hashlib.sha256(consumed).digest()
    channel.cancel()
    channel.queue_delete(queue)


def test_a_body_above_128_mib_is_refused_on_its_header(broker):
    with broker.peer() as peer:
        peer.publish("", "none", b"")
        head = struct.pack(">HHQ", 60, 0, LARGEST + 1) + b"\0\0"
        peer.send(commands.Basic.Publish(routing_key="none"))
        peer.socket.sendall(struct.pack(">BHI", 2, 1, len(head)) + head + b"\xce")
        closed = peer.expect(commands.Channel.Close)
    assert (
        406,
        f"PRECONDITION_FAILED - message size {LARGEST + 1} is larger than configured max size {LARGEST}",
    ) == (
        closed.reply_code,
        closed.reply_text,
    )


def test_all_properties_and_field_types_come_back_byte_exact(broker):
    with broker.peer() as peer:
        queue = peer.call(commands.Queue.Declare(exclusive=True), commands.Queue.DeclareOk).queue
        peer.publish("", queue, b"by get", ALL_PROPERTIES)
        peer.publish("", queue, b"by deliver", ALL_PROPERTIES)
        peer.send(commands.Basic.Get(queue=queue, no_ack=True))
        got = peer.read_delivery()
        peer.call(commands.Basic.Consume(queue=queue, no_ack=True), commands.Basic.ConsumeOk)
        delivered = peer.read_delivery()
        peer.close()
    assert (got.properties, got.body) == (ALL_PROPERTIES, b"by get")
    assert (delivered.properties, delivered.body) == (ALL_PROPERTIES, b"by deliver")


@pytest.mark.parametrize("exchange_type", ["direct", "fanout", "topic", "headers"])
def test_the_headers_table_survives_routing_by_every_exchange(broker, exchange_type):
    with broker.peer() as peer:
        queue = peer.call(commands.Queue.Declare(exclusive=True), commands.Queue.DeclareOk).queue
        arguments = {"S": "naïv", "x-match": "all"} if exchange_type == "headers" else {}
        bind = commands.Queue.Bind(queue=queue, exchange=f"amq.{exchange_type}", routing_key="k", arguments=arguments)
        peer.call(bind, commands.Queue.BindOk)
        peer.publish(f"amq.{exchange_type}", "k", b"body", ALL_PROPERTIES)
        peer.send(commands.Basic.Get(queue=queue, no_ack=True))
        assert peer.read_delivery()[1:3] == (ALL_PROPERTIES, b"body")
        peer.close()


def test_properties_set_by_pika_arrive_as_they_were(channel):
    queue = channel.queue_declare("", exclusive=True).method.queue
    headers = {"int": -5, "long": 1 << 40, "text": "ü", "yes": True, "none": None, "list": [1, "a"]}
    sent = pika.BasicProperties(
        content_type="application/json", content_encoding="gzip", delivery_mode=2, priority=4, correlation_id="c",
        reply_to="r", expiration="60000", message_id="m", timestamp=1_700_000_000, type="t", user_id="guest",
        app_id="a", cluster_id="x", headers=headers | {"table": {"deep": {"deeper": [{"x": 1}]}}},
    )  # fmt: skip
    channel.basic_publish("", queue, b"x", sent)
    _, properties, _ = channel.basic_get(queue, auto_ack=True)
    assert vars(sent) == vars(properties)
