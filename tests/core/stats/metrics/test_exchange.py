"""Figures of an exchange."""

from pybroker.core.stats.metrics import EXCHANGE
from tests.fakes import Confirm, Queue, World

NAMES = ("publish_in", "publish_out", "confirm", "return_unroutable", "drop_unroutable")


def figures(world, name):
    return [EXCHANGE[each].read(world.vhost.exchanges[name]) for each in NAMES]


def test_each_counts_its_own_publishes_and_what_became_of_them():
    world = World()
    peer = world.connect()
    for queue in "ab":
        peer.declare(queue)
        peer.call(Queue.Bind(queue=queue, exchange="amq.fanout"))
    peer.publish("amq.fanout", "")
    assert [1, 2, 0, 0, 0] == figures(world, "amq.fanout")
    peer.call(Confirm.Select())
    frames = [
        peer.publish_frames(exchange, key, b"", mandatory)
        for exchange, key, mandatory in (
            ("amq.fanout", "", False),
            ("", "a", False),
            ("amq.fanout", "", False),
            ("", "nowhere", True),
            ("", "nowhere", False),
        )
    ]
    peer.send(*[each for parts in frames for each in parts])
    assert [3, 6, 2, 0, 0] == figures(world, "amq.fanout")
    assert [3, 1, 3, 1, 1] == figures(world, "")
