"""Subscriptions: chunks as they were published, as many as were asked for, from where they were asked for."""

import pytest

from pybroker.core.events.cause import BROKER
from pybroker.core.peer.session import OUTBOX_OCTETS_MAX
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Code, OffsetType
from pybroker.wire.stream.fields import Offset, Versions
from tests.stream_peer import FIRST, LAST, NEXT, StreamPeer


def fill(peer: StreamPeer, chunks: int, size: int = 1, each: int = 1) -> None:
    """Publish chunks, a confirmed one after the other."""
    if not peer.session.channel.publishers:
        peer.declare()
    for number in range(chunks):
        first = number * each
        peer.publish(*(b"%d" % (first + index) + b"x" * (size - 1) for index in range(each)), first_id=first + 1)
    peer.confirmed()


def test_what_was_published_comes_and_what_is_published_then(peer):
    fill(peer, 2)
    peer.subscribe(subscription_id=7)
    assert [(7, 0, [b"0"]), (7, 1, [b"1"])] == [(c.subscription_id, c.offset, c.bodies) for c in peer.chunks()]
    peer.publish(b"a", b"b", first_id=10)
    (chunk,) = peer.chunks()
    assert (2, 2, 2, [b"a", b"b"]) == (chunk.offset, chunk.entries, chunk.messages, chunk.bodies)
    assert 4 == peer.session.delivered


@pytest.mark.parametrize(
    ("begin", "first"),
    [
        (FIRST, 0),
        (LAST, 4),
        (NEXT, 5),
        (Offset(OffsetType.OFFSET, 3), 3),
        (Offset(OffsetType.OFFSET, 99), 5),
        (Offset(OffsetType.TIMESTAMP, -5), 0),
        (Offset(OffsetType.TIMESTAMP, 1 << 62), 5),
    ],
)
def test_where_it_begins(peer, begin, first):
    fill(peer, 5)
    peer.subscribe(begin=begin, credit=100)
    assert list(range(first, 5)) == [chunk.offset for chunk in peer.chunks()]


def test_a_chunk_in_which_the_offset_is_comes_whole(peer):
    fill(peer, 2, each=10)
    peer.subscribe(begin=Offset(OffsetType.OFFSET, 15))
    (chunk,) = peer.chunks()
    assert (10, 10) == (chunk.offset, chunk.messages)


def test_credit_is_chunks(peer):
    fill(peer, 5)
    peer.subscribe(credit=0)
    assert [] == peer.chunks()
    for more, came in ((2, [0, 1]), (1, [2]), (0, []), (65_535, [3, 4])):
        peer.send(commands.Credit(1, more))
        assert came == [chunk.offset for chunk in peer.chunks()]


def test_credit_for_nobody_is_answered(peer):
    peer.send(commands.Credit(3, 1))
    (answer,) = peer.take(0x8009)
    assert b"\0\x04\x03" == answer.content


def test_nothing_comes_after_unsubscribing(peer):
    peer.subscribe()
    stream = peer.world.vhost.queues["s"]
    assert Code.OK == peer.call(commands.Unsubscribe, 1).code
    fill(peer, 1)
    assert [] == peer.chunks()
    assert (0, {}, 0) == (len(stream.consumers), stream.readers, peer.session.consumers)
    assert Code.SUBSCRIPTION_ID_DOES_NOT_EXIST == peer.call(commands.Unsubscribe, 1).code


@pytest.mark.parametrize(
    ("stream", "properties", "code"),
    [
        ("t", {}, 2),
        ("s", {"name": "n" * 256}, 17),
        ("s", {"single-active-consumer": "true"}, 17),
        ("s", {"filter.0": "x", "match-unfiltered": "true"}, 1),
    ],
)
def test_what_may_be_subscribed(peer, stream, properties, code):
    assert code == peer.call(commands.Subscribe, 1, stream, NEXT, 1, properties).code


def test_an_id_is_used_once(peer):
    peer.subscribe()
    assert Code.SUBSCRIPTION_ID_ALREADY_EXISTS == peer.call(commands.Subscribe, 1, "s", NEXT, 1, {}).code


def test_a_permission_is_needed(world, peer):
    world.broker.users.set_permissions("guest", "/", ".*", ".*", "^$")
    assert Code.ACCESS_REFUSED == peer.call(commands.Subscribe, 1, "s", NEXT, 1, {}).code


def test_clients_that_know_it_are_told_the_last_chunk(peer):
    peer.call(commands.ExchangeCommandVersions, (Versions(8, 1, 2),))
    fill(peer, 3)
    peer.subscribe()
    assert [2, 2, 2] == [chunk.committed for chunk in peer.chunks()]


def test_all_subscriptions_see_everything_and_a_replay_is_the_same(world, peer):
    fill(peer, 20, each=3)
    found = []
    for number in range(3):
        reader = StreamPeer(world)
        reader.subscribe(subscription_id=number, credit=100)
        found.append([chunk._replace(subscription_id=0) for chunk in reader.chunks()])
    assert found[0] == found[1] == found[2]


def test_a_deleted_stream_is_told(world, peer):
    peer.subscribe(subscription_id=1)
    peer.subscribe(subscription_id=2)
    other = StreamPeer(world)
    assert Code.OK == other.call(commands.DeleteStream, "s").code
    (update,) = peer.take(16)
    assert b"\0\x06\0\x01s" == update.content
    assert ({}, 0) == (peer.session.channel.consumers, peer.session.consumers)
    assert Code.SUBSCRIPTION_ID_DOES_NOT_EXIST == peer.call(commands.Unsubscribe, 1).code


def test_a_lost_connection_leaves_nothing(world, peer):
    peer.subscribe()
    peer.declare(reference="me")
    stream = world.vhost.queues["s"]
    peer.disconnect()
    assert (0, {}, {}, 0) == (len(stream.consumers), stream.readers, stream.publishers, world.broker.totals.publishers)


# -- frames of the peer's size ----------------------------------------------------------------------------------------


def test_a_chunk_is_cut_to_the_size_of_the_peers_frames(world, peer):
    fill(peer, 1, size=100, each=50)
    reader = StreamPeer(world, frame_octets_max=1_000)
    reader.subscribe(credit=3)
    frames = [len(each.content) + 4 for each in reader.inbox]
    assert max(frames) <= 1_000
    chunks = reader.chunks()
    assert 50 == sum(chunk.messages for chunk in chunks)
    assert [chunk.offset for chunk in chunks] == [sum(c.messages for c in chunks[:at]) for at in range(len(chunks))]
    assert 1 == len({chunk.timestamp_ms for chunk in chunks})
    # Each of them has used credit.
    fill(peer, 1)
    reader.send(commands.Credit(1, len(chunks) - 3))
    assert [] == reader.chunks()
    reader.send(commands.Credit(1, 1))
    assert [50] == [chunk.offset for chunk in reader.chunks()]


def test_a_message_that_is_larger_goes_alone(world, peer):
    fill(peer, 1, size=5_000, each=2)
    reader = StreamPeer(world, frame_octets_max=1_000)
    reader.subscribe()
    assert [(0, 1), (1, 1)] == [(chunk.offset, chunk.messages) for chunk in reader.chunks()]


# -- slow readers -----------------------------------------------------------------------------------------------------


def test_a_stalled_reader_has_a_bounded_outbox_and_costs_nobody_anything(world, peer):
    reader, other = StreamPeer(world), StreamPeer(world)
    for each in (reader, other):
        each.subscribe(credit=60_000)
    session = reader.session
    del world.peers[session]
    session.link = object()
    peer.declare()
    for number in range(100):
        peer.publish(b"x" * 50_000, first_id=number + 1)
        session.unsent_octets = max(session.unsent_octets, OUTBOX_OCTETS_MAX + 1)
        session.outbox_full = True
    assert 100 == len(other.chunks())
    assert session.queued_octets <= OUTBOX_OCTETS_MAX
    assert session.consumers == 1


# -- an operator's orders ---------------------------------------------------------------------------------------------


def test_consumers_of_a_paused_stream_wait(world, peer):
    stream, pauses = world.vhost.queues["s"], world.broker.pauses
    peer.subscribe()
    pauses.pause_queue(stream, "test", BROKER, publish=False, consume=True, mode="withhold")
    fill(peer, 1)
    assert [] == peer.chunks()
    pauses.resume_queue(stream, BROKER)
    world.run()
    assert [0] == [chunk.offset for chunk in peer.chunks()]
