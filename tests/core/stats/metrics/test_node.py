"""Figures of the node and of its virtual hosts: the former are the sums of the latter, whatever came and went."""

from pybroker.core.stats.metrics import GLOBAL, NODE, VHOST
from tests.fakes import Basic, Exchange, World


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
