"""Which answers wait for the definitions to be on disk, method by method."""

import pytest

from pybroker.core.topology.removal import FIRST_STEPS
from tests.fakes import Exchange, FakePeer, Queue, World
from tests.slow import SlowDefinitions

# Durable queue `q` and exchanges `x`, `y`, bound; transient queue `t` and exchange `u`, bound.
THERE = (
    Queue.Declare(queue="q", durable=True),
    Exchange.Declare(exchange="x", durable=True),
    Exchange.Declare(exchange="y", durable=True),
    Queue.Bind(queue="q", exchange="x"),
    Exchange.Bind(destination="y", source="x"),
    Queue.Declare(queue="t"),
    Exchange.Declare(exchange="u"),
    Queue.Bind(queue="t", exchange="x"),
    Exchange.Bind(destination="u", source="x"),
)
CHANGES = (
    Queue.Declare(queue="new", durable=True),
    Queue.Declare(durable=True),
    Queue.Bind(queue="q", exchange="x", routing_key="new"),
    Queue.Unbind(queue="q", exchange="x"),
    Queue.Delete(queue="q"),
    Exchange.Declare(exchange="new", durable=True),
    Exchange.Delete(exchange="x"),
    Exchange.Bind(destination="y", source="x", routing_key="new"),
    Exchange.Unbind(destination="y", source="x"),
)
# They change nothing, but another may just have done that.
REPEATED = (
    Queue.Declare(queue="q", durable=True),
    Queue.Bind(queue="q", exchange="x"),
    Queue.Unbind(queue="q", exchange="x", routing_key="nosuch"),
    Queue.Unbind(queue="q", exchange="nosuch"),
    Queue.Unbind(queue="nosuch", exchange="x"),
    Queue.Delete(queue="nosuch"),
    Exchange.Declare(exchange="x", durable=True),
    Exchange.Declare(exchange="amq.direct", durable=True),
    Exchange.Delete(exchange="nosuch"),
    Exchange.Bind(destination="y", source="x"),
    Exchange.Unbind(destination="y", source="x", routing_key="nosuch"),
    Exchange.Unbind(destination="y", source="nosuch"),
)
# Nothing of them is ever on disk.
TRANSIENT = (
    Queue.Declare(queue="t"),
    Queue.Declare(queue="new"),
    Queue.Declare(queue="e", exclusive=True, durable=True),
    Queue.Declare(queue="q", passive=True, durable=True),
    Queue.Bind(queue="t", exchange="x", routing_key="new"),
    Queue.Bind(queue="t", exchange="x"),
    Queue.Unbind(queue="t", exchange="x"),
    Queue.Unbind(queue="t", exchange="nosuch"),
    Queue.Purge(queue="q"),
    Queue.Delete(queue="t"),
    Exchange.Declare(exchange="u"),
    Exchange.Declare(exchange="new"),
    Exchange.Declare(exchange="x", passive=True, durable=True),
)
# The same, but they are answered behind what others change.
BEHIND = (
    Exchange.Bind(destination="u", source="x", routing_key="new"),
    Exchange.Unbind(destination="u", source="x"),
    Exchange.Delete(exchange="u"),
    Queue.Bind(queue="q", exchange="u"),
)


@pytest.fixture
def definitions() -> SlowDefinitions:
    return SlowDefinitions()


@pytest.fixture
def world(definitions) -> World:
    world = World(definitions)
    world.connect().send(*THERE)
    on_disk(world)
    return world


@pytest.fixture
def peer(world) -> FakePeer:
    return world.connect()


def on_disk(world: World) -> None:
    world.broker.definitions_completed(world.broker.definitions.commit_position)
    world.run()


def pending(world: World) -> None:
    """Have another client change something, which is not on disk yet."""
    world.connect().send(Queue.Declare(queue="pending", durable=True, nowait=True))


def each(*methods):
    return pytest.mark.parametrize("method", methods, ids=lambda method: " ".join(map(str, [method.name, *method])))


@each(*CHANGES)
def test_a_change_is_answered_when_it_is_on_disk(world, peer, method):
    peer.send(method)
    assert [] == peer.take()
    on_disk(world)
    assert 1 == len(peer.take())


@each(*CHANGES)
def test_a_change_does_not_wait_for_later_ones(world, peer, definitions, method):
    peer.send(method)
    position = definitions.commit_position
    pending(world)
    world.broker.definitions_completed(position)
    world.run()
    assert 1 == len(peer.take())


@each(*REPEATED, *TRANSIENT, *BEHIND)
def test_no_change_is_answered_at_once(peer, method):
    peer.send(method)
    assert 1 == len(peer.take())


@each(*REPEATED, *BEHIND)
def test_no_change_is_answered_behind_what_another_may_have_done(world, peer, method):
    pending(world)
    peer.send(method)
    assert [] == peer.take()
    on_disk(world)
    assert 1 == len(peer.take())


@each(*TRANSIENT)
def test_what_is_never_on_disk_waits_for_nobody(world, peer, method):
    pending(world)
    peer.send(method)
    assert 1 == len(peer.take())


@each(*CHANGES, *REPEATED, *BEHIND)
def test_nothing_is_answered_once_the_disk_is_gone(world, peer, method):
    pending(world)
    world.broker.definitions_failed("the disk is gone")
    peer.send(method)
    assert [541] == [each.reply_code for each in peer.take(0)]
    assert [] == peer.take()


def test_a_transient_queue_that_takes_a_durable_exchange_along_waits_for_that(world, peer):
    peer.send(
        Exchange.Declare(exchange="auto", durable=True, auto_delete=True, nowait=True),
        Queue.Bind(queue="t", exchange="auto", nowait=True),
    )
    on_disk(world)
    peer.send(Queue.Delete(queue="t"))
    assert [] == peer.take()
    on_disk(world)
    assert ["Queue.DeleteOk"] == [each.name for each in peer.take()]


@pytest.mark.parametrize(
    "method",
    [Queue.Delete(queue="q"), Exchange.Delete(exchange="x"), Exchange.Unbind(destination="y", source="auto")],
    ids=lambda method: method.name,
)
def test_a_long_removal_is_answered_when_its_end_is_on_disk(world, peer, definitions, method):
    declare = Exchange.Declare(exchange="auto", durable=True, auto_delete=True, nowait=True)
    keys = [str(number) for number in range(2 * FIRST_STEPS)]
    binds = [Queue.Bind(queue="q", exchange="x", routing_key=key, nowait=True) for key in keys]
    more = [Exchange.Bind(destination="auto", source="x", routing_key=key, nowait=True) for key in keys]
    peer.send(declare, *binds, *more, Exchange.Bind(destination="y", source="auto", nowait=True))
    on_disk(world)
    before = definitions.commit_position
    peer.send_octets(octets_of(method))
    assert 1 == len(world.broker.removals)
    assert before == definitions.commit_position
    while world.broker.removals:
        world.broker.removals.deliver(0)
        world.run()
        assert [] == peer.take()
    on_disk(world)
    assert 1 == len(peer.take())


def octets_of(method) -> bytes:
    from pamqp import frame

    return frame.marshal(method, 1)
