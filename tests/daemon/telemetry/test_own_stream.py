"""A stream of the broker's own: clients read it alone, and it never makes the disk full."""

import logging
import re

import pytest
from pamqp import commands

from pybroker.daemon.telemetry import own_stream as module
from pybroker.daemon.telemetry.own_stream import LENGTH_OCTETS_MAX, OwnStream
from tests.fakes import World

NAME = "amq.pybroker.events"


@pytest.fixture
def world():
    return World()


@pytest.fixture
def stream(world):
    stream = OwnStream(world.broker, NAME)
    stream.open()
    return stream


def documents(world, **wish):
    world.run()
    found = world.vhost.queues[NAME].documents(None, lambda _: None, start=0, stop=None, **wish)
    return [each for some in found for each in some]


def test_it_is_made_once_and_bounded(world, stream):
    made = world.vhost.queues[NAME]
    assert (made.type, made.durable, made.limits.octets_max) == ("stream", True, LENGTH_OCTETS_MAX)
    stream.open()
    assert world.vhost.queues[NAME] is made


def test_its_messages_have_a_kind_to_filter_by(world, stream):
    assert stream.publish("table", [("a", b"{}"), ("b", b'{"long":1}'), ("a", b"{}")])
    assert stream.published == 3
    found = documents(world)
    assert [(each["routing_key"], each["body"]) for each in found] == [
        ("table", {}),
        ("table", {"long": 1}),
        ("table", {}),
    ]
    assert [each["offset"] for each in documents(world, values=("a",))] == [0, 2]
    assert found[0]["properties"]["content_type"] == "application/json"


def test_clients_read_it_and_nothing_else(world, stream):
    stream.publish("table", [("a", b"{}")])
    peer = world.connect()
    refused = re.escape(f"access to queue '{NAME}' in vhost '/' refused for user 'guest'")
    for call, permission in (
        (commands.Queue.Delete(queue=NAME), "configure"),
        (commands.Queue.Declare(queue=NAME, durable=True, arguments={"x-queue-type": "stream"}), ""),
        (commands.Queue.Bind(queue=NAME, exchange="amq.topic", routing_key="#"), "write"),
    ):
        code, text = peer.error(call)
        assert code == 403
        assert not permission or re.match(f".*{permission} {refused}", text), text
    peer.publish("", NAME, b"forged")
    world.run()
    assert world.vhost.queues[NAME].messages == 1
    peer.call(commands.Basic.Qos(prefetch_count=10))
    peer.consume(NAME, no_ack=False, arguments={"x-stream-offset": "first"})
    world.run()
    assert peer.bodies() == [b"{}"]


def test_messages_are_dropped_while_disk_space_is_scarce(world, stream, caplog):
    caplog.set_level(logging.WARNING, "pybroker")
    marks = world.broker.settings.watermarks
    limit = marks.disk_limit_octets
    for free, is_published in ((limit * 2, True), (limit + limit // 4, False), (limit, False), (limit * 2, True)):
        marks.measured.disk_free = free
        assert stream.publish("t", [("a", b"{}")]) is is_published
    assert (stream.published, stream.dropped) == (2, 2)
    assert [record.getMessage() for record in caplog.records] == [
        f"stream {NAME} gets nothing: free disk space is near its limit",
        f"stream {NAME} is published to again; 2 messages were dropped since the start",
    ]


def test_messages_are_dropped_while_too_much_waits_for_the_disk(world, stream, caplog, monkeypatch):
    caplog.set_level(logging.WARNING, "pybroker")
    monkeypatch.setattr(module, "PENDING_OCTETS_MAX", 0)
    assert stream.publish("t", [("a", b"{}")])
    assert not stream.publish("t", [("a", b"{}"), ("a", b"{}")])
    monkeypatch.setattr(module, "PENDING_OCTETS_MAX", 1_000)
    assert stream.publish("t", [("a", b"{}")])
    assert (stream.published, stream.dropped) == (2, 2)
    assert [record.getMessage() for record in caplog.records] == [
        f"stream {NAME} gets nothing: the disk does not keep up",
        f"stream {NAME} is published to again; 2 messages were dropped since the start",
    ]


def test_heads_of_very_many_kinds_are_made_anew(world, stream, monkeypatch):
    monkeypatch.setattr(module, "KINDS_MAX", 2)
    for kind in ("a", "b", "c", "a", "b"):
        stream.publish("table", [(kind, b"{}")])
        assert len(stream._heads) <= 2
    assert [each["offset"] for each in documents(world, values=("a",))] == [0, 3]


def test_a_deleted_one_is_not_made_again_before_the_next_start(world, stream):
    world.vhost.delete_queue(world.vhost.queues[NAME])
    assert not stream.publish("t", [("a", b"{}")])
    assert NAME not in world.vhost.queues
