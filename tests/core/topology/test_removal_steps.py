"""The steps of a removal; in which shares they are done is test_removal.py's business."""

import gc
from itertools import pairwise

from pamqp import commands, frame

from pybroker.core.events.cause import BROKER, because
from pybroker.core.queue.queue import Queue
from pybroker.core.routing.binding import Binding
from pybroker.core.topology.exchange_declare import delete_exchange
from pybroker.core.topology.removal import TURN_STEPS, Removal
from pybroker.core.topology.removal_steps import drop_bindings, drop_exchanges, remove_owned
from tests.fakes import World
from tests.topology import exchange, link, new_vhost, queue


def test_each_binding_is_a_step_and_what_is_left_unused_goes_behind_them():
    vhost = new_vhost()
    exchange(vhost, "once", "fanout", auto_delete=True)
    made = queue(vhost, "q")
    for source in ("amq.direct", "once", "amq.topic"):
        link(vhost, source, "q", "k")
    removal = Removal(because("a test"))
    steps = drop_bindings(vhost, list(vhost.bound[made].values()), removal)
    for left in (2, 1, 0):
        next(steps)
        assert left == len(vhost.bound.get(made, ()))
        assert "once" in vhost.exchanges
    assert [] == list(steps)
    assert "once" not in vhost.exchanges
    assert {"binding", "exchange"} == {kind for kind, _ in removal.rows}
    assert [("exchange", "once")] == [name for _, name in removal.held]


def test_a_binding_that_went_with_its_other_end_is_no_step():
    vhost = new_vhost()
    x = exchange(vhost, "x", "fanout")
    made = queue(vhost, "q")
    link(vhost, "x", "q")
    first, second = Removal(because("one")), Removal(because("the other"))
    bindings = list(vhost.bound[made].values())
    assert 1 == len(list(drop_exchanges(vhost, [x], x, first)))
    assert [] == list(drop_bindings(vhost, bindings, second))
    assert {} == second.rows


def test_a_queue_that_is_gone_already_is_passed_over():
    vhost = new_vhost()
    gone, other = queue(vhost, "gone"), queue(vhost, "other")
    vhost.delete_queue(gone)
    cause = because("a test")
    list(remove_owned([gone], cause, [gone, other], None, Removal(cause)))
    assert {} == vhost.queues


# -- what goes is freed as it goes ------------------------------------------------------------------------------------

MANY = 5 * TURN_STEPS


def alive(kind):
    return sum(type(each) is kind for each in gc.get_objects())


def freed_in_shares(broker, kind):
    """Run turns until nothing goes any more; return the most objects of a kind that were freed in one of them."""
    counts = [alive(kind)]
    while len(broker.removals):
        broker.pump()
        counts.append(alive(kind))
    return max(before - after for before, after in pairwise(counts))


def test_the_bindings_of_a_queue_are_freed_in_shares():
    vhost = new_vhost()
    gone = queue(vhost, "q")
    for i in range(MANY):
        link(vhost, "amq.topic", "q", f"k.{i}")
    vhost.delete_queue(gone)
    assert freed_in_shares(vhost.broker, Binding) <= TURN_STEPS + 1


def test_the_bindings_of_an_exchange_are_freed_in_shares():
    vhost = new_vhost()
    queue(vhost, "q")
    exchange(vhost, "x", "direct")
    for i in range(MANY):
        link(vhost, "x", "q", f"k.{i}")
    delete_exchange(vhost, None, "x", BROKER, if_unused=False)
    assert freed_in_shares(vhost.broker, Binding) <= TURN_STEPS + 1


def test_the_queues_of_a_connection_are_freed_in_shares():
    world = World()
    peer = world.connect()
    peer.send(*[commands.Queue.Declare(queue=f"q{i}", exclusive=True, nowait=True) for i in range(MANY)])
    peer.session.peer_gone("vanished")
    assert freed_in_shares(world.broker, Queue) <= TURN_STEPS + 1


def test_the_auto_delete_queues_of_a_channel_are_freed_in_shares():
    world = World()
    peer = world.connect()
    for i in range(MANY):
        peer.send(commands.Queue.Declare(queue=f"q{i}", auto_delete=True, nowait=True))
        peer.send(commands.Basic.Consume(queue=f"q{i}", consumer_tag=f"t{i}", nowait=True))
    peer.send_octets(frame.marshal(commands.Channel.Close(200, "", 0, 0), 1))
    assert freed_in_shares(world.broker, Queue) <= TURN_STEPS + 1


def test_all_of_a_virtual_host_is_freed_in_shares():
    broker = new_vhost().broker
    broker.add_vhost("gone")
    vhost = broker.vhosts["gone"]
    exchange(vhost, "x", "fanout")
    for i in range(MANY):
        queue(vhost, f"q{i}")
        link(vhost, "amq.topic", "x:x", f"k.{i}")
    broker.delete_vhost("gone")
    del vhost
    assert freed_in_shares(broker, Queue) <= TURN_STEPS + 1
