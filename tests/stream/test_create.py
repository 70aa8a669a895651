"""Streams that clients create and delete."""

import pytest

from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Code
from tests.fakes import World
from tests.stream_peer import StreamPeer


def create(peer: StreamPeer, name: str, **arguments: str) -> int:
    given = {key.replace("_", "-"): value for key, value in arguments.items()}
    return peer.call(commands.CreateStream, name, given).code


def test_a_stream_is_a_durable_queue_of_its_type(world, peer):
    assert Code.OK == create(peer, "t", max_length_bytes="5000", max_age="1D", stream_max_segment_size_bytes="1000000")
    stream = world.vhost.queues["t"]
    assert ("stream", True, False) == (stream.type, stream.durable, stream.auto_delete)
    assert {
        "x-queue-type": "stream",
        "x-max-length-bytes": 5_000,
        "x-max-age": "1D",
        "x-stream-max-segment-size-bytes": 1_000_000,
    } == stream.arguments
    assert "guest" == stream.user


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("s", {}, 5),
        ("s", {"max_age": "1D"}, 17),
        ("", {}, 17),
        ("amq.t", {}, 17),
        ("\r\n", {}, 17),
        ("n" * 256, {}, 17),
        ("n" * 255, {}, 1),
        ("t", {"max_length_bytes": "--5"}, 17),
        ("t", {"max_length_bytes": "9" * 5_000}, 17),
        ("t", {"max_length_bytes": ""}, 17),
        ("t", {"max_age": "yesterday"}, 17),
        ("t", {"max_length_bytes": "much"}, 17),
        ("t", {"max_length_bytes": "-1"}, 17),
        ("t", {"max_length_bytes": "9" * 30}, 17),
        ("t", {"initial_cluster_size": "0"}, 17),
        ("t", {"queue_leader_locator": "nowhere"}, 17),
        ("t", {"initial_cluster_size": "3", "queue_leader_locator": "least-leaders", "other": "x"}, 1),
    ],
)
def test_what_may_be_created(peer, name, arguments, code):
    assert code == create(peer, name, **arguments)
    assert "running" == peer.session.state


def test_line_ends_are_taken_out_of_names(world, peer):
    assert Code.OK == create(peer, "t\r\nu")
    assert "tu" in world.vhost.queues


def test_a_queue_of_that_name_is_in_the_way(world, peer):
    amqp = world.connect()
    amqp.declare("q")
    assert Code.PRECONDITION_FAILED == create(peer, "q")
    assert Code.STREAM_DOES_NOT_EXIST == peer.call(commands.DeleteStream, "q").code
    assert Code.STREAM_DOES_NOT_EXIST == peer.call(commands.StreamStats, "q").code


def test_configure_is_needed(world, peer):
    world.broker.users.set_permissions("guest", "/", "^$", ".*", ".*")
    assert Code.ACCESS_REFUSED == create(peer, "t")
    assert Code.ACCESS_REFUSED == peer.call(commands.DeleteStream, "s").code


def test_queues_are_limited(world, peer):
    world.broker.parameters.set("/", "vhost-limits", "limits", {"max-queues": 1})
    assert Code.PRECONDITION_FAILED == create(peer, "t")


def test_a_stream_is_deleted(world, peer):
    assert Code.OK == peer.call(commands.DeleteStream, "s").code
    assert {} == world.vhost.queues
    assert Code.STREAM_DOES_NOT_EXIST == peer.call(commands.DeleteStream, "s").code
    assert Code.OK == create(peer, "s")


def test_the_answer_to_a_deletion_comes_before_what_follows_from_it(peer):
    peer.subscribe()
    peer.declare()
    came = []
    peer.read = came.append
    peer.send(commands.DeleteStream(9, "s"))
    octets = b"".join(came)
    assert 0 <= octets.index(b"\x80\x0e\0\x01\0\0\0\x09\0\x01") < octets.index(b"\0\x10\0\x01\0\x06\0\x01s")


class Slow:
    """Definitions that are written when a test says so."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.definitions = world.broker.definitions

    def hold(self) -> None:
        self.definitions.completed = -1

    def finish(self) -> None:
        self.world.broker.definitions_completed(self.definitions.commit_position)
        self.world.run()


def test_answers_wait_for_the_disk(world, peer):
    slow = Slow(world)
    slow.hold()
    peer.send(commands.CreateStream(5, "t", {}), commands.StreamStats(6, "t"))
    assert [] == peer.answers
    slow.finish()
    assert [(5, 1), (6, 1)] == [(answer.correlation_id, answer.code) for answer in peer.answers]
    peer.answers.clear()
    slow.hold()
    peer.send(commands.DeleteStream(7, "t"))
    assert [] == peer.answers
    slow.finish()
    assert [(7, 1)] == [(answer.correlation_id, answer.code) for answer in peer.answers]


def test_an_answer_that_will_never_come_closes_the_connection(world, peer):
    Slow(world).hold()
    peer.send(commands.CreateStream(5, "t", {}))
    world.broker.definitions_failed("no disk")
    world.run()
    (close,) = peer.take(22)
    assert b"\0\x0f\0\x07no disk" == close.content[4:]
