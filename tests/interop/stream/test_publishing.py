"""Publishers: their ids and names, confirms and errors, and what is published once only.

RabbitMQ 3.10.8 differs: of a frame in which ids are repeated by a publisher with a name, it keeps those above the last;
it does not tell that ids of publishers are exhausted.
"""

import struct

import pytest

from tests.interop.stream.client import FIRST, published
from tests.interop.stream.peer import Code, amqp_data, octets, sub_batch


def bodies(client, stream, count, **options):
    """Return the bodies of a stream from its beginning, and see that there are no more."""
    assert client.subscribe(200, stream, FIRST, **options) == Code.OK
    got = client.take(count)
    assert client.chunks() == []
    assert client.unsubscribe(200) == Code.OK
    assert [message.offset for message in got] == list(range(count))
    return [message.body for message in got]


def test_each_id_is_confirmed_and_messages_are_in_order(client, stream):
    assert client.declare(1, stream) == Code.OK
    client.publish(1, {5: b"five", 3: b"three", 1_000: b"thousand", 0: b"none", 2**63 + 1: b"large"})
    assert client.confirmed(1, 5) == [0, 3, 5, 1_000, 2**63 + 1]
    assert bodies(client, stream, 5) == [b"five", b"three", b"thousand", b"none", b"large"]


def test_many_frames_in_one_piece(client, stream):
    assert client.declare(1, stream) == Code.OK
    frames = [published(1, ((n, octets(b"%d" % n)) for n in range(at, at + 100))) for at in range(0, 10_000, 100)]
    client.socket.sendall(b"".join(frames))
    assert client.confirmed(1, 10_000) == list(range(10_000))
    assert bodies(client, stream, 10_000) == [b"%d" % n for n in range(10_000)]


@pytest.mark.parametrize("size", [0, 1, 255, 70_000, 1_000_000])
def test_bodies_of_any_size(client, stream, size):
    client.declare(1, stream)
    body = bytes(range(256)) * (size // 256) + bytes(range(size % 256))
    client.publish(1, {1: body})
    client.publish(1, {2: amqp_data(body)})
    assert client.confirmed(1, 2) == [1, 2]
    assert bodies(client, stream, 2) == [body, amqp_data(body)]


def test_publishers_of_one_connection_do_not_mix(door, client, stream):
    with door.client() as other:
        other.create(stream + "-b")
        assert client.declare(0, stream) == Code.OK
        assert client.declare(255, stream + "-b") == Code.OK
        for number in range(1, 101):
            client.publish(0, {number: b"a"})
            client.publish(255, {number: b"b"})
        confirmed = {0: [], 255: []}
        while sum(map(len, confirmed.values())) < 200:
            got = client.expect(3).payload
            publisher, count = struct.unpack_from(">BI", got)
            confirmed[publisher] += struct.unpack_from(f">{count}Q", got, 5)
        assert sorted(confirmed[0]) == sorted(confirmed[255]) == list(range(1, 101))
        assert bodies(client, stream, 100) == [b"a"] * 100
        assert bodies(client, stream + "-b", 100) == [b"b"] * 100
        other.delete(stream + "-b")


def test_declaring_is_refused(door, client, stream):
    assert client.declare(1, "nowhere") == Code.NO_STREAM
    assert client.declare(1, stream, "name") == Code.OK
    assert client.declare(1, stream) == Code.PRECONDITION_FAILED
    assert client.declare(2, stream, "name") == Code.PRECONDITION_FAILED
    assert client.declare(2, stream) == Code.OK
    assert client.declare(3, stream) == Code.OK


def test_an_id_is_free_when_its_publisher_is_deleted(client, stream):
    assert client.delete_publisher(1) == Code.NO_PUBLISHER
    assert client.declare(1, stream, "name") == Code.OK
    assert client.delete_publisher(1) == Code.OK
    assert client.delete_publisher(1) == Code.NO_PUBLISHER
    assert client.declare(1, stream, "name") == Code.OK


def test_what_an_unknown_publisher_sends_is_refused(client, stream):
    client.publish(9, {1: b"a", 2: b"b"})
    assert client.refused(9) == [(1, Code.NO_PUBLISHER), (2, Code.NO_PUBLISHER)]
    assert client.declare(9, stream) == Code.OK
    client.number(9, range(3))


def test_confirms_come_though_the_publisher_is_deleted_at_once(client, stream):
    client.declare(1, stream)
    client.publish(1, {1: b"last"})
    assert client.delete_publisher(1) == Code.OK
    assert bodies(client, stream, 1) == [b"last"]


def test_no_messages_are_no_harm(client, stream):
    client.declare(1, stream)
    client.publish(1, {})
    client.number(1, range(1, 2))


class TestByName:
    def test_what_was_published_before_is_confirmed_and_not_kept(self, client, stream):
        assert client.sequence("name", stream) == (Code.OK, 0)
        client.declare(1, stream, "name")
        client.number(1, range(1, 6))
        assert client.sequence("name", stream) == (Code.OK, 5)
        client.number(1, range(3, 8))
        client.number(1, range(1, 2))
        assert client.sequence("name", stream) == (Code.OK, 7)
        assert bodies(client, stream, 7) == [b"%d" % number for number in range(1, 8)]

    def test_it_is_known_over_connections(self, door, stream):
        for first in (1, 4, 5, 5, 12):
            with door.client() as client:
                client.declare(first, stream, "name")
                client.number(first, range(first, first + 4))
        with door.client() as client:
            assert client.sequence("name", stream) == (Code.OK, 15)
            numbers = [*range(1, 9), *range(12, 16)]
            assert bodies(client, stream, 12) == [b"%d" % number for number in numbers]

    def test_names_are_those_of_a_stream(self, door, client, stream):
        client.declare(1, stream, "one")
        client.declare(2, stream, "two")
        client.number(1, range(1, 4))
        client.number(2, range(1, 3))
        assert client.sequence("one", stream) == (Code.OK, 3)
        assert client.sequence("two", stream) == (Code.OK, 2)
        assert client.sequence("three", stream) == (Code.OK, 0)
        assert client.sequence("one", "nowhere")[0] == Code.NO_STREAM
        assert bodies(client, stream, 5) == [b"1", b"2", b"3", b"1", b"2"]

    def test_publishers_without_a_name_repeat_themselves(self, client, stream):
        client.declare(1, stream)
        client.number(1, range(1, 3))
        client.number(1, range(1, 3))
        assert bodies(client, stream, 4) == [b"1", b"2", b"1", b"2"]

    def test_ids_may_have_gaps(self, client, stream):
        client.declare(1, stream, "name")
        for number in (10, 1_000, 2**40, 500):
            client.number(1, range(number, number + 1))
        assert client.sequence("name", stream) == (Code.OK, 2**40)
        assert bodies(client, stream, 3) == [b"10", b"1000", b"%d" % 2**40]

    def test_repeats_in_one_frame_are_confirmed_in_a_frame_of_their_own(self, client, stream):
        client.declare(1, stream, "name")
        client.socket.sendall(published(1, [(number, octets(b"m%d" % number)) for number in (0, 0, 1, 1)]))
        assert client.confirmed(1, 2) == [0, 1]
        assert client.confirmed(1, 2) == [0, 1]
        assert bodies(client, stream, 2) == [b"m0", b"m1"]


class TestSubBatches:
    @pytest.mark.parametrize("codec", [0, 1])
    def test_one_id_and_an_offset_for_each_message(self, client, stream, codec):
        client.declare(1, stream)
        client.publish_entries(1, {1: octets(b"before"), 2: sub_batch([b"a", b"b", b"c"], codec=codec)})
        client.publish_entries(1, {3: sub_batch([b"d"], codec=codec), 4: octets(b"after")})
        assert client.confirmed(1, 4) == [1, 2, 3, 4]
        assert bodies(client, stream, 6) == [b"before", b"a", b"b", b"c", b"d", b"after"]

    def test_of_a_codec_that_only_clients_know(self, client, stream):
        client.declare(1, stream)
        entry = sub_batch([b"a", b"b"], codec=4)
        client.publish_entries(1, {1: entry})
        assert client.confirmed(1, 1) == [1]
        assert client.subscribe(1, stream) == Code.OK
        chunk = client.chunk()
        assert (chunk.entries, chunk.records, chunk.data) == (1, 2, entry)

    def test_are_deduplicated_as_one(self, client, stream):
        client.declare(1, stream, "name")
        for _ in range(2):
            client.publish_entries(1, {5: sub_batch([b"a", b"b"])})
            assert client.confirmed(1, 1) == [5]
        assert bodies(client, stream, 2) == [b"a", b"b"]

    def test_many_messages(self, client, stream):
        client.declare(1, stream)
        client.publish_entries(1, {n: sub_batch((b"%d" % m for m in range(1_000)), codec=n % 2) for n in range(20)})
        assert client.confirmed(1, 20) == list(range(20))
        assert bodies(client, stream, 20_000) == [b"%d" % m for m in range(1_000)] * 20
