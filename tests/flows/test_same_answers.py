"""A channel whose disk is slow says what one without a disk says, word for word and in the same order."""

from typing import Any

from hypothesis import given, strategies as st

from tests.fakes import Basic, Content, Exchange, FakePeer, Queue, Tx, World
from tests.searches import searched
from tests.slow import GatheringLog, SlowDefinitions

queues = st.sampled_from(["d", "t"])
keys = st.sampled_from("abcd")
flags = st.booleans()


def declare(name: str) -> Queue.Declare:
    return Queue.Declare(queue=name, durable=name == "d")


# Few kinds of each, because it takes three in a row to show an order: one that waits, one behind it, one that tells.
changes = st.one_of(
    queues.map(declare),
    keys.map(lambda key: Queue.Bind(queue="d", exchange="amq.direct", routing_key=key)),
    keys.map(lambda key: Queue.Unbind(queue="d", exchange="amq.direct", routing_key=key)),
    keys.map(lambda key: Exchange.Declare(exchange=key, durable=True)),
    keys.map(lambda key: Exchange.Delete(exchange=key)),
    st.sampled_from([Queue.Delete(queue="d"), Tx.Commit(), Tx.Rollback()]),
)
others = st.one_of(
    st.builds(lambda queue, no_ack: Basic.Get(queue=queue, no_ack=no_ack), queues, flags),
    st.builds(lambda requeue: Basic.Nack(0, multiple=True, requeue=requeue), flags),
    queues.map(lambda queue: Queue.Purge(queue=queue)),
    st.sampled_from([Basic.Ack(0, multiple=True), Basic.Qos()]),
)
publishes = st.tuples(queues, flags, flags)
asked = st.tuples(st.integers(1, 2), st.one_of(changes, others, publishes))
disk = st.sampled_from(["log", "definitions"])


def do(peer: FakePeer, channel: int, what: Any) -> None:
    if isinstance(what, Tx.Commit | Tx.Rollback):
        channel = 2  # an error would be the last that a channel says
    if not isinstance(what, tuple):
        peer.send(what, *[declare("d")] * isinstance(what, Queue.Delete), channel=channel)
        return
    queue, persistent, mandatory = what
    body = queue.encode()
    peer.publish("", queue, body, channel=channel, mandatory=mandatory, delivery_mode=2 if persistent else 1)


def said(peer: FakePeer, channel: int) -> list[tuple[Any, ...]]:
    """Return what came on a channel, without what may overtake."""
    found = []
    for each in peer.take(channel):
        method = each.method if isinstance(each, Content) else each
        if not isinstance(method, Basic.Return):
            found.append((method.name, dict(method), each.body if isinstance(each, Content) else b""))
    return found


def start(*, slow: bool) -> tuple[World, FakePeer]:
    world = World()
    if slow:
        world.broker.log, world.broker.definitions = GatheringLog(), SlowDefinitions()
    peer = world.connect()
    for name in ("d", "t"):
        peer.send(declare(name))
        for i in range(4):
            peer.publish("", name, b"%d" % i, delivery_mode=2)
    if slow:
        complete(world, "log")
        complete(world, "definitions")
    peer.open(2)
    peer.call(Tx.Select(), 2)
    peer.take()
    return world, peer


def complete(world: World, what: str) -> None:
    broker = world.broker
    if what == "log":
        broker.log_completed(broker.log.seal())
    else:
        broker.definitions_completed(broker.definitions.commit_position)
    world.run()


@searched(40, 400)
@given(st.lists(st.one_of(asked, disk), min_size=20, max_size=40))
def test_the_same_answers_in_the_same_order(steps):
    (_, quick), (world, slow) = start(slow=False), start(slow=True)
    broker = world.broker
    for step in [*steps, "log", "definitions", "log"]:
        if isinstance(step, str):
            complete(world, step)
        else:
            do(quick, *step)
            do(slow, *step)
    for channel in (1, 2):
        assert said(quick, channel) == said(slow, channel)
    assert ({}, {}) == (broker.waiting, slow.session.throttle.causes)
