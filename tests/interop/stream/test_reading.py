"""Subscriptions: where they begin, that chunks follow one another, credit, and offsets that consumers keep.

RabbitMQ 3.10.8 differs: its chunks may be larger than the frames agreed on, stored offsets take offsets of the stream
themselves, and are read a moment after they were stored.
"""

import time

import pytest

from tests.interop.stream.client import FIRST, LAST, NEXT, OFFSET, TIMESTAMP, Client
from tests.interop.stream.peer import Code, Fields, Key

HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def hundred(door):
    """Return a stream of a hundred messages in ten pieces or more, that nobody writes to any more."""
    with door.client() as client:
        client.delete("hundred")
        client.create("hundred")
        client.declare(1, "hundred")
        for first in range(0, 100, 10):
            client.number(1, range(first, first + 10))
        client.delete_publisher(1)
        yield "hundred"
        client.delete("hundred")


def now_ms():
    return time.time_ns() // 1_000_000


@pytest.mark.parametrize(
    ("where", "first"),
    [
        (FIRST, 0),
        ((OFFSET, 0), 0),
        ((OFFSET, 5), 5),
        ((OFFSET, 90), 90),
        ((OFFSET, 99), 99),
        ((TIMESTAMP, 0), 0),
        (NEXT, None),
        ((OFFSET, 100), None),
    ],
    ids=str,
)
def test_where_a_subscription_begins(client, hundred, where, first):
    assert client.subscribe(1, hundred, where) == Code.OK
    if first is not None:
        assert client.take(100 - first, since=first) == [(n, b"%d" % n) for n in range(first, 100)]
    assert client.rest() == []


def test_an_offset_of_a_future_is_waited_for_at_the_end(client, stream):
    client.declare(1, stream)
    client.number(1, range(3))
    assert client.subscribe(1, stream, (OFFSET, 5)) == Code.OK
    client.number(1, range(3, 8))
    assert client.offsets(3, since=5) == [5, 6, 7]


def test_last_is_the_last_chunk(client, hundred):
    assert client.subscribe(1, hundred, LAST) == Code.OK
    (chunk,) = client.chunks()
    assert chunk.first + chunk.records == 100


@pytest.mark.parametrize("where", [FIRST, LAST, NEXT, (OFFSET, 0), (OFFSET, 7), (TIMESTAMP, 0)], ids=str)
def test_an_empty_stream_is_waited_at(client, stream, where):
    assert client.subscribe(1, stream, where) == Code.OK
    assert client.rest() == []
    client.declare(1, stream)
    client.number(1, range(10))
    since = 7 if where == (OFFSET, 7) else 0
    assert client.offsets(10 - since, since=since) == list(range(since, 10))


def test_a_timestamp_is_that_of_a_chunk(client, stream):
    before = now_ms()
    client.declare(1, stream)
    client.number(1, range(10))
    later = now_ms() + 1
    while now_ms() <= later:
        time.sleep(0.002)
    client.number(1, range(10, 20))
    assert client.subscribe(1, stream, (TIMESTAMP, later)) == Code.OK
    assert client.take(10) == [(n, b"%d" % n) for n in range(10, 20)]
    assert client.subscribe(2, stream) == Code.OK
    assert all(before <= chunk.timestamp_ms <= now_ms() for chunk in client.chunks())


def test_a_timestamp_of_the_future_is_the_end(client, stream):
    client.declare(1, stream)
    client.number(1, range(10))
    assert client.subscribe(1, stream, (TIMESTAMP, now_ms() + HOUR_MS)) == Code.OK
    client.number(1, range(10, 12))
    assert client.offsets(2, since=10) == [10, 11]


def test_what_is_published_comes(door, client, stream):
    assert client.subscribe(7, stream, NEXT) == Code.OK
    with door.client() as publisher:
        publisher.declare(1, stream)
        for first in range(0, 50, 5):
            publisher.number(1, range(first, first + 5))
            got = client.take(5, subscription=7)
            assert got == [(n, b"%d" % n) for n in range(first, first + 5)]


def test_credit_is_chunks(client, hundred):
    assert client.subscribe(1, hundred, FIRST, credit=2) == Code.OK
    got = client.chunks()
    assert len(got) == 2
    client.credit(1, 1)
    got += client.chunks()
    assert len(got) == 3
    client.credit(1, 1_000)
    got += client.chunks()
    offsets = [message.offset for chunk in got for message in chunk.messages]
    assert offsets == list(range(100))


def test_without_credit_nothing_comes(client, hundred):
    assert client.subscribe(1, hundred, FIRST, credit=0) == Code.OK
    assert client.chunks() == []
    client.credit(1, 1)
    assert client.chunk().first == 0


def test_credit_for_nobody_is_refused(client, hundred):
    client.credit(1, 1)
    fields = Fields(client.expect(Key.CREDIT | 0x8000).payload)
    assert (fields.number(2), fields.number(1)) == (Code.NO_SUBSCRIPTION, 1)
    assert client.subscribe(1, hundred) == Code.OK


def test_subscribing_is_refused(client, hundred):
    assert client.subscribe(1, "nowhere") == Code.NO_STREAM
    assert client.subscribe(1, hundred, NEXT) == Code.OK
    assert client.subscribe(1, hundred, NEXT) == Code.SUBSCRIPTION_EXISTS
    assert client.unsubscribe(2) == Code.NO_SUBSCRIPTION
    assert client.unsubscribe(1) == Code.OK
    assert client.unsubscribe(1) == Code.NO_SUBSCRIPTION


def test_nothing_comes_after_unsubscribing(client, stream):
    client.declare(1, stream)
    assert client.subscribe(1, stream) == Code.OK
    client.number(1, range(5))
    assert client.offsets(5) == list(range(5))
    assert client.unsubscribe(1) == Code.OK
    client.rest()
    client.number(1, range(5, 10))
    assert client.chunks() == []
    assert client.subscribe(1, stream, (OFFSET, 5)) == Code.OK
    assert client.offsets(5, since=5) == list(range(5, 10))


def test_subscriptions_of_one_connection_each_see_everything(client, hundred):
    for subscription in range(0, 250, 50):
        assert client.subscribe(subscription, hundred, FIRST) == Code.OK
    seen = {}
    while sum(map(len, seen.values())) < 500:
        chunk = client.chunk()
        client.credit(chunk.subscription, 1)
        seen.setdefault(chunk.subscription, []).extend(message.offset for message in chunk.messages)
    assert seen == {subscription: list(range(100)) for subscription in range(0, 250, 50)}


def test_a_replay_is_the_same(door, hundred):
    def replay():
        with door.client() as client:
            client.subscribe(1, hundred, FIRST)
            return client.chunks()

    assert replay() == replay()


def test_a_subscription_takes_properties(client, hundred):
    assert client.subscribe(1, hundred, FIRST, name="mine", anything="else") == Code.OK
    assert len(client.take(100)) == 100


def test_a_large_backlog(door, client, stream):
    client.declare(1, stream)
    for first in range(0, 20_000, 1_000):
        client.publish(1, {n: b"%0100d" % n for n in range(first, first + 1_000)})
    assert client.confirmed(1, 20_000) == list(range(20_000))
    with door.client() as reader:
        assert reader.subscribe(1, stream, (OFFSET, 4_321), credit=1) == Code.OK
        got = reader.take(20_000 - 4_321, since=4_321)
        assert got == [(n, b"%0100d" % n) for n in range(4_321, 20_000)]


def eventually(client: Client, reference: str, stream: str, wanted: tuple[int, int]) -> bool:
    """Tell whether a stored offset is read within a moment."""
    until = time.monotonic() + 10
    while client.stored_offset(reference, stream) != wanted:
        if time.monotonic() > until:
            return False
    return True


class TestStoredOffsets:
    def test_none_is_told_from_zero(self, client, stream):
        assert client.stored_offset("reader", stream) == (Code.NO_OFFSET, 0)
        client.store_offset("reader", stream, 0)
        assert eventually(client, "reader", stream, (Code.OK, 0))

    def test_the_last_one_counts_over_connections(self, door, client, stream):
        for offset in (5, 17, 3):
            client.store_offset("reader", stream, offset)
        client.store_offset("other", stream, 2**63)
        assert eventually(client, "other", stream, (Code.OK, 2**63))
        with door.client() as second:
            assert second.stored_offset("reader", stream) == (Code.OK, 3)
            assert second.stored_offset("nobody", stream)[0] == Code.NO_OFFSET

    def test_of_a_stream_that_is_not_there(self, client):
        client.store_offset("reader", "nowhere", 5)
        assert client.stored_offset("reader", "nowhere")[0] == Code.NO_STREAM

    def test_they_are_no_messages(self, door, client, stream):
        client.declare(1, stream)
        client.number(1, range(5))
        client.store_offset("reader", stream, 4)
        assert eventually(client, "reader", stream, (Code.OK, 4))
        client.number(1, range(5, 10))
        assert client.subscribe(1, stream) == Code.OK
        got = client.take(10)
        assert [int(message.body) for message in got] == list(range(10))
        if door.is_ours:
            assert [message.offset for message in got] == list(range(10))
