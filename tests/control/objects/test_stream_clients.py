"""Publishers and consumers of the stream protocol."""

import pytest

from pybroker.control.objects.stream_clients import CONSUMERS, PUBLISHERS
from tests.control.objects.conftest import facts, view_of
from tests.fakes import Basic
from tests.stream_peer import StreamPeer

NAME = "127.0.0.1:40000 -> 127.0.0.1:5552"


@pytest.fixture
def client(world):
    peer = StreamPeer(world)
    for stream in ("s", "t"):
        peer.create(stream)
    peer.declare("s", 1)
    peer.declare("t", 2)
    peer.subscribe("t", 3)
    return peer


def test_clients_tell_their_stream_and_connection(world, client):
    assert facts(world, PUBLISHERS, "queue") == [{"name": name, "vhost": "/"} for name in ("s", "t")]
    assert facts(world, CONSUMERS, "queue") == [{"name": "t", "vhost": "/"}]
    assert facts(world, CONSUMERS, "connection_details")[0]["name"] == NAME


def test_clients_of_one_stream_or_connection(world, client):
    view = view_of(world)

    def found(kind, *key):
        return [kind.readers["queue"](each)["name"] for each in kind.get(view, [key])]

    assert found(PUBLISHERS, "stream", "/", "t") == found(CONSUMERS, "stream", "/", "t") == ["t"]
    assert found(PUBLISHERS, "connection", "/", NAME) == ["s", "t"]
    assert found(CONSUMERS, "connection", "/", "none") == found(PUBLISHERS, "stream", "none", "t") == []


def test_consumers_of_amqp_are_none_of_the_protocol(world, peer):
    peer.declare("s", {"x-queue-type": "stream"}, durable=True)
    peer.declare("q")
    peer.call(Basic.Qos(prefetch_count=1))
    peer.consume("s")
    assert facts(world, CONSUMERS, "queue") == []
    assert list(CONSUMERS.get(view_of(world), [("stream", "/", "q")])) == []


def test_clients_are_those_of_the_users_connections(world, client):
    view = view_of(world)._replace(user="ann")
    assert list(PUBLISHERS.find(view)) == list(CONSUMERS.find(view)) == []
