"""Input: frames as they come, whatever they are: an answer or a close, and never a bug's trace."""

import random

import pytest

from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import OffsetType
from pybroker.wire.stream.commands import COMMANDS
from pybroker.wire.stream.fields import Offset, Versions
from tests.fakes import World
from tests.stream_peer import StreamPeer, ids_frame, raw_frame

SAMPLES = [
    commands.DeclarePublisher(1, 2, "ref", "s").octets,
    commands.QueryPublisherSequence(1, "ref", "s").octets,
    commands.DeletePublisher(1, 2).octets,
    commands.Subscribe(1, 2, "s", Offset(OffsetType.OFFSET, 5), 10, {"name": "x"}).octets,
    commands.Subscribe(1, 3, "s", Offset(OffsetType.FIRST), 10, {}).octets,
    commands.Credit(3, 5).octets,
    commands.StoreOffset("ref", "s", 9).octets,
    commands.QueryOffset(1, "ref", "s").octets,
    commands.Unsubscribe(1, 2).octets,
    commands.CreateStream(1, "t", {"max-age": "1D", "max-length-bytes": "100"}).octets,
    commands.DeleteStream(1, "t").octets,
    commands.Metadata(1, ("s", "t")).octets,
    commands.PeerProperties(1, {"product": "x"}).octets,
    commands.SaslHandshake(1).octets,
    commands.SaslAuthenticate(1, "PLAIN", b"\0guest\0guest").octets,
    commands.Tune(1 << 20, 60).octets,
    commands.Open(1, "/").octets,
    commands.Heartbeat().octets,
    commands.Route(1, "key", "amq.direct").octets,
    commands.Partitions(1, "amq.direct").octets,
    commands.ExchangeCommandVersions(1, (Versions(8, 1, 2),)).octets,
    commands.StreamStats(1, "s").octets,
    commands.ResolveOffsetSpec(1, "s", Offset(OffsetType.TIMESTAMP, -1), {}).octets,
    commands.CreateSuperStream(1, "x", ("x-0", "x-1"), ("0", "1"), {"max-age": "1D"}).octets,
    commands.DeleteSuperStream(1, "x").octets,
    commands.Subscribe(1, 4, "s", Offset(OffsetType.NEXT), 10, {"name": "x", "single-active-consumer": "true"}).octets,
    raw_frame(0x801A, 1, bytes(4) + b"\0\x01\0\x04" + bytes(8)),
    raw_frame(0x801A, 1, b"\0\0\0\x01\0\x01\0\0"),
    ids_frame(1, range(5)),
    ids_frame(9, range(3)),
    raw_frame(2, 2, b"\x01\0\0\0\x01" + bytes(8) + b"\xff\xff\0\0\0\x01a"),
    raw_frame(2, 1, b"\x01\0\0\0\x01" + bytes(8) + b"\x80\0\x01\0\0\0\x05\0\0\0\x05\0\0\0\x01a"),
]


def mutated(source: random.Random) -> bytes:
    """Return a frame, mostly one that is nearly right."""
    kind = source.random()
    if kind < 0.1:
        return raw_frame(source.choice([*COMMANDS, 2, 26, 99]), source.choice((1, 1, 2, 0)), source.randbytes(20))
    octets = bytearray(source.choice(SAMPLES))
    if kind < 0.8:
        for _ in range(source.choice((1, 1, 2, 5))):
            at = source.randrange(4 if source.random() < 0.95 else 0, len(octets))
            octets[at] = source.choice((0, 1, 0x7F, 0x80, 0xFF, source.randrange(256)))
    if kind < 0.3:
        stop = source.randrange(8, len(octets) + 1)
        octets = bytearray((stop - 4).to_bytes(4)) + octets[4:stop]
    return bytes(octets)


def fuzz(seed: int, count: int, caplog) -> None:
    source = random.Random(seed)
    world = World()
    peer = None
    for number in range(count):
        if peer is None or peer.session.finished or peer.session.state == "closing" or source.random() < 0.02:
            if peer is not None:
                peer.disconnect()
            peer = StreamPeer(world, is_open=source.random() < 0.9)
            if peer.session.state == "running":
                peer.call(commands.CreateStream, "s", {})
                peer.call(commands.DeclarePublisher, 1, "", "s")
        octets = mutated(source)
        caplog.clear()
        peer.send_octets(octets)
        traces = [record for record in caplog.records if record.exc_info]
        assert not traces, f"seed {seed}, frame {number}: {octets.hex()}"
        peer.answers.clear()
        peer.inbox.clear()


def test_whatever_comes_is_answered_or_ends_the_connection(caplog):
    fuzz(1, 1_500, caplog)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_thousand_frames(caplog, seed):
    fuzz(seed, 10_000, caplog)


@pytest.mark.parametrize(("key", "version"), [(26, 1), (29, 1), (30, 1), (99, 1), (23, 9), (0x8001, 1), (2, 3)])
def test_an_unknown_frame_is_told_and_the_connection_closed(peer, key, version):
    peer.send_octets(raw_frame(key, version, b"\x01\0\0\0\0"))
    (close,) = peer.take(22)
    assert b"\0\0\0\x01\0\x0d\0\x0dunknown frame" == close.content
    assert "closing" == peer.session.state
    peer.send(commands.StreamStats(1, "s"))
    assert [] == peer.answers
    peer.send_octets(raw_frame(0x8016, 1, b"\0\0\0\x01\0\x01"))
    assert peer.session.finished


def test_a_frame_that_is_too_large_is_told(peer):
    peer.send_octets((1_048_577).to_bytes(4) + b"\0\x02\0\x01")
    (close,) = peer.take(22)
    assert b"\0\x0e\0\x0fframe too large" == close.content[4:]


def test_a_first_frame_that_is_too_large_is_one_of_this_protocol(world, caplog):
    stranger = StreamPeer(world, is_open=False)
    stranger.send_octets((8_193).to_bytes(4) + b"\0\x11\0\x01")
    assert stranger.session.finished
    assert "Frame size (8193 bytes) exceeds maximum (8192 bytes)" in caplog.text
    assert "instead of" not in caplog.text


def test_a_peer_that_does_not_answer_our_close_is_cut_off(world, peer):
    peer.send_octets(raw_frame(99, 1, b""))
    world.advance(10_000)
    assert ("closed", True) == (peer.session.state, peer.session.close_now)


def test_many_requests_at_once_are_answered_in_order(peer):
    peer.send(*(commands.QueryOffset(number, "me", "s") for number in range(500)))
    assert list(range(500)) == [answer.correlation_id for answer in peer.answers]


def test_a_share_of_the_time_is_over_and_the_rest_follows(world, peer):
    world.turn.receive_ms = 0
    peer.send(*(commands.QueryOffset(number, "me", "s") for number in range(500)))
    assert 500 == len(peer.answers)


def test_replies_that_nobody_reads_stop_the_reading(world, peer):
    session = peer.session
    del world.peers[session]
    octets = commands.Metadata(1, tuple(f"stream-{number}" for number in range(500))).octets
    for _ in range(200):
        if session.readable:
            session.receive(octets)
    assert ("peer", False) == (str(next(iter(session.throttle.causes))), session.readable)
    session.pop_output()
    session.output_sent(0)
    assert session.readable
