"""Streams as a client of AMQP 0-9-1 sees them: where a reader begins, what it gets, and that nothing is taken away.

RabbitMQ 3.10.8 differs: it delivers whole chunks, so more than the prefetch count; it takes a negative offset for the
beginning; basic.nack, basic.reject and basic.recover end the connection; the counts of a declare-ok are some seconds
old.
"""

import itertools
import time
from datetime import UTC, datetime, timedelta

import pytest
from pamqp import commands

from tests.interop.peer import PERSISTENT
from tests.interop.stream_client import Stream

PREFETCH = 10
NUMBERS = itertools.count()


@pytest.fixture
def stream(broker):
    stream = Stream(broker, f"stream-{next(NUMBERS)}")
    yield stream
    stream.delete()


@pytest.fixture(scope="module")
def hundred(broker):
    """Return a stream of a hundred messages that nobody writes to any more."""
    stream = Stream(broker, "hundred")
    stream.number(range(100))
    yield stream
    stream.delete()


def bodies(deliveries):
    return [int(got.body) for got in deliveries]


def test_offsets_are_contiguous_and_messages_in_publish_order(stream):
    for numbers in (range(1), range(1, 100), range(100, 1_000)):
        stream.number(numbers)
    with stream.reader("first") as reader:
        got = reader.take(1_000)
        assert reader.rest() == []
    assert bodies(got) == [each.offset for each in got] == list(range(1_000))
    method = got[0].delivery.method
    assert (method.consumer_tag, method.exchange, method.routing_key) == ("reader", "", stream.name)
    assert [each.tag for each in got] == list(range(1, 1_001))


def moment(when):
    """Return a time as pamqp wants it, which a number of seconds or a time from now says."""
    at = datetime.now(UTC) + when if isinstance(when, timedelta) else datetime.fromtimestamp(when, UTC)
    return at.replace(tzinfo=None)


@pytest.mark.parametrize(
    ("offset", "first"),
    [
        ("first", 0),
        (0, 0),
        (5, 5),
        (99, 99),
        ("1h", 0),
        ("30s", 0),
        (timedelta(hours=-1), 0),
        ("next", None),
        (None, None),
        (100, None),
        (timedelta(hours=1), None),
    ],
    ids=str,
)
def test_where_a_reader_begins(hundred, offset, first):
    with hundred.reader(moment(offset) if isinstance(offset, timedelta) else offset) as reader:
        if first is not None:
            assert reader.offsets(100 - first) == list(range(first, 100))
        assert reader.rest() == []


def test_last_begins_at_the_last_chunk(hundred):
    with hundred.reader("last") as reader:
        got = [each.offset for each in reader.rest()]
    assert got == list(range(100 - len(got), 100))
    assert got


@pytest.mark.parametrize(("offset", "first"), [(-1, 99), (-30, 70), (-100, 0), (-1_000, 0)])
def test_a_negative_offset_counts_from_the_end(hundred, offset, first):
    if not hundred.broker.is_ours:
        first = 0
    with hundred.reader(offset) as reader:
        assert reader.offsets(100 - first) == list(range(first, 100))


def test_a_timestamp_is_where_it_was_published(stream):
    stream.number(range(10))
    later = int(time.time()) + 1
    while time.time() < later:
        time.sleep(0.02)
    stream.number(range(10, 20))
    with stream.reader(moment(later)) as reader:
        assert reader.offsets(10) == list(range(10, 20))


@pytest.mark.parametrize(("offset", "first"), [("next", 10), (None, 10), (10, 10), (13, 13)])
def test_a_reader_at_the_end_gets_what_comes(stream, offset, first):
    stream.number(range(10))
    with stream.reader(offset) as reader:
        assert reader.rest() == []
        for numbers in (range(10, 11), range(11, 15)):
            stream.number(numbers)
        assert reader.offsets(15 - first) == list(range(first, 15))
        assert reader.rest() == []


def test_a_reader_of_an_empty_stream_gets_what_comes(stream):
    with stream.reader("first") as first, stream.reader("last") as last, stream.reader() as following:
        stream.number(range(3))
        assert first.offsets(3) == last.offsets(3) == following.offsets(3) == [0, 1, 2]


@pytest.mark.parametrize("prefetch", [1, 2, PREFETCH])
def test_prefetch_is_how_many_a_reader_has_to_acknowledge(hundred, prefetch):
    with hundred.reader("first", prefetch=prefetch) as reader:
        got = reader.window()
        if hundred.broker.is_ours:
            assert reader.rest() == []
            reader.ack(got[0].tag, multiple=False)
            got += reader.take(1, ack=False)
            assert reader.rest() == []
        assert len(got) < 100
        reader.ack()
        got += reader.take(100 - len(got))
    assert [each.offset for each in got] == list(range(100))


def test_acknowledgements_out_of_order_are_credit_and_nothing_else(hundred):
    with hundred.reader("first", prefetch=PREFETCH) as reader:
        before = reader.window()
        for got in reversed(before):
            reader.ack(got.tag, multiple=False)
        after = reader.window()
    assert [got.offset for got in before + after] == list(range(len(before) + len(after)))


def test_readers_each_see_everything(stream):
    peer = stream.broker.peer()
    with stream.reader("first") as one, stream.reader(2) as two, stream.reader("first", peer=peer, tag="a") as three:
        stream.number(range(4))
        assert one.offsets(4) == three.offsets(4) == [0, 1, 2, 3]
        assert two.offsets(2) == [2, 3]
        four = stream.reader("first", peer=peer, tag="b")
        got = four.take(4)
        stream.number(range(4, 8))
        assert one.offsets(4) == two.offsets(4) == [4, 5, 6, 7]
        got += four.take(8)
    by_tag = {tag: [each.offset for each in got if each.delivery.method.consumer_tag == tag] for tag in ("a", "b")}
    assert by_tag == {"a": [4, 5, 6, 7], "b": list(range(8))}


def test_a_slow_reader_keeps_nobody_back(stream):
    with stream.reader("first", prefetch=1) as slow, stream.reader("first") as fast:
        for numbers in (range(500), range(500, 1_000)):
            stream.number(numbers)
            assert fast.offsets(500) == list(numbers)
        assert slow.offsets(1_000) == list(range(1_000))


def test_a_reader_that_cancels_may_come_back_anywhere(hundred):
    with hundred.reader("first", prefetch=PREFETCH) as reader:
        reader.window()
        reader.peer.call(commands.Basic.Cancel(reader.tag), commands.Basic.CancelOk)
        reader.ack()
        assert reader.rest() == []
        assert hundred.reader(50, peer=reader.peer).offsets(50) == list(range(50, 100))


def test_what_was_not_acknowledged_is_nobodys_loss(hundred):
    with hundred.reader("first", prefetch=PREFETCH) as reader:
        reader.window()
        reader.peer.close()
    with hundred.reader("first") as reader:
        assert reader.offsets(100) == list(range(100))


@pytest.mark.parametrize("requeue", [True, False])
@pytest.mark.parametrize("name", ["nack", "reject"])
def test_nack_and_reject_are_credit(hundred, name, requeue):
    method = {"nack": commands.Basic.Nack, "reject": commands.Basic.Reject}[name]
    with hundred.reader("first", prefetch=PREFETCH) as reader:
        before = reader.window()
        reader.peer.send(method(before[1].tag, requeue=requeue))
        if not hundred.broker.is_ours:
            text = "NOT_IMPLEMENTED - basic.nack and basic.reject not supported by stream queues queue 'hundred'"
            closed = reader.peer.expect(commands.Connection.Close)
            assert (closed.reply_code, closed.reply_text) == (540, f"{text} in vhost '/'")
            return
        assert reader.one().offset == PREFETCH


def test_the_same_tag_cannot_be_acknowledged_twice(hundred):
    with hundred.reader("first", prefetch=PREFETCH) as reader:
        got = reader.window()
        reader.ack(got[0].tag, multiple=False)
        reader.ack(got[0].tag, multiple=False)
        closed = reader.until_closed()
    assert (closed.reply_code, closed.reply_text) == (406, "PRECONDITION_FAILED - unknown delivery tag 1")


def test_how_many_messages_and_readers_a_stream_has(hundred):
    if not hundred.broker.is_ours:
        pytest.skip("tells counts of some seconds ago")
    with hundred.reader("first") as reader:
        reader.take(100)
        counts = hundred.declare()
    assert (counts.message_count, counts.consumer_count) == (100, 1)


def test_a_stream_that_is_deleted_cancels_its_readers(broker):
    stream = Stream(broker, "deleted")
    stream.number(range(20))
    with stream.reader("first", prefetch=PREFETCH) as one, stream.reader("next") as two:
        before = one.window()
        stream.delete()
        for reader in (one, two):
            cancel = reader.peer.expect(commands.Basic.Cancel)
            assert (cancel.consumer_tag, cancel.nowait) == ("reader", True)
        one.ack(before[-1].tag)
        assert one.rest() == []
        one.peer.send(commands.Basic.Consume(queue="deleted"))
        closed = one.peer.expect(commands.Channel.Close)
    assert (closed.reply_code, closed.reply_text) == (404, "NOT_FOUND - no queue 'deleted' in vhost '/'")


def test_a_stream_of_the_same_name_begins_anew(broker):
    stream = Stream(broker, "anew")
    stream.number(range(3))
    stream.delete()
    stream = Stream(broker, "anew")
    stream.publish(b"3", properties=PERSISTENT)
    with stream.reader("first") as reader:
        got = reader.one()
        assert (got.offset, got.body) == (0, b"3")
        assert reader.rest() == []
    stream.delete()
