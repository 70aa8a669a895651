"""Figures of connections, channels and consumers: these last as long as their noun, and a connection's longer."""

from pybroker.core.stats.metrics import CHANNEL, CONNECTION, CONSUMER
from tests.fakes import Basic, Channel, Confirm, Tx, World


def of_channel(peer, number=1):
    channel = peer.session.channels[number]
    found = {name: metric.read(channel) for name, metric in CHANNEL.items() if metric.type == "counter"}
    return {name: value for name, value in found.items() if value}


def of_connection(peer):
    return [CONNECTION[name].read(peer.session) for name in ("publish", "deliver_get", "ack")]


def test_a_channel_counts_what_it_publishes():
    peer = World().connect()
    peer.declare("q")
    peer.publish("", "q")
    peer.publish("", "nowhere")
    peer.publish("", "nowhere", mandatory=True)
    peer.take()
    assert of_channel(peer) == {"publish": 3, "return_unroutable": 1, "drop_unroutable": 1}
    peer.call(Channel.Open(), channel=2)
    peer.call(Confirm.Select(), channel=2)
    peer.publish("", "q", channel=2)
    assert of_channel(peer, 2) == {"publish": 1, "confirm": 1}
    peer.call(Channel.Open(), channel=3)
    peer.call(Tx.Select(), channel=3)
    peer.publish("", "q", channel=3)
    assert of_channel(peer, 3) == {}
    peer.call(Tx.Commit(), channel=3)
    assert of_channel(peer, 3) == {"publish": 1}


def test_a_channel_counts_what_it_is_given_also_by_consumers_that_are_gone():
    peer = World().connect()
    for queue in "ab":
        peer.declare(queue)
        for _ in range(4):
            peer.publish("", queue)
    peer.call(Channel.Open(), channel=2)
    peer.send(Basic.Qos(prefetch_count=2), Basic.Consume(queue="a", consumer_tag="m"), channel=2)
    peer.send(Basic.Consume(queue="b", consumer_tag="n", no_ack=True), channel=2)
    given = {"deliver": 2, "deliver_no_ack": 4, "deliver_get": 6}
    assert of_channel(peer, 2) == given
    for tag in "mn":
        peer.send(Basic.Cancel(consumer_tag=tag), channel=2)
    assert of_channel(peer, 2) == given
    peer.send(Basic.Nack(delivery_tag=0, multiple=True), channel=2)
    for no_ack in (False, True):
        peer.send(Basic.Get(queue="a", no_ack=no_ack), channel=2)
    peer.send(Basic.Get(queue="b"), channel=2)
    peer.send(Basic.Ack(delivery_tag=0, multiple=True), channel=2)
    got = {"get": 1, "get_no_ack": 1, "get_empty": 1, "redeliver": 2, "ack": 1}
    assert of_channel(peer, 2) == {**given, "deliver_get": 8, **got}


def test_a_consumer_counts_what_it_acknowledges_and_not_what_it_gives_back():
    peer = World().connect()
    peer.declare("q")
    for _ in range(6):
        peer.publish("", "q")
    peer.send(Basic.Qos(prefetch_count=4), Basic.Consume(queue="q", consumer_tag="c"))
    consumer = peer.session.channels[1].consumers["c"]

    def figures():
        return [CONSUMER[name].read(consumer) for name in ("deliver", "ack", "messages_unacknowledged")]

    assert [4, 0, 4] == figures()
    peer.send(Basic.Ack(delivery_tag=1))
    assert [5, 1, 4] == figures()
    peer.send(Basic.Reject(delivery_tag=2, requeue=False))
    assert [6, 1, 4] == figures()
    peer.send(Basic.Nack(delivery_tag=3, requeue=True))
    assert [7, 1, 4] == figures()
    peer.send(Basic.Ack(delivery_tag=0, multiple=True))
    assert [7, 5, 0] == figures()


def test_a_connection_keeps_what_its_closed_channels_have_counted():
    world = World()
    peer = world.connect()
    peer.declare("q")
    peer.call(Channel.Open(), channel=2)
    for _ in range(3):
        peer.publish("", "q", channel=2)
    peer.send(Basic.Consume(queue="q"), channel=2)
    peer.send(Basic.Ack(delivery_tag=2, multiple=True), channel=2)
    assert [3, 3, 2] == of_connection(peer)
    peer.take(2)
    peer.call(Channel.Close(200, "", 0, 0), channel=2)
    assert [3, 3, 2] == of_connection(peer)
    peer.call(Channel.Open(), channel=2)
    peer.publish("", "nosuch", channel=2)
    peer.publish("nosuch", "", channel=2)
    peer.send(Channel.CloseOk(), channel=2)
    assert [4, 3, 2] == of_connection(peer)
    peer.disconnect()
    assert [4, 3, 2] == of_connection(peer)
