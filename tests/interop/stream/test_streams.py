"""Streams made, described and deleted through their own protocol.

RabbitMQ 3.10.8 differs: it has no StreamStats, and drops a connection that creates a stream with a number that is none.
"""

import struct

import pytest

from tests.interop.stream.client import FIRST
from tests.interop.stream.peer import Code, Fields, Key


def metadata_update(client):
    fields = Fields(client.expect(Key.METADATA_UPDATE).payload)
    return fields.number(2), fields.string()


def test_a_stream_is_created_once(client, stream):
    assert client.create(stream) == Code.STREAM_EXISTS
    assert client.delete(stream) == Code.OK
    assert client.delete(stream) == Code.NO_STREAM
    assert client.create(stream) == Code.OK


def test_a_stream_takes_the_arguments_of_the_protocol(client, door):
    arguments = {
        "max_length_bytes": "20000000000",
        "max_age": "7D",
        "stream_max_segment_size_bytes": "1000000",
        "initial_cluster_size": "1",
        "queue_leader_locator": "least-leaders",
    }
    assert client.create("arguments", **arguments) == Code.OK
    assert client.create("arguments", **arguments) == Code.STREAM_EXISTS
    # RabbitMQ looks at the name alone as long as the stream is there.
    assert client.create("arguments") in {Code.STREAM_EXISTS, Code.PRECONDITION_FAILED}
    with door.amqp.pika() as connection:
        channel = connection.channel()
        declared = channel.queue_declare(
            "arguments",
            durable=True,
            arguments={
                "x-queue-type": "stream",
                "x-max-length-bytes": 20_000_000_000,
                "x-max-age": "7D",
                "x-stream-max-segment-size-bytes": 1_000_000,
                "x-initial-cluster-size": 1,
                "x-queue-leader-locator": "least-leaders",
            },
        )
        assert declared.method.queue == "arguments"
    assert client.delete("arguments") == Code.OK


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_length_bytes": "many"},
        {"max_age": "7x"},
        {"max_age": "soon"},
        {"stream_max_segment_size_bytes": "x"},
        {"initial_cluster_size": "some"},
        {"queue_leader_locator": "nobody"},
    ],
    ids=str,
)
def test_an_argument_that_makes_no_sense_is_refused(door, client, arguments):
    if not door.is_ours and "queue_leader_locator" not in arguments:
        pytest.skip("RabbitMQ drops the connection, or takes it")
    assert client.create("refused", **arguments) == Code.PRECONDITION_FAILED
    assert client.delete("refused") == Code.NO_STREAM


@pytest.mark.parametrize("name", ["", "\n", "\r"], ids=repr)
def test_a_name_that_is_none_is_refused(client, name):
    assert client.create(name) == Code.PRECONDITION_FAILED


def test_a_name_may_be_of_any_language(client):
    name = "Straße ☃ " + "x" * 200
    assert client.create(name) == Code.OK
    assert client.metadata(name)[1][name][0] == Code.OK
    assert client.delete(name) == Code.OK


def test_metadata_tells_where_streams_are(door, client, stream):
    brokers, told = client.metadata(stream, "nowhere")
    assert told["nowhere"][0] == Code.NO_STREAM
    code, leader, replicas = told[stream]
    assert (code, replicas) == (Code.OK, [])
    host, port = brokers[leader]
    assert host
    assert port == door.address[1]


def test_metadata_of_nothing_is_empty(client):
    assert client.metadata()[1] == {}


def test_queues_are_no_streams(door, client):
    with door.amqp.pika() as connection:
        channel = connection.channel()
        channel.queue_declare("classic", exclusive=True)
        assert client.metadata("classic")[1]["classic"][0] != Code.OK
        assert client.declare(1, "classic") != Code.OK
        assert client.subscribe(1, "classic") != Code.OK
        assert client.create("classic") != Code.OK
        assert client.delete("classic") != Code.OK
        channel.queue_declare("classic", passive=True)


def test_who_uses_a_stream_is_told_when_it_is_deleted(door, stream):
    with door.client() as publisher, door.client() as reader, door.client() as other:
        assert publisher.declare(3, stream) == Code.OK
        assert reader.subscribe(4, stream) == Code.OK
        assert other.delete(stream) == Code.OK
        for client in (publisher, reader):
            assert metadata_update(client) == (Code.NOT_AVAILABLE, stream)
        publisher.publish(3, {9: b"x"})
        assert publisher.refused(3) == [(9, Code.NO_PUBLISHER)]
        assert publisher.delete_publisher(3) == Code.NO_PUBLISHER
        assert reader.unsubscribe(4) == Code.NO_SUBSCRIPTION
        assert other.rest() == []


def test_deletion_through_amqp_is_told_as_well(door, stream):
    with door.client() as client, door.amqp.pika() as connection:
        assert client.declare(3, stream) == Code.OK
        assert client.subscribe(4, stream) == Code.OK
        connection.channel().queue_delete(stream)
        assert metadata_update(client) == (Code.NOT_AVAILABLE, stream)
        assert client.declare(3, stream) == Code.NO_STREAM


def test_who_deletes_a_stream_that_it_uses_is_told_behind_the_answer(client, stream):
    assert client.declare(1, stream) == Code.OK
    assert client.subscribe(1, stream, FIRST) == Code.OK
    client.correlation += 1
    client.send(Key.DELETE, struct.pack(">IH", client.correlation, len(stream)) + stream.encode())
    keys = [client.read_frame().key for _ in range(2)]
    assert keys == [Key.DELETE | 0x8000, Key.METADATA_UPDATE]


def test_a_stream_of_the_same_name_begins_anew(client, stream):
    client.declare(1, stream, "mine")
    client.number(1, range(5, 10))
    assert client.delete(stream) == Code.OK
    assert metadata_update(client) == (Code.NOT_AVAILABLE, stream)
    assert client.create(stream) == Code.OK
    assert client.sequence("mine", stream) == (Code.OK, 0)
    assert client.declare(1, stream, "mine") == Code.OK
    client.number(1, range(1, 3))
    assert client.subscribe(1, stream) == Code.OK
    assert client.take(2) == [(0, b"1"), (1, b"2")]


def test_figures_of_a_stream(door, client, stream):
    if not door.is_ours:
        pytest.skip("RabbitMQ has them since 3.11")
    assert client.stats("nowhere") == (Code.NO_STREAM, {})
    code, told = client.stats(stream)
    assert code == Code.OK
    assert {told[name] for name in ("first_chunk_id", "last_chunk_id", "committed_chunk_id")} == {2**64 - 1}
    client.declare(1, stream)
    client.number(1, range(1, 4))
    client.number(1, range(4, 6))
    code, told = client.stats(stream)
    assert (code, told["first_chunk_id"]) == (Code.OK, 0)
    assert told["last_chunk_id"] == told["committed_chunk_id"]
    assert 0 <= told["committed_chunk_id"] <= 4
    assert told["committed_offset"] == 4
