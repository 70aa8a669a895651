"""Global counters and churn of the node, step by step, as RabbitMQ 3.10.8 counted the same steps."""

import pytest

from pybroker.core.stats.metrics import DEAD_LETTER, GLOBAL, NODE
from tests.fakes import Basic, Channel, Confirm, Exchange, Queue, Tx, World

CHURN = [name for name in NODE if name.endswith(("_opened", "_closed", "_declared", "_created", "_deleted"))]


class Counted:
    """The figures of a node, and by how much they have grown since somebody last asked."""

    def __init__(self, world: World) -> None:
        self.broker = world.broker
        self.last = self.figures()

    def figures(self) -> dict[str, int]:
        found = {name: metric.read(self.broker) for name, metric in GLOBAL.items()}
        found |= {name: NODE[name].read(self.broker) for name in CHURN}
        for strategy, deaths in self.broker.totals.deaths.items():
            found |= {f"{strategy}_{name}": metric.read(deaths) for name, metric in DEAD_LETTER.items()}
        return found

    def grown(self) -> dict[str, int]:
        before, self.last = self.last, self.figures()
        return {name: value - before[name] for name, value in self.last.items() if value != before[name]}


@pytest.fixture
def counted(world, peer):
    del peer
    return Counted(world)


def publish(peer, exchange, key, count=1, **options):
    for _ in range(count):
        peer.publish(exchange, key, b"abc", **options)


def open_channel(peer, number, *modes):
    peer.call(Channel.Open(), channel=number)
    for mode in modes:
        peer.call(mode, channel=number)


def test_publishes(counted, peer):
    for queue in "aba":
        peer.call(Queue.Declare(queue=queue))
    peer.call(Queue.Declare(queue="a", passive=True))
    assert counted.grown() == {"queues_declared": 3, "queues_created": 2}
    for queue in "ab":
        peer.call(Queue.Bind(queue=queue, exchange="amq.fanout"))
    publish(peer, "", "a", 2)
    publish(peer, "amq.fanout", "", 3)
    assert counted.grown() == {"publishers": 1, "received": 5, "routed": 8}
    publish(peer, "", "nowhere", 2)
    publish(peer, "", "nowhere", mandatory=True)
    assert counted.grown() == {"received": 3, "unroutable_dropped": 2, "unroutable_returned": 1}
    peer.take()
    peer.call(Exchange.Declare(exchange="x", arguments={"alternate-exchange": "amq.fanout"}))
    publish(peer, "x", "k")
    assert counted.grown() == {"received": 1, "routed": 2}
    peer.send(*peer.publish_frames("nosuch", ""), *peer.publish_frames("nosuch", ""))
    assert counted.grown() == {"received": 1, "channels_closed": 1, "publishers": -1}


def test_confirms_count_what_reached_no_queue_and_not_what_was_refused(counted, peer):
    peer.declare("a")
    peer.declare("full", arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    counted.grown()
    open_channel(peer, 2, Confirm.Select())
    assert counted.grown() == {"channels_opened": 1}
    publish(peer, "", "a", 2, channel=2)
    publish(peer, "", "nowhere", 2, channel=2)
    publish(peer, "", "nowhere", mandatory=True, channel=2)
    sent = {"received": 5, "received_confirm": 5, "confirmed": 5, "routed": 2, "publishers": 1}
    assert counted.grown() == {**sent, "unroutable_dropped": 2, "unroutable_returned": 1}
    publish(peer, "", "full", 3, channel=2)
    assert counted.grown() == {"received": 3, "received_confirm": 3, "confirmed": 1, "routed": 3}


def test_a_transaction_counts_at_its_commit(counted, peer):
    peer.declare("a")
    counted.grown()
    open_channel(peer, 3, Tx.Select())
    publish(peer, "", "a", 2, channel=3)
    publish(peer, "", "nowhere", channel=3)
    assert counted.grown() == {"channels_opened": 1, "publishers": 1, "received": 3, "received_confirm": 3}
    assert 0 == NODE["publish"].read(counted.broker)
    peer.call(Tx.Commit(), channel=3)
    assert counted.grown() == {"routed": 2, "unroutable_dropped": 1}
    publish(peer, "", "a", 2, channel=3)
    peer.call(Tx.Rollback(), channel=3)
    assert counted.grown() == {"received": 2, "received_confirm": 2}
    assert 3 == NODE["publish"].read(counted.broker)
    [got] = [peer.call(Basic.Get(queue="a"), channel=3)]
    peer.send(Basic.Ack(delivery_tag=got.method.delivery_tag), channel=3)
    assert counted.grown() == {"delivered": 1, "delivered_get_manual_ack": 1}
    peer.call(Tx.Commit(), channel=3)
    assert counted.grown() == {"acknowledged": 1}


def test_deliveries(world, counted, peer):
    peer.declare("a")
    peer.declare("b")
    publish(peer, "", "a", 8)
    publish(peer, "", "b", 3)
    reader = world.connect()
    grown = counted.grown()
    assert (1, 1) == (grown["connections_opened"], grown["channels_opened"])
    for number in range(3):
        reader.call(Basic.Get(queue="a", no_ack=not number))
    assert counted.grown() == {"delivered": 3, "delivered_get_auto_ack": 1, "delivered_get_manual_ack": 2}
    peer.declare("empty")
    counted.grown()
    reader.call(Basic.Get(queue="empty"))
    assert counted.grown() == {"get_empty": 1}
    reader.send(Basic.Nack(delivery_tag=2, requeue=True))
    reader.call(Basic.Get(queue="a"))
    assert counted.grown() == {"delivered": 1, "delivered_get_manual_ack": 1, "redelivered": 1}
    reader.send(Basic.Ack(delivery_tag=3))
    assert counted.grown() == {"acknowledged": 1}
    reader.call(Basic.Qos(prefetch_count=2))
    reader.send(Basic.Consume(queue="a", consumer_tag="m"))
    assert counted.grown() == {"consumers": 1, "delivered": 2, "delivered_consume_manual_ack": 2}
    reader.send(Basic.Reject(delivery_tag=5, requeue=True))
    assert counted.grown() == {"delivered": 1, "delivered_consume_manual_ack": 1, "redelivered": 1}
    open_channel(reader, 2)
    reader.send(Basic.Consume(queue="b", no_ack=True), channel=2)
    auto = {"delivered": 3, "delivered_consume_auto_ack": 3}
    assert counted.grown() == {"channels_opened": 1, "consumers": 1, **auto}
    reader.send(Basic.Cancel(consumer_tag="m"))
    assert counted.grown() == {"consumers": -1}
    reader.disconnect()
    assert counted.grown() == {"connections_closed": 1, "channels_closed": 2, "consumers": -1}


def test_a_peer_that_comes_and_goes_is_closed_and_never_opened(world, counted):
    world.peer().disconnect()
    assert counted.grown() == {"connections_closed": 1}


def test_dead_letters_by_reason(world, counted, peer):
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "e"}
    peer.declare("e")
    peer.declare("d", arguments={**arguments, "x-max-length": 1})
    counted.grown()
    publish(peer, "", "d", 3)
    assert counted.grown() == {"publishers": 1, "received": 3, "routed": 3, "at_most_once_maxlen": 2}
    peer.call(Basic.Get(queue="d"))
    peer.send(Basic.Reject(delivery_tag=1, requeue=False))
    assert counted.grown() == {"delivered": 1, "delivered_get_manual_ack": 1, "at_most_once_rejected": 1}
    publish(peer, "", "d", expiration="1")
    world.advance(10)
    assert counted.grown() == {"received": 1, "routed": 1, "at_most_once_expired": 1}
    peer.declare("m", arguments={"x-max-length": 1})
    publish(peer, "", "m", 3)
    grown = counted.grown()
    assert 2 == grown["disabled_maxlen"]
    assert 4 == world.vhost.queues["e"].messages_ready


def test_dead_letters_that_have_arrived_and_those_delivered_too_often(world, counted, peer):
    peer.declare("e")
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "e", "x-overflow": "reject-publish"}
    more = {"x-dead-letter-strategy": "at-least-once", "x-delivery-limit": 1, "x-queue-type": "quorum"}
    peer.declare("d", durable=True, arguments={**arguments, **more})
    publish(peer, "", "d", 2)
    counted.grown()
    for _ in range(3):
        got = peer.call(Basic.Get(queue="d"))
        peer.send(Basic.Nack(delivery_tag=got.method.delivery_tag, requeue=True))
    grown = counted.grown()
    assert (1, 1) == (grown["at_least_once_delivery_limit"], grown["at_least_once_confirmed"])
    assert 1 == world.vhost.queues["e"].messages_ready


def test_a_direct_reply_is_received_and_neither_routed_nor_dropped(counted, peer):
    # RabbitMQ counts it as dropped.
    peer.declare("srv")
    peer.call(Basic.Consume(queue="amq.rabbitmq.reply-to", no_ack=True))
    counted.grown()
    publish(peer, "", "srv", reply_to="amq.rabbitmq.reply-to")
    got = peer.call(Basic.Get(queue="srv", no_ack=True))
    request = {"publishers": 1, "received": 1, "routed": 1, "delivered": 1, "delivered_get_auto_ack": 1}
    assert counted.grown() == request
    publish(peer, "", got.properties.reply_to)
    assert counted.grown() == {"received": 1}
    assert 2 == NODE["publish"].read(counted.broker)


def test_traces_and_events_are_no_messages_of_publishers(world, counted, peer):
    peer.declare("a")
    peer.call(Queue.Bind(queue="a", exchange="amq.rabbitmq.trace", routing_key="#"))
    world.vhost.trace(on=True)
    counted.grown()
    publish(peer, "", "a", 2)
    grown = counted.grown()
    assert (2, 2) == (grown["received"], grown["routed"])
    assert 4 == world.vhost.queues["a"].messages_ready


def test_what_was_counted_stays_when_exchanges_queues_and_virtual_hosts_go(world, counted):
    world.broker.add_vhost("v")
    world.broker.users.set_permissions("guest", "v", ".*", ".*", ".*")
    peer = world.connect(vhost="v")
    peer.call(Exchange.Declare(exchange="x"))
    peer.declare("q")
    peer.call(Queue.Bind(queue="q", exchange="x", routing_key="q"))
    peer.call(Confirm.Select())
    publish(peer, "x", "q", 3)
    publish(peer, "x", "nowhere", 2)
    peer.take()
    got = peer.call(Basic.Get(queue="q"))
    peer.send(Basic.Ack(delivery_tag=got.method.delivery_tag))
    expected = counted.figures()
    peer.call(Exchange.Delete(exchange="x"))
    peer.call(Queue.Delete(queue="q"))
    assert counted.figures() == {**expected, "queues_deleted": 1}
    world.broker.delete_vhost("v")
    world.run()
    world.broker.removals.finish()
    gone = counted.figures()
    assert all(gone[name] >= value for name, value in expected.items() if name != "publishers")
    messages = GLOBAL.keys() - {"publishers", "consumers"}
    assert {name: gone[name] for name in messages} == {name: expected[name] for name in messages}


def test_a_commit_to_an_exchange_that_is_gone_counts(world, counted, peer):
    peer.call(Exchange.Declare(exchange="x"))
    peer.declare("q")
    peer.call(Queue.Bind(queue="q", exchange="x", routing_key="q"))
    peer.call(Tx.Select())
    publish(peer, "x", "q")
    publish(peer, "x", "nowhere")
    counted.grown()
    world.connect().call(Exchange.Delete(exchange="x"))
    peer.call(Tx.Commit())
    grown = counted.grown()
    assert (1, 1) == (grown["routed"], grown["unroutable_dropped"])
    assert 2 == world.vhost.traffic.total("publish_in")
