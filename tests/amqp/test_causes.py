"""The changes of a client's method are laid to that client."""

from typing import Any

import pytest

from pybroker.core.events.cause import Cause, by_client
from tests.amqp.test_commit_positions import CHANGES, THERE
from tests.fakes import Basic, Exchange, FakePeer, Queue, World


class Audited(World):
    """A broker whose events are a list: what happened, and why."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[tuple[str, Cause | None]] = []
        self.connect().send(*THERE)
        self.broker.events.add_receiver(self._take)

    def _take(self, event: str, _facts: Any, cause: Cause | None, _more: Any) -> None:
        if not event.startswith(("connection.", "channel.", "consumer.")):
            self.entries.append((event, cause))


@pytest.fixture
def world() -> Audited:
    return Audited()


@pytest.fixture
def peer(world) -> FakePeer:
    return world.connect()


@pytest.mark.parametrize("method", CHANGES, ids=lambda method: method.name)
def test_a_change_is_laid_to_the_client(world, peer, method):
    peer.send(method)
    assert {by_client(peer.session)} == {cause for _, cause in world.entries} != set()


def test_a_purge_is_laid_to_the_client(world, peer):
    peer.call(Queue.Purge(queue="q"))
    assert [("queue.purged", by_client(peer.session))] == world.entries


@pytest.mark.parametrize(
    "method", [Queue.Unbind(queue="t", exchange="auto"), Queue.Delete(queue="t")], ids=lambda method: method.name
)
def test_what_goes_along_is_laid_to_the_client(world, peer, method):
    peer.call(Exchange.Declare(exchange="auto", auto_delete=True))
    peer.call(Queue.Bind(queue="t", exchange="auto"))
    world.entries.clear()
    peer.call(method)
    ours = by_client(peer.session)
    gone = ours._replace(why="auto-delete: its last binding was removed")
    assert ("exchange.deleted", gone) in world.entries
    assert {ours} == {cause for event, cause in world.entries if event != "exchange.deleted"}


def test_a_method_that_waited_for_a_removal_is_laid_to_its_client(world, peer):
    binds = [Queue.Bind(queue="q", exchange="x", routing_key=str(number), nowait=True) for number in range(100)]
    peer.send(*binds)
    other = world.connect()
    peer.send_octets(marshalled(Queue.Delete(queue="q")))
    assert 1 == len(world.broker.removals)
    other.send_octets(marshalled(Queue.Declare(queue="q")))
    world.entries.clear()
    while world.broker.removals:
        world.broker.removals.deliver(0)
    world.run()
    assert {("binding.deleted", by_client(peer.session)), ("queue.deleted", by_client(peer.session))} == {
        entry for entry in world.entries if entry[0] != "queue.created"
    }
    assert ("queue.created", by_client(other.session)) in world.entries


def test_what_a_client_leaves_behind_is_not_laid_to_another(world, peer):
    other = world.connect()
    peer.declare("auto", auto_delete=True)
    peer.consume("auto")
    world.entries.clear()
    other.declare("other")
    peer.call(Basic.Cancel(consumer_tag=next(iter(peer.session.channels[1].consumers))))
    assert [
        ("queue.created", by_client(other.session)),
        ("queue.deleted", Cause("auto-delete: its last consumer was cancelled", connection=peer.session.name)),
    ] == world.entries


def marshalled(method: Any) -> bytes:
    from pamqp import frame

    return frame.marshal(method, 1)
