"""Python's garbage collections are bounded, and ended connections and queues leave next to nothing for them."""

import gc
import logging

import pytest
from pamqp import frame

from pybroker.daemon.resources import garbage
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Code
from tests.fakes import Basic, Channel, Confirm, Connection, Exchange, Queue, Tx, World
from tests.stream_peer import StreamPeer


@pytest.fixture
def collections(monkeypatch):
    """Return the list of generations that were collected by hand; the process keeps its own thresholds."""
    before, found = gc.get_threshold(), []
    monkeypatch.setattr(gc, "collect", lambda generation=2: found.append(generation))
    monkeypatch.setattr(gc, "freeze", lambda: found.append("freeze"))
    yield found
    gc.set_threshold(*before)


def test_what_stands_at_the_start_is_not_walked_over_again(collections):
    garbage.begin()
    assert [2, "freeze"] == collections
    young, middle, old = gc.get_threshold()
    # An automatic collection may walk over so many objects: half a millisecond.
    assert young * (middle + 1) <= 5_000
    assert old >= 10**9


def test_b19_only_what_is_young_is_collected(collections):
    garbage.collect_young()
    assert [1] == collections


# -- circles ----------------------------------------------------------------------------------------------------------


def vanish(peer):
    peer.disconnect()


def close(peer):
    peer.send_octets(frame.marshal(Connection.Close(200, "", 0, 0), 0))
    peer.disconnect()


def fail(peer):
    peer.send_octets(b"\x01" * 100)
    peer.disconnect()


def refuse(peer):
    peer.send_octets(frame.marshal(Queue.Declare(queue="amq.no"), 1))
    peer.disconnect()


def busy(world, end):
    """Do a bit of everything on a connection, and end it in some way."""
    peer, other = world.connect(), world.connect()
    peer.call(Exchange.Declare(exchange="x", exchange_type="topic", auto_delete=True))
    for queue in ("one", "two"):
        peer.call(Queue.Declare(queue=queue, exclusive=True))
        peer.call(Queue.Bind(queue=queue, exchange="x", routing_key=f"{queue}.#"))
    peer.call(Queue.Declare(queue="auto", auto_delete=True))
    for queue in ("one", "two", "auto"):
        for _ in range(3):
            tag = peer.consume(queue)
        peer.call(Basic.Cancel(tag))
    peer.call(Confirm.Select())
    for _ in range(5):
        peer.publish("x", "one.a", b"body")
    peer.take()
    peer.send_octets(frame.marshal(Channel.Open(), 2))
    peer.send_octets(frame.marshal(Tx.Select(), 2))
    peer.call(Queue.Delete(queue="two"))
    end(peer)
    close(other)
    world.run()
    world.peers.clear()


def streaming(world, end):
    """Do a bit of everything on a connection of the stream protocol, and end it in some way."""
    peer, other = StreamPeer(world), StreamPeer(world)
    assert peer.call(commands.CreateStream, "s", {}).code in {1, Code.STREAM_ALREADY_EXISTS}
    peer.declare("s", reference="name")
    peer.subscribe("s")
    other.subscribe("s", name="group", single_active_consumer="true")
    peer.publish(b"body", b"another", first_id=world.vhost.queues["s"].next_offset + 1)
    world.run()
    assert peer.chunks()
    end(peer)
    vanish(other)
    world.run()
    world.peers.clear()


def close_streaming(peer):
    peer.call(commands.Close, 1, "")
    peer.disconnect()


def refuse_frame(peer):
    peer.send_octets(b"\0\0\0\4\0\x63\0\1")
    peer.disconnect()


def deleting(world, end):
    """Create a stream and a super stream, use them by both protocols, delete them, and end the connection."""
    peer, other = StreamPeer(world), world.connect()
    peer.call(commands.CreateStream, "s", {})
    peer.declare("s", reference="name")
    peer.subscribe("s")
    peer.publish(b"body", b"another")
    peer.send(commands.StoreOffset("name", "s", 1))
    world.run()
    assert peer.chunks()
    other.call(Queue.Declare(queue="t", durable=True, arguments={"x-queue-type": "stream"}))
    other.call(Basic.Qos(prefetch_count=10))
    other.consume("t")
    other.publish("", "t", b"body")
    world.run()
    assert other.take()
    other.call(Queue.Delete(queue="t"))
    assert peer.call(commands.CreateSuperStream, "super", ["one", "two"], ["1", "2"], {}).code == Code.OK
    assert peer.call(commands.DeleteSuperStream, "super").code == Code.OK
    assert peer.call(commands.DeleteStream, "s").code == Code.OK
    end(peer)
    close(other)
    world.run()
    world.peers.clear()


ENDS = [(busy, end) for end in (vanish, close, fail, refuse)]
ENDS += [(streaming, end) for end in (vanish, close_streaming, fail, refuse_frame)]
ENDS += [(deleting, close_streaming)]


@pytest.mark.parametrize(("do", "end"), ENDS)
def test_a_connection_that_ends_leaves_no_circles(do, end):
    world = World()
    logging.disable()  # pytest keeps records, and they have their sessions
    do(world, end)  # what is made once, and kept
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            do(world, end)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kinds = sorted({type(each).__name__ for each in gc.garbage})
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
        logging.disable(logging.NOTSET)
    assert [] == kinds
