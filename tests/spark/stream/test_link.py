"""A link to a real broker, or with INTEROP_BROKER to RabbitMQ."""

import dataclasses

import pytest

from pybroker.client import Address
from pybroker.client.errors import AuthenticationFailed, ClientError, ConnectFailed, ConnectionLost
from pybroker.spark.stream.address import stream_options
from pybroker.spark.stream.errors import StreamError
from pybroker.spark.stream.link import Link, open_link
from pybroker.spark.stream.places import FIRST, LAST, NEXT, at, since
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Code, Key
from pybroker.wire.stream.fields import texts_octets
from pybroker.wire.stream.frame import Frame, frame
from tests.ports import free_port
from tests.spark.conftest import WAIT_S
from tests.spark.stream.conftest import encoded, read, with_password


def test_what_is_published_is_read_with_offsets(link, stream, publish):
    publish(b"a", b"b")
    publish(b"c")
    with link.subscribe(stream, FIRST) as subscription:
        chunks = []
        while not chunks or chunks[-1].next < 3:
            chunks.append(subscription.chunk(WAIT_S))
    assert [message for chunk in chunks for message in chunk.messages()] == [
        encoded(body) for body in (b"a", b"b", b"c")
    ]
    assert (chunks[0].first, chunks[-1].next) == (0, 3)
    assert chunks[0].timestamp_ms > 1_700_000_000_000


def test_an_address_where_nobody_listens_is_named(options):
    nowhere = dataclasses.replace(options, addresses=(Address("127.0.0.1", free_port()),))
    with pytest.raises(ConnectFailed, match=f"127.0.0.1:{nowhere.addresses[0].port}: Connection refused"):
        Link(nowhere)


def test_more_chunks_than_credit_come(link, stream, publish):
    for number in range(30):
        publish(b"%d" % number)
    assert read(link, stream, count=30)[-1] == b"29"


def test_the_ends_of_a_stream_are_told(link, stream, publish):
    assert link.ends(stream)[1:3] == (0, 0)
    publish(b"a", b"b", b"c")
    ends = link.ends(stream)
    assert ends[1:3] == (0, 3)


def test_a_message_that_comes_while_the_end_is_asked_for_is_not_behind_it(link, options, stream, monkeypatch):
    resolve = link.resolve

    def resolve_late(*asked):
        with Link(options) as other:
            publisher = other.publisher(stream)
            publisher.publish(1, [encoded(b"a")], WAIT_S)
            publisher.settle(WAIT_S)
        return resolve(*asked)

    monkeypatch.setattr(link, "resolve", resolve_late)
    ends = link.ends(stream)
    assert ends.first == 0
    assert ends.next in (0, 1)


def test_places_are_resolved(link, stream, publish):
    assert [link.resolve(stream, place) for place in (FIRST, NEXT, since(0), at(5))] == [0, 0, 0, 0]
    publish(b"a", b"b")
    publish(b"c")
    places = (FIRST, NEXT, at(1), at(50), since(0), since(4_000_000_000_000))
    assert [link.resolve(stream, place) for place in places] == [0, 3, 1, 3, 0, 3]
    assert link.resolve(stream, LAST) in (0, 2)


def test_offsets_are_stored_by_name(link, stream):
    link.store_offset("reader", stream, 7)
    # Nobody answers the first; what is asked on the same connection is answered behind it.
    assert int.from_bytes(link.call(commands.QueryOffset, "reader", stream)) == 7


def test_a_publisher_goes_on_behind_its_last_id(options, link, stream):
    first = link.publisher(stream, "job")
    assert first.last_id == 0
    first.publish(1, [encoded(b"1"), encoded(b"2")], WAIT_S)
    first.settle(WAIT_S)
    with Link(options) as other:
        again = other.publisher(stream, "job")
        assert again.last_id == 2
        again.publish(1, [encoded(b"%d" % number) for number in (1, 2, 3)], WAIT_S)
        again.settle(WAIT_S)
        assert again.open == 0
    assert read(link, stream, count=3) == [b"1", b"2", b"3"]
    assert link.ends(stream).next == 3


def test_a_connection_with_all_its_publishers_is_full(link, stream, monkeypatch):
    monkeypatch.setattr("pybroker.spark.stream.link._IDS", 1)
    assert not link.is_full
    link.publisher(stream)
    assert link.is_full
    with pytest.raises(ClientError, match="at most 1 publishers"):
        link.publisher(stream)


def test_a_publisher_waits_while_many_are_unconfirmed(options, stream):
    with Link(dataclasses.replace(options, unconfirmed_max=10)) as link:
        publisher = link.publisher(stream)
        publisher.publish(1, [encoded(b"%d" % number) for number in range(95)], WAIT_S)
        assert publisher.open <= 10
        publisher.settle(WAIT_S)
        assert link.ends(stream).next == 95


def test_large_messages_go_in_several_frames(link, stream, publish):
    publish(*[bytes([number]) * 200_000 for number in range(12)])
    assert [body[:1] for body in read(link, stream, count=12)] == [bytes([number]) for number in range(12)]


def test_what_is_refused_has_its_code_and_what_was_asked(link, options, stream):
    with pytest.raises(StreamError, match=r"'nowhere'.*there is no stream with this name") as caught:
        link.subscribe("nowhere", FIRST)
    assert caught.value.code == Code.STREAM_DOES_NOT_EXIST
    with pytest.raises(StreamError):
        link.ends("nowhere")
    with pytest.raises(StreamError, match="nowhere"):
        open_link(options, "nowhere")
    with pytest.raises(StreamError):
        link.partitions("nowhere")
    assert link.metadata(stream, "nowhere")["nowhere"].code == Code.STREAM_DOES_NOT_EXIST


def test_a_stream_that_is_deleted_ends_its_readers_and_publishers(link, channel, name):
    channel.queue_declare(name, durable=True, arguments={"x-queue-type": "stream"})
    publisher = link.publisher(name)
    subscription = link.subscribe(name, FIRST)
    channel.queue_delete(name)
    with pytest.raises(StreamError, match="not available"):
        subscription.chunk(WAIT_S)
    with pytest.raises(StreamError, match="not available"):
        publisher.publish(1, [encoded(b"x")], WAIT_S)


def test_a_login_may_be_refused(options):
    with pytest.raises(AuthenticationFailed, match="'guest'"):
        Link(with_password(options, "wrong"))
    with pytest.raises(StreamError) as caught:
        Link(dataclasses.replace(options, virtual_host="nowhere"))
    assert caught.value.code == Code.VHOST_ACCESS_FAILURE


def test_the_first_address_that_answers_is_taken(options, stream):
    addresses = (Address("127.0.0.1", 1), *options.addresses)
    with open_link(dataclasses.replace(options, addresses=addresses), stream) as link:
        assert link.ends(stream).next == 0
        link.close()


def test_the_leader_is_found(options, stream):
    with open_link(options, stream, to_leader=True) as link:
        assert link.place(stream).leader == link.advertised


def test_a_port_of_amqp_is_named(broker, options):
    with pytest.raises(ConnectionLost, match=r"port for AMQP|closed the connection"):
        Link(stream_options(options, broker.port))


def test_a_super_stream_has_its_partitions_in_order(link, channel, name):
    channel.exchange_declare(name, "direct", durable=True, arguments={"x-super-stream": True})
    for number in range(3):
        channel.queue_declare(f"{name}-{number}", durable=True, arguments={"x-queue-type": "stream"})
        channel.queue_bind(f"{name}-{number}", name, str(number), arguments={"x-stream-partition-order": number})
    assert link.partitions(name) == tuple(f"{name}-{number}" for number in range(3))
    keys = [str(number % 4) for number in range(250)]
    assert [(f"{name}-{key}",) if key < "3" else () for key in keys] == list(link.routes(keys, name))
    with pytest.raises(StreamError, match="find the partition of '1' in super stream 'nowhere' at 127"):
        list(link.routes(["1"], "nowhere"))
    for number in range(3):
        channel.queue_delete(f"{name}-{number}")
    channel.exchange_delete(name)


def test_partitions_are_known_without_the_bit_of_responses(link, monkeypatch):
    """RabbitMQ 3.10 answers so."""
    content = (1 << 20).to_bytes(4) + b"\0\1" + texts_octets(["s-0", "s-1"])
    octets = frame(Key.PARTITIONS, content)
    monkeypatch.setattr(link, "_last_id", (1 << 20) - 1)
    monkeypatch.setattr(link, "send", lambda _: link._take(octets, Frame(Key.PARTITIONS, 1, 8, len(octets))))
    assert link.partitions("s") == ("s-0", "s-1")
