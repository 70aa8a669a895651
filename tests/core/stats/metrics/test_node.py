"""Figures of the node and of its virtual hosts: the former are the sums of the latter, whatever came and went."""

from pybroker.core.stats.metrics import GLOBAL, GLOBAL_STREAM, NODE, VHOST
from tests.fakes import Basic, Exchange, World
from tests.stream_peer import StreamPeer


def test_virtual_hosts_count_for_themselves_and_the_node_for_all():
    world = World()
    world.broker.add_vhost("v")
    world.broker.users.set_permissions("guest", "v", ".*", ".*", ".*")
    for name, count in (("/", 2), ("v", 3)):
        peer = world.connect(vhost=name)
        peer.declare("q")
        for _ in range(count):
            peer.publish("", "q")
        peer.publish("", "nowhere")
        peer.call(Basic.Get(queue="q", no_ack=True))
        peer.call(Basic.Get(queue="nosuch"))
    vhosts = world.broker.vhosts
    rows = [{name: metric.read(vhost) for name, metric in VHOST.items()} for vhost in vhosts.values()]
    assert [3, 4] == [row["publish"] for row in rows]
    assert [2, 3] == [row["publish_out"] for row in rows]
    for name in VHOST.keys() & NODE.keys():
        assert NODE[name].read(world.broker) == sum(row[name] for row in rows), name
    assert 5 == GLOBAL["routed"].read(world.broker)


def test_gauges_count_what_is_there():
    world = World()
    peer = world.connect()
    peer.declare("q")
    peer.publish("", "q")
    peer.send(Basic.Consume(queue="q"))
    peer.send(Exchange.Declare(exchange="x"))
    assert [1, 1] == [GLOBAL[name].read(world.broker) for name in ("publishers", "consumers")]
    peer.disconnect()
    assert [0, 0] == [GLOBAL[name].read(world.broker) for name in ("publishers", "consumers")]


def test_each_protocol_counts_for_itself():
    world = World()
    world.connect().declare("q")
    client = StreamPeer(world)
    client.create()
    for number in (1, 2):
        client.declare(publisher_id=number)
    client.publish(b"a", b"b")
    client.subscribe()
    client.subscribe(subscription_id=2)
    names = GLOBAL_STREAM.keys()

    def counted(table):
        return {name: table[name].read(world.broker) for name in names}

    messages = {"received": 2, "received_confirm": 2, "confirmed": 2, "delivered": 4}
    assert counted(GLOBAL_STREAM) == {**messages, "publishers": 2, "consumers": 2}
    assert counted(GLOBAL) == dict.fromkeys(names, 0)
    assert {metric.read(world.broker) for metric in GLOBAL.values()} == {0}
    assert (NODE["publish"].read(world.broker), NODE["deliver_get"].read(world.broker)) == (2, 4)
    client.disconnect()
    assert counted(GLOBAL_STREAM) == {**messages, "publishers": 0, "consumers": 0}
    assert counted(GLOBAL) == dict.fromkeys(names, 0)


def test_the_slowest_consumer_of_any_stream():
    world = World()
    lag = NODE["stream_consumer_max_offset_lag"]
    client = StreamPeer(world)
    for stream, credit in (("s", 10), ("t", 0)):
        client.create(stream)
        client.declare(stream, publisher_id=1 + credit)
        client.publish(b"a", b"b", publisher_id=1 + credit)
        assert 0 == lag.read(world.broker)
        client.subscribe(stream, subscription_id=credit, credit=credit)
    assert 2 == lag.read(world.broker)
