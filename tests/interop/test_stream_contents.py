"""How messages get into a stream, and that they come out of it as they went in.

RabbitMQ 3.10.8 differs: it stores messages as AMQP 1.0, so headers are sorted, tables and arrays among them are gone,
as is cluster-id, and a decimal ends the publisher's connection; dead letters never arrive.
"""

import itertools
import struct

import pytest
from pamqp import commands

from tests.interop.peer import PERSISTENT
from tests.interop.stream_client import Stream, offset_entry
from tests.interop.test_content import ENTRIES, short

NUMBERS = itertools.count()
TRANSIENT = b"\x10\x00\x01"
# RabbitMQ keeps these types, and sorts a table by names.
SORTED_ENTRIES = b"\x01II\x80\0\0\0\x01SS\0\0\0\x05na\xc3\xafv\x01VV\x01dd\x3f\xf0\0\0\0\0\0\0\x01tt\x01"
DEAD = "x-dead-letter-exchange", "x-dead-letter-routing-key"


@pytest.fixture
def stream(broker):
    stream = Stream(broker, f"contents-{next(NUMBERS)}")
    yield stream
    stream.delete()


def table(*entries):
    octets = b"".join(entries)
    return struct.pack(">I", len(octets)) + octets


def properties(headers):
    """Return all properties but cluster-id."""
    return (
        b"\xff\xf8" + short("text/plain") + short("utf-8") + headers + b"\x02" + b"\x09" + short("corr")
        + short("reply") + short("3600000") + short("id-1") + struct.pack(">Q", 1_700_000_000) + short("kind")
        + short("guest") + short("app")
    )  # fmt: skip


def test_properties_and_headers_come_back_with_the_offset_behind_them(stream):
    entries = ENTRIES if stream.broker.is_ours else SORTED_ENTRIES
    for _ in range(2):
        stream.publish(b"x", properties=properties(table(entries)))
    with stream.reader("first") as reader:
        got = [each.delivery.properties for each in reader.take(2)]
    assert got == [properties(table(entries, offset_entry(offset))) for offset in (0, 1)]


def test_a_publishers_own_x_stream_offset_is_replaced(stream):
    own = b"\x0fx-stream-offsetS\0\0\0\x02ab", b"\x01aI\0\0\0\x05"
    stream.publish(b"x", properties=b"\x20\x00" + table(*own))
    with stream.reader("first") as reader:
        assert reader.one().delivery.properties == b"\x20\x00" + table(own[1], offset_entry(0))


@pytest.mark.parametrize("mode", [TRANSIENT, PERSISTENT, b"\0\0"], ids=["transient", "persistent", "no mode"])
def test_a_message_is_kept_whatever_its_delivery_mode(stream, mode):
    stream.publish(b"x", properties=mode)
    for _ in range(2):
        with stream.reader("first") as reader:
            delivery = reader.one().delivery
        flags = (mode[0] | 0x20).to_bytes() + b"\0"
        assert (delivery.body, delivery.properties) == (b"x", flags + table(offset_entry(0)) + mode[2:])


def test_a_message_outlives_its_expiration(stream):
    stream.publish(b"x", b"y", properties=b"\x01\x00\x010")
    with stream.reader("first") as reader:
        assert reader.offsets(2) == [0, 1]


def test_bodies_of_any_size(stream):
    sizes = (0, 1, 131_064, 131_065, 262_129, 1 << 20, 5 << 20, 20 << 20)
    sent = [bytes([number]) * size for number, size in enumerate(sizes)]
    stream.publish(*sent)
    with stream.reader("first", prefetch=2) as reader:
        assert [len(got.body) for got in reader.take(len(sizes))] == list(sizes)
    with stream.reader(3, prefetch=2) as reader:
        assert [got.body for got in reader.take(5)] == sent[3:]


@pytest.mark.parametrize(
    ("exchange", "key", "routed"),
    [("amq.direct", "a.b", "a.b"), ("amq.topic", "a.*", "a.b"), ("amq.fanout", "", "a.b"), ("amq.headers", "", "a.b")],
)
def test_a_stream_is_bound_beside_classic_queues(stream, exchange, key, routed):
    with stream.broker.peer() as peer:
        queue = peer.call(commands.Queue.Declare(exclusive=True), commands.Queue.DeclareOk).queue
        peer.call(commands.Queue.Bind(queue=queue, exchange=exchange, routing_key=key), commands.Queue.BindOk)
        stream.bind(exchange, key)
        peer.call(commands.Basic.Consume(queue=queue, no_ack=True), commands.Basic.ConsumeOk)
        with stream.reader("first") as reader:
            stream.publish(b"1", b"2", exchange=exchange, key=routed, mandatory=True)
            assert [got.body for got in reader.take(2)] == [b"1", b"2"]
        assert [peer.read_delivery().body for _ in range(2)] == [b"1", b"2"]
        unbind = commands.Queue.Unbind(queue=stream.name, exchange=exchange, routing_key=key)
        peer.call(unbind, commands.Queue.UnbindOk)
        stream.publish(b"3", exchange=exchange, key=routed)
        assert peer.read_delivery().body == b"3"
        with stream.reader("first") as reader:
            assert [got.body for got in reader.take(2)] == [b"1", b"2"]
            assert reader.rest() == []


def test_two_bindings_that_match_are_one_message(stream):
    stream.bind("amq.topic", "a.*")
    stream.bind("amq.topic", "*.b")
    stream.publish(b"once", exchange="amq.topic", key="a.b")
    stream.publish(b"then", exchange="amq.topic", key="a.c")
    with stream.reader("first") as reader:
        got = reader.take(2)
    assert [(each.offset, each.body, each.delivery.method.routing_key) for each in got] == [
        (0, b"once", "a.b"),
        (1, b"then", "a.c"),
    ]


def test_what_a_transaction_publishes_is_there_when_it_is_committed(stream):
    with stream.broker.peer() as peer, stream.reader("first") as reader:
        peer.call(commands.Tx.Select(), commands.Tx.SelectOk)
        for body in (b"1", b"2"):
            peer.publish("", stream.name, body)
        assert reader.rest() == []
        peer.call(commands.Tx.Commit(), commands.Tx.CommitOk)
        assert [got.body for got in reader.take(2)] == [b"1", b"2"]
        peer.publish("", stream.name, b"never")
        peer.call(commands.Tx.Rollback(), commands.Tx.RollbackOk)
        stream.publish(b"3")
        assert [(got.offset, got.body) for got in reader.take(1)] == [(2, b"3")]


def test_acknowledgements_in_a_transaction_are_credit_when_it_is_committed(stream):
    stream.number(range(100))
    with stream.broker.peer() as peer:
        peer.call(commands.Tx.Select(), commands.Tx.SelectOk)
        reader = stream.reader("first", prefetch=10, peer=peer)
        before = reader.window()
        reader.ack()
        assert reader.rest() == []
        peer.send(commands.Tx.Commit())
        after, committed = [], False
        while not (after and committed):
            method = peer.expect(commands.Basic.Deliver, commands.Tx.CommitOk)
            committed |= isinstance(method, commands.Tx.CommitOk)
            after += [peer.read_content(method).body] if isinstance(method, commands.Basic.Deliver) else []
    assert after == [b"%d" % number for number in range(len(before), len(before) + len(after))]


def test_dead_letters_go_into_a_stream(stream):
    if not stream.broker.is_ours:
        pytest.skip("they are lost")
    with stream.broker.peer() as peer:
        arguments = dict(zip(DEAD, ("", stream.name), strict=True))
        declare = commands.Queue.Declare(exclusive=True, arguments=arguments)
        queue = peer.call(declare, commands.Queue.DeclareOk).queue
        for body in (b"1", b"2"):
            peer.publish("", queue, body)
            peer.send(commands.Basic.Get(queue=queue))
            tag = peer.read_delivery().method.delivery_tag
            peer.send(commands.Basic.Nack(tag, requeue=False))
        with stream.reader("first") as reader:
            got = reader.take(2)
        assert [(each.offset, each.body) for each in got] == [(0, b"1"), (1, b"2")]
        assert all(b"\x07x-death" in each.delivery.properties for each in got)
        peer.close()
