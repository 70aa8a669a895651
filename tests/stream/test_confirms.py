"""Confirms: of what is on disk, one frame for each publisher, and one of its repeats; errors where it never will be."""

import pytest

from pybroker.core.channel.receipt import Receipt
from pybroker.stream.confirms import Confirms
from pybroker.wire.stream import commands
from tests.slow import GatheringLog
from tests.stream_peer import StreamPeer


def receipt(log=None, position: int = 0) -> Receipt:
    made = Receipt()
    if log is not None:
        made.wait(log, position)
    return made


class Publisher:
    """Stands for one: known by itself."""

    def __init__(self, number: int) -> None:
        self.id, self.is_gone, self.confirmed, self.refused = number, False, 0, 0

    def count_confirmed(self, publishes: int) -> None:
        self.confirmed += publishes


def ids(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8) for number in numbers)


def test_what_waits_for_nothing_is_told_at_once_and_together():
    confirms, one, other = Confirms(), Publisher(1), Publisher(2)
    for each, number in ((one, 1), (other, 2), (one, 3)):
        confirms.add(each, ids(number), receipt())
    assert (3, True) == (len(confirms), confirms.is_waiting)
    first, second = confirms.pop(0)
    assert (b"\x01\0\0\0\x02" + ids(1, 3), b"\x02\0\0\0\x01" + ids(2)) == (first[8:], second[8:])
    assert (2, 1, 0, None) == (one.confirmed, other.confirmed, len(confirms), confirms.awaited)


def test_a_publish_waits_for_its_log():
    log, confirms, one = GatheringLog(), Confirms(), Publisher(1)
    log.completed = 0
    confirms.add(one, ids(1), receipt(log, 5))
    confirms.add(one, ids(2), receipt(log, 5))
    confirms.add(one, ids(3), receipt(log, 6))
    assert ([], log) == (confirms.pop(0), confirms.awaited)
    log.completed = 5
    assert ids(1, 2) == confirms.pop(0)[0][13:]
    log.failed = "no disk"
    (error,) = confirms.pop(0)
    assert ids(3) + b"\0\x0f" == error[13:]


def test_repeats_are_told_in_frames_of_their_own_after_the_others():
    log, confirms, one = GatheringLog(), Confirms(), Publisher(1)
    log.completed = 5
    confirms.add(one, ids(1, 2), receipt(log, 5), ids(1))
    confirms.add(one, ids(3), receipt(log, 5))
    confirms.add(one, b"", receipt(log, 5), ids(2))
    assert 5 == len(confirms)
    assert [ids(1, 2, 3), ids(1, 2)] == [frame[13:] for frame in confirms.pop(0)]
    assert 5 == one.confirmed
    confirms.add(one, ids(4), receipt(log, 6), ids(4))
    log.failed = "no disk"
    assert [ids(4) + b"\0\x0f"] * 2 == [frame[13:] for frame in confirms.pop(0)]


def test_a_publisher_that_is_gone_is_told_nothing():
    confirms, one = Confirms(), Publisher(1)
    confirms.add(one, ids(1), receipt())
    one.is_gone = True
    assert [] == confirms.pop(0)
    confirms.add(one, ids(1), receipt())
    confirms.clear()
    assert 0 == len(confirms)


# -- in a session -----------------------------------------------------------------------------------------------------


@pytest.fixture
def log(world) -> GatheringLog:
    world.broker.log = GatheringLog()
    return world.broker.log


@pytest.fixture
def publishing(world, log) -> StreamPeer:
    peer = StreamPeer(world)
    peer.create()
    peer.declare()
    return peer


def test_nothing_is_confirmed_or_delivered_before_it_is_on_disk(world, log, publishing):
    reader = StreamPeer(world)
    reader.subscribe()
    publishing.publish(b"a", b"b")
    assert ([], []) == (publishing.confirmed(), reader.chunks())
    position = log.seal()
    publishing.publish(b"c", first_id=3)
    world.broker.log_completed(position)
    world.run()
    assert [1, 2] == publishing.confirmed()
    assert [[b"a", b"b"]] == [chunk.bodies for chunk in reader.chunks()]
    world.broker.log_completed(log.seal())
    world.run()
    assert [3] == publishing.confirmed()


def test_a_log_that_fails_refuses(world, log, publishing):
    publishing.publish(b"a")
    world.broker.log_failed("no disk")
    world.run()
    assert ([], [(1, 15)]) == (publishing.confirmed(), publishing.errors())


def test_what_comes_again_is_confirmed_with_the_first(world, log):
    peer = StreamPeer(world)
    peer.create()
    peer.declare(reference="me")
    peer.publish(b"a")
    peer.publish(b"a")
    assert [] == peer.confirmed()
    position = log.seal()
    peer.disconnect()
    again = StreamPeer(world)
    again.declare(reference="me")
    again.publish(b"a")
    assert [] == again.confirmed()
    world.broker.log_completed(position)
    world.run()
    assert [1] == again.confirmed()


def test_an_id_is_told_once_its_message_is_on_disk(world, log):
    """A publisher that comes back sends nothing up to the id that it is told, and takes it for confirmed."""
    peer = StreamPeer(world)
    peer.create()
    peer.declare(reference="me")
    peer.publish(b"a", b"b", first_id=1)
    peer.disconnect()
    again = StreamPeer(world)
    log.wanted.clear()
    again.send(commands.QueryPublisherSequence(8, "me", "s"), commands.StreamStats(9, "s"))
    assert [] == again.answers
    position = log.seal()
    assert log.wanted == [position]
    world.broker.log_completed(position)
    world.run()
    assert [(8, (2).to_bytes(8)), (9, again.answers[1].content)] == [
        (answer.correlation_id, answer.content) for answer in again.answers
    ]


def test_an_id_of_what_is_on_disk_is_told_at_once(world, log):
    peer = StreamPeer(world)
    peer.create()
    assert bytes(8) == peer.call(commands.QueryPublisherSequence, "me", "s").content
    peer.declare(reference="me")
    peer.publish(b"a", first_id=7)
    world.broker.log_completed(log.seal())
    world.run()
    assert (7).to_bytes(8) == peer.call(commands.QueryPublisherSequence, "me", "s").content


def test_an_id_whose_message_never_comes_to_disk_is_not_told(world, log):
    peer = StreamPeer(world)
    peer.create()
    peer.declare(reference="me")
    peer.publish(b"a", first_id=7)
    again = StreamPeer(world)
    again.send(commands.QueryPublisherSequence(8, "me", "s"))
    world.broker.log_failed("no disk")
    world.run()
    assert [] == again.answers
    assert 1 == len(again.take(22))


def test_too_much_that_is_not_on_disk_stops_the_reading(world, log, publishing, monkeypatch):
    monkeypatch.setattr("pybroker.core.channel.credit.PEER_OCTETS_MAX", 5_000)
    publishing.publish(*[b"x" * 1_000] * 6)
    assert ("flow", False) == (publishing.session.shown_state, publishing.session.readable)
    world.broker.log_completed(log.seal())
    world.run()
    assert publishing.session.readable
    assert 6 == len(publishing.confirmed())


def test_a_lost_connection_waits_for_nothing(world, log, publishing):
    publishing.publish(b"a")
    publishing.disconnect()
    assert {} == world.broker.unconfirmed
    world.broker.log_completed(log.seal())
