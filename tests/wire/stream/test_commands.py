"""Commands: decoded as they were written, and refused when they are anything else."""

import pytest

from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import VALUED, OffsetType
from pybroker.wire.stream.commands import COMMANDS, decode
from pybroker.wire.stream.fields import Offset, Versions
from pybroker.wire.stream.frame import Frame, MalformedFrameError, frame, split_frame

SAMPLES = [
    commands.DeclarePublisher(1, 2, "ref", "s"),
    commands.QueryPublisherSequence(1, "ref", "s"),
    commands.DeletePublisher(1, 2),
    commands.Subscribe(1, 2, "s", Offset(OffsetType.OFFSET, 5), 10, {"name": "x"}),
    commands.Subscribe(1, 2, "s", Offset(OffsetType.NEXT), 10, {}),
    commands.Credit(2, 1),
    commands.StoreOffset("ref", "s", 9),
    commands.QueryOffset(1, "ref", "s"),
    commands.Unsubscribe(1, 2),
    commands.CreateStream(1, "s", {"max-age": "1D"}),
    commands.DeleteStream(1, "s"),
    commands.Metadata(1, ("s", "t")),
    commands.MetadataUpdate(6, "s"),
    commands.PeerProperties(1, {"product": "x"}),
    commands.SaslHandshake(1),
    commands.SaslAuthenticate(1, "PLAIN", b"\0guest\0guest"),
    commands.Tune(1 << 20, 60),
    commands.Open(1, "/"),
    commands.Close(1, 1, "OK"),
    commands.Heartbeat(),
    commands.Route(1, "key", "x"),
    commands.Partitions(1, "x"),
    commands.ExchangeCommandVersions(1, (Versions(8, 1, 2),)),
    commands.StreamStats(1, "s"),
    commands.ConsumerUpdated(1, 1, Offset(OffsetType.OFFSET, 7)),
    commands.CreateSuperStream(1, "x", ("x-0", "x-1"), ("0", "1"), {"max-age": "1D"}),
    commands.DeleteSuperStream(1, "x"),
    commands.ResolveOffsetSpec(1, "s", Offset(OffsetType.TIMESTAMP, -1), {}),
]


def decoded(octets: bytes) -> commands.Command:
    found = split_frame(octets, 0, 0)
    assert found is not None
    return decode(octets, found)


def test_there_is_a_sample_of_each():
    assert set(COMMANDS.values()) == {type(sample) for sample in SAMPLES}


def test_a_peer_may_leave_the_place_to_the_subscription():
    answer = commands.ConsumerUpdated(1, 1, None)
    assert answer == decoded(answer.octets) == decoded(frame(answer.key, answer.octets[8:-2]))


@pytest.mark.parametrize("begin", [None, *(Offset(each) for each in OffsetType if each not in VALUED)])
def test_a_value_that_means_nothing_may_follow_the_place(begin):
    answer = commands.ConsumerUpdated(1, 1, begin)
    assert answer == decoded(frame(answer.key, answer.octets[8:] + bytes(8)))


def test_a_member_of_a_group_is_asked():
    assert bytes.fromhex("0000000a 001a 0001 00000007 02 01") == commands.ConsumerUpdate(7, 2, 1).octets


@pytest.mark.parametrize("command", SAMPLES)
def test_it_is_decoded_as_it_was_written(command):
    assert command == decoded(command.octets)


@pytest.mark.parametrize("command", SAMPLES)
def test_cut_anywhere_or_longer_it_is_another_or_malformed(command):
    content = command.octets[8:]
    for other in (*(content[:stop] for stop in range(len(content))), content + b"\0"):
        try:
            assert command != decoded(frame(command.key, other))
        except MalformedFrameError:
            continue


def test_tune_may_be_a_response():
    assert commands.Tune(1, 2) == decoded(frame(0x8014, b"\0\0\0\x01\0\0\0\x02"))


@pytest.mark.parametrize(("key", "version"), [(0, 1), (26, 1), (29, 1), (99, 1), (23, 2), (0x8017, 1), (2, 1), (8, 1)])
def test_unknown_keys_and_versions_are_malformed(key, version):
    with pytest.raises(MalformedFrameError):
        decode(b"", Frame(key, version, 0, 0))
