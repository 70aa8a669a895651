"""Publish: entries reach the stream as they came, and each id is answered."""

import gzip

import pytest

from pybroker.core.events.cause import BROKER
from pybroker.stream.publishing import new_of
from pybroker.wire.stream import commands
from pybroker.wire.stream.bloom import bloom_of
from pybroker.wire.stream.entries import Published, scan
from tests.stream_peer import StreamPeer, bodies_of, entry, filtered_frame, ids_frame, publish_frame, raw_frame


def bodies(peer: StreamPeer, stream: str = "s") -> list[bytes]:
    """Return what the stream has, as a second client reads it."""
    reader = StreamPeer(peer.world)
    reader.subscribe(stream, credit=1_000)
    return [body for chunk in reader.chunks() for body in chunk.bodies]


def stream_of(peer: StreamPeer):
    return peer.world.vhost.queues["s"]


def test_each_id_is_confirmed_and_messages_are_in_order(peer):
    peer.declare()
    peer.publish(b"a", b"", b"c" * 1_000)
    assert [1, 2, 3] == peer.confirmed()
    assert [b"a", b"", b"c" * 1_000] == bodies(peer)
    stream, session = stream_of(peer), peer.session
    assert (3, 3, 3) == (stream.published, session.published, session.channel.publishers[1].confirmed)
    assert (3, 1, 3) == tuple(
        getattr(peer.world.broker.totals, name) for name in ("received_confirm", "publishers", "published")
    )


def test_many_frames_of_one_read_are_one_run(peer):
    peer.declare()
    peer.send_octets(b"".join(ids_frame(1, range(first, first + 10)) for first in range(0, 500, 10)))
    assert list(range(500)) == peer.confirmed()
    assert 1 == len(stream_of(peer).pieces)
    assert [b"%d" % number for number in range(500)] == bodies(peer)


def test_publishers_take_turns(peer):
    peer.declare(publisher_id=1)
    peer.declare(publisher_id=2)
    peer.send_octets(b"".join(ids_frame(1 + number % 2, [number]) for number in range(10)))
    assert ([0, 2, 4, 6, 8], [1, 3, 5, 7, 9]) == (peer.confirmed_of(1), peer.confirmed_of(2))
    assert [b"%d" % number for number in range(10)] == bodies(peer)


@pytest.mark.parametrize("step", [1, 7, 100])
def test_frames_may_be_cut_anywhere(peer, step):
    peer.declare()
    octets = ids_frame(1, range(20)) + ids_frame(1, range(20, 40))
    for at in range(0, len(octets), step):
        peer.send_octets(octets[at : at + step])
    assert list(range(40)) == peer.confirmed()


def test_a_large_frame_is_read_in_large_portions(peer):
    peer.declare()
    octets = publish_frame(1, {1: b"x" * 900_000})
    peer.send_octets(octets[:100_000])
    assert peer.session.large_octets == peer.session.read_octets
    peer.send_octets(octets[100_000:])
    assert 0 == peer.session.read_octets
    assert [1] == peer.confirmed()


def test_more_than_a_chunk_holds_becomes_several(world):
    world.broker.settings.stream_frame_octets_max = 1 << 24
    peer = StreamPeer(world, frame_octets_max=1 << 24)
    peer.create()
    peer.declare()
    peer.send_octets(ids_frame(1, range(70_000)))
    assert list(range(70_000)) == peer.confirmed()
    peer.send_octets(publish_frame(1, dict.fromkeys(range(4), b"x" * 500_000)))
    assert 70_004 == stream_of(peer).messages
    reader = StreamPeer(world)
    reader.subscribe(credit=100)
    chunks = reader.chunks()
    assert 70_004 == sum(chunk.messages for chunk in chunks)
    assert all(len(chunk.data) <= 1_040_000 for chunk in chunks)
    assert [65_535, 4_465] == [chunk.entries for chunk in chunks[:2]]
    offsets = [chunk.offset for chunk in chunks]
    assert offsets == [sum(chunk.messages for chunk in chunks[:at]) for at in range(len(chunks))]


def test_version_2_brings_filter_values(peer):
    peer.declare()
    messages = [(1).to_bytes(8) + b"\0\x01f" + entry(b"a"), (2).to_bytes(8) + b"\xff\xff" + entry(b"b")]
    peer.send_octets(raw_frame(2, 2, b"\x01\0\0\0\x02" + b"".join(messages)))
    assert [1, 2] == peer.confirmed()
    assert [b"a", b"b"] == bodies(peer)
    assert bloom_of([b"f", None], 16) == stream_of(peer).pieces[0].run.bloom


def test_chunks_without_a_wanted_filter_value_are_passed_over(peer):
    peer.create("filtered", stream_filter_size_bytes="100")
    peer.declare("filtered")
    for number, value in enumerate((b"a", b"b", None, b"a")):
        peer.send_octets(filtered_frame(1, {number: (value, b"%d" % number)}))
    assert [0, 1, 2, 3] == peer.confirmed()
    peer.subscribe("filtered", 1, **{"filter.0": "a"})
    peer.subscribe("filtered", 2, **{"filter.0": "b", "filter.1": "c", "match-unfiltered": "true"})
    found = [(chunk.subscription_id, chunk.bodies) for chunk in peer.chunks()]
    assert [(1, [b"0"]), (1, [b"3"]), (2, [b"1"]), (2, [b"2"])] == sorted(found)
    stream = peer.world.vhost.queues["filtered"]
    assert [100, 100, 0, 100] == [len(piece.run.bloom) for piece in stream.pieces]


def test_filtered_frames_are_taken_together_and_ids_compared(peer):
    peer.declare(reference="me")
    frames = [filtered_frame(1, {number: (b"v%d" % (number % 3), b"%d" % number)}) for number in (1, 2, 2, 3)]
    peer.send_octets(b"".join(frames))
    assert [1, 2, 3, 2] == peer.confirmed()
    assert [b"1", b"2", b"3"] == bodies(peer)
    (piece,) = stream_of(peer).pieces
    assert bloom_of([b"v0", b"v1", b"v2"], 16) == piece.run.bloom


def test_a_sub_batch_is_one_id_and_many_messages(peer):
    peer.declare(reference="me")
    inner = b"".join(map(entry, (b"a", b"b", b"c")))
    packed = gzip.compress(inner)
    batch = b"\x90" + (3).to_bytes(2) + len(inner).to_bytes(4) + len(packed).to_bytes(4) + packed
    for _ in range(2):
        peer.send_octets(raw_frame(2, 1, b"\x01\0\0\0\x02" + bytes(8) + batch + (1).to_bytes(8) + entry(b"d")))
    assert [0, 1, 0, 1] == peer.confirmed()
    assert 4 == stream_of(peer).messages
    peer.subscribe()
    (chunk,) = peer.chunks()
    assert (2, 4, batch + entry(b"d")) == (chunk.entries, chunk.messages, chunk.data)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x01", b"\x01\0\0\0\x01", b"\x01\0\0\0\x01" + bytes(8) + b"\0\0\0\x05abc", b"\x01\0\0\0\0more"],
)
def test_a_malformed_frame_closes_the_connection(peer, content):
    peer.declare()
    peer.send_octets(raw_frame(2, 1, content))
    (close,) = peer.take(22)
    assert b"\0\x0d\0\x0dunknown frame" == close.content[4:]
    peer.send_octets(raw_frame(0x8016, 1, b"\0\0\0\x01\0\x01"))
    assert peer.session.finished


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_an_unknown_publisher_is_told(peer):
    peer.publish(b"a", b"b", publisher_id=9, first_id=5)
    assert [(5, 18), (6, 18)] == peer.errors()


def test_a_permission_that_is_gone_is_told(world, peer, caplog):
    peer.declare()
    world.broker.users.set_permissions("guest", "/", ".*", "^$", ".*")
    peer.publish(b"a")
    assert [(1, 16)] == peer.errors()
    (line,) = [record.message for record in caplog.records if "Publish" in record.message]
    assert line.endswith("is refused: write access to queue 's' in vhost '/' refused for user 'guest'")
    world.broker.users.set_permissions("guest", "/", ".*", ".*", ".*")
    peer.publish(b"a")
    assert [1] == peer.confirmed()


def test_a_deleted_stream_takes_its_publishers_along(world, peer):
    peer.declare()
    other = StreamPeer(world)
    assert 1 == other.call(commands.DeleteStream, "s").code
    assert b"\0\x06\0\x01s" == peer.take(16)[0].content
    peer.publish(b"a")
    assert [(1, 18)] == peer.errors()


# -- alarms and pauses ------------------------------------------------------------------------------------------------


def test_while_there_is_an_alarm_publishes_wait(world, peer):
    peer.declare()
    world.broker.alarms.set("memory", "test")
    peer.publish(b"a")
    peer.send(commands.Heartbeat())
    assert not peer.session.readable
    assert "blocked" == peer.session.shown_state
    assert [] == peer.confirmed()
    assert 17 == StreamPeer(world).call(commands.DeclarePublisher, 1, "", "s").code
    world.broker.alarms.clear("memory")
    world.run()
    assert [1] == peer.confirmed()
    assert "running" == peer.session.shown_state


def test_a_paused_stream_withholds_publishes(world, peer):
    peer.declare()
    stream, pauses = stream_of(peer), world.broker.pauses
    pauses.pause_queue(stream, "test", BROKER, publish=True, consume=False, mode="withhold")
    peer.publish(b"a")
    assert ([], False) == (peer.confirmed(), peer.session.readable)
    pauses.resume_queue(stream, BROKER)
    world.run()
    assert [1] == peer.confirmed()


def test_a_paused_stream_may_refuse_publishes(world, peer, caplog):
    peer.declare()
    world.broker.pauses.pause_queue(stream_of(peer), "test", BROKER, publish=True, consume=False, mode="refuse")
    peer.publish(b"a")
    assert [(1, 17)] == peer.errors()
    assert "are refused: it is paused" in caplog.text


def test_behind_a_refused_message_nothing_of_its_name_is_taken(world, peer):
    peer.declare(reference="me")
    stream, pauses = stream_of(peer), world.broker.pauses
    peer.publish(b"a", first_id=1)
    pauses.pause_queue(stream, "test", BROKER, publish=True, consume=False, mode="refuse")
    peer.publish(b"b", first_id=2)
    pauses.resume_queue(stream, BROKER)
    peer.publish(b"c", first_id=3)
    assert ([1], [(2, 17), (3, 17)]) == (peer.confirmed(), peer.errors())
    again = StreamPeer(world)
    again.declare(reference="me")
    again.publish(b"b", b"c", first_id=2)
    assert [2, 3] == again.confirmed()
    assert [b"a", b"b", b"c"] == bodies(peer)


# -- names ------------------------------------------------------------------------------------------------------------


def test_what_was_published_before_is_confirmed_and_not_kept(world, peer):
    peer.declare(reference="me")
    peer.publish(b"a", b"b", first_id=1)
    peer.publish(b"b", b"c", b"d", first_id=2)
    assert [1, 2, 3, 4, 2] == peer.confirmed()
    assert [b"a", b"b", b"c", b"d"] == bodies(peer)
    peer.disconnect()
    again = StreamPeer(world)
    assert (4).to_bytes(8) == again.call(commands.QueryPublisherSequence, "me", "s").content
    again.declare(reference="me")
    again.publish(b"d", first_id=4)
    assert [4] == again.confirmed()
    assert 4 == stream_of(peer).messages


def test_without_a_name_nothing_is_left_out(peer):
    peer.declare()
    for _ in range(3):
        peer.publish(b"a")
    assert 3 == stream_of(peer).messages


def published(*ids: int) -> Published:
    octets = ids_frame(1, ids)
    found = scan(octets, 0, len(octets))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("ids", "last", "kept"),
    [
        ((1, 2, 3), None, [1, 2, 3]),
        ((1, 2, 3), 0, [1, 2, 3]),
        ((1, 2, 3), 2, [3]),
        ((1, 2, 3), 3, []),
        ((0,), None, [0]),
        ((0,), 0, []),
        ((1, 5, 9), 1, [5, 9]),
        ((5, 4, 6), None, [5, 6]),
        ((3, 1, 2, 6), 0, [3, 6]),
        ((2, 2, 3), 1, [2, 3]),
        (((1 << 64) - 2, (1 << 64) - 1), 5, [(1 << 64) - 2, (1 << 64) - 1]),
    ],
)
def test_ids_that_do_not_ascend_are_left_out(ids, last, kept):
    found, repeats = new_of(published(*ids), last)
    left_out = [int.from_bytes(repeats[at : at + 8]) for at in range(0, len(repeats), 8)]
    assert sorted(ids) == sorted(kept + left_out)
    assert [b"%d" % number for number in kept] == bodies_of(found.data)
    assert b"".join(number.to_bytes(8) for number in kept) == found.ids
    assert (len(kept), len(kept)) == (found.entries, found.messages)
    assert ((kept[0], kept[-1]) if kept else (0, 0)) == (found.first_id, found.last_id)
