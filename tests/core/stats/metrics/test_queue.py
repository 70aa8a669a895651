"""Figures of a queue."""

from pybroker.core.stats.metrics import QUEUE, STREAM
from tests.fakes import Basic, World
from tests.stream_peer import StreamPeer


def test_what_happened_to_a_queue_can_be_read_off_it():
    world = World()
    peer = world.connect()
    peer.declare("q")
    for _ in range(3):
        peer.publish("", "q", b"12345")
    peer.get("q", no_ack=True)
    got = peer.get("q", no_ack=False)
    queue = world.vhost.queues["q"]
    figures = {name: metric.read(queue) for name, metric in QUEUE.items()}
    assert (1, 1, 2, 10) == tuple(
        figures[name] for name in ("messages_ready", "messages_unacknowledged", "messages", "message_bytes")
    )
    assert (3, 2, 1, 0) == tuple(figures[name] for name in ("publish", "deliver_get", "settled", "ack"))
    peer.send(Basic.Ack(delivery_tag=got.method.delivery_tag))
    assert 1 == QUEUE["ack"].read(queue)


def test_gets_are_counted_by_what_they_asked_for_and_found():
    world = World()
    peer = world.connect()
    peer.declare("q")
    peer.publish("", "q")
    peer.publish("", "q")
    for no_ack in (True, False, True, False, False):
        peer.call(Basic.Get(queue="q", no_ack=no_ack))
    queue = world.vhost.queues["q"]
    names = ("get", "get_no_ack", "get_empty", "deliver", "deliver_get")
    assert [1, 1, 3, 0, 2] == [QUEUE[name].read(queue) for name in names]


def test_a_stream_lags_as_its_slowest_consumer():
    world = World()
    client = StreamPeer(world)
    client.create()
    stream = world.vhost.queues["s"]
    client.declare()
    client.publish(b"a", b"b", b"c")
    lag = STREAM["max_offset_lag"].read
    assert 0 == lag(stream)
    client.subscribe()
    assert 0 == lag(stream)
    client.subscribe(subscription_id=2, credit=0)
    assert 3 == lag(stream)
