"""A channel whose disk is slow says what one without a disk says, word for word and in the same order."""

from typing import Any

from fakes import Basic, Content, Exchange, FakePeer, Queue, Tx, World
from hypothesis import given, settings, strategies as st
from slow import GatheringLog, SlowDefinitions

queues = st.sampled_from(["d1", "d2", "t1"])
exchanges = st.sampled_from(["x", "amq.direct"])
flags = st.booleans()


def declare(name: str) -> Queue.Declare:
    return Queue.Declare(queue=name, durable=name.startswith("d"))


methods = st.one_of(
    queues.map(declare),
    queues.map(declare),
    st.builds(lambda queue, exchange: Queue.Bind(queue=queue, exchange=exchange), queues, exchanges),
    st.builds(lambda queue, exchange: Queue.Unbind(queue=queue, exchange=exchange), queues, exchanges),
    st.builds(lambda queue: Queue.Delete(queue=queue), queues),
    st.builds(lambda queue: Queue.Purge(queue=queue), queues),
    st.just(Exchange.Declare(exchange="x", durable=True)),
    st.just(Exchange.Delete(exchange="x")),
    st.builds(lambda queue, no_ack: Basic.Get(queue=queue, no_ack=no_ack), queues, flags),
    st.builds(lambda requeue: Basic.Nack(0, multiple=True, requeue=requeue), flags),
    st.just(Basic.Ack(0, multiple=True)),
    st.just(Basic.Qos()),
    st.sampled_from([Tx.Commit(), Tx.Rollback()]),
)
publishes = st.tuples(queues, flags, flags)
asked = st.tuples(st.integers(1, 3), methods | publishes)
disk = st.sampled_from(["log", "definitions"])


def do(peer: FakePeer, channel: int, what: Any) -> None:
    if not isinstance(what, tuple):
        peer.send(what, channel=channel)
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
    for channel in (2, 3):
        peer.open(channel)
    peer.call(Tx.Select(), 3)
    return world, peer


@settings(max_examples=150, deadline=None)
@given(st.lists(asked | disk, max_size=40))
def test_the_same_answers_in_the_same_order(steps):
    (_, quick), (world, slow) = start(slow=False), start(slow=True)
    broker = world.broker
    for step in [*steps, "log", "definitions", "log"]:
        if step == "log":
            broker.log_completed(broker.log.seal())
        elif step == "definitions":
            broker.definitions_completed(broker.definitions.ticket)
        else:
            do(quick, *step)
            do(slow, *step)
        world.run()
    for channel in (1, 2, 3):
        assert said(quick, channel) == said(slow, channel)
    assert ({}, {}) == (broker.waiting, slow.session.stops)
