"""basic.get of a head that is on disk: answered in order, and by whom is still there."""

from collections.abc import Callable

import pytest

from pybroker.core.queue.queue import Queue as CoreQueue
from tests.fakes import Basic, Channel, Content, FakePeer, Queue, Tx, World
from tests.slow import GatheringLog


class Heads:
    """Queues whose heads are away until a test brings them."""

    def __init__(self) -> None:
        self.away: dict[str, list[Callable[[], None]]] = {}

    def bring(self, name: str) -> None:
        for call_back in self.away.pop(name):
            call_back()


@pytest.fixture
def heads(monkeypatch: pytest.MonkeyPatch) -> Heads:
    """Heads of `a` and `b` are away."""
    heads = Heads()
    heads.away = {"a": [], "b": []}

    def wait_for_head(queue: CoreQueue, call_back: Callable[[], None]) -> bool:
        if queue.name not in heads.away:
            return True
        heads.away[queue.name].append(call_back)
        return False

    monkeypatch.setattr(CoreQueue, "wait_for_head", wait_for_head)
    return heads


@pytest.fixture
def peer(world: World, heads: Heads) -> FakePeer:
    """A client, and queues `a`, `b` and `c` with two messages each."""
    peer = world.connect()
    for name in ("a", "b", "c"):
        peer.declare(name)
        for i in (1, 2):
            peer.publish("", name, b"%s%d" % (name.encode(), i))
    return peer


def answers(peer: FakePeer) -> list[object]:
    return [each.body if isinstance(each, Content) else each.name for each in peer.take()]


def test_the_message_is_taken_when_it_is_back(world, peer, heads):
    peer.send(Basic.Get(queue="a"))
    assert ([], 2) == (peer.take(), world.vhost.queues["a"].messages_ready)
    heads.bring("a")
    world.run()
    assert ([b"a1"], {}) == (answers(peer), world.broker.waiting)


def test_gets_are_answered_in_the_order_they_came_and_their_tags_ascend(world, peer, heads):
    peer.send(*[Basic.Get(queue=name) for name in "abca"], Basic.Qos())
    assert ([], 0) == (peer.take(), len(heads.away["b"]))
    heads.bring("b")
    world.run()
    assert [] == peer.take()
    heads.bring("a")
    world.run()
    found = peer.take()
    assert [b"a1", b"b1", b"c1", b"a2"] == [each.body for each in found[:4]]
    assert [1, 2, 3, 4] == [each.method.delivery_tag for each in found[:4]]
    assert isinstance(found[4], Basic.QosOk)


def test_a_head_that_is_at_hand_is_answered_at_once_on_another_channel(peer):
    peer.open(2)
    peer.send(Basic.Get(queue="a"))
    assert b"c1" == peer.get("c", channel=2).body


def test_a_head_that_somebody_else_took_meanwhile_is_waited_for_anew(world, peer, heads):
    peer.send(Basic.Get(queue="a"))
    (call_back,) = heads.away["a"]
    heads.away["a"].clear()
    call_back()
    assert 1 == len(heads.away["a"])
    heads.bring("a")
    world.run()
    assert [b"a1"] == answers(peer)


@pytest.mark.parametrize("how", ["channel", "connection", "error"])
def test_who_is_gone_takes_nothing(world, peer, heads, how):
    peer.send(Basic.Get(queue="a"))
    if how == "channel":
        peer.call(Channel.Close(200, "", 0, 0))
    elif how == "error":
        peer.send(Queue.Declare(queue="nosuch", passive=True))
    else:
        peer.disconnect()
    heads.bring("a")
    world.run()
    assert (2, 0) == (world.vhost.queues["a"].messages_ready, world.vhost.queues["a"].messages_unacknowledged)
    assert ["Channel.Close"] * (how == "error") == answers(peer)


@pytest.mark.parametrize("method", [Queue.Delete(queue="a"), Queue.Purge(queue="a")])
def test_a_queue_that_is_empty_or_gone_by_then_has_nothing(world, peer, heads, method):
    peer.send(Basic.Get(queue="a"))
    world.connect().send(method)
    heads.bring("a")
    world.run()
    assert ["Basic.GetEmpty"] == answers(peer)


def test_a_get_behind_another_reply_takes_its_message_at_once(world, peer):
    world.broker.log = GatheringLog()
    peer.declare("d", durable=True)
    peer.open(2)
    peer.call(Tx.Select())
    peer.publish("", "d", b"m", delivery_mode=2)
    peer.send(Tx.Commit(), Basic.Get(queue="c"), Queue.Purge(queue="c"))
    assert isinstance(peer.get("c", channel=2), Basic.GetEmpty)
    world.broker.log_completed(1)
    world.run()
    assert ["Tx.CommitOk", b"c1", "Queue.PurgeOk"] == answers(peer)


def test_a_get_behind_one_that_waits_takes_its_message_in_its_turn(world, peer, heads):
    peer.open(2)
    peer.send(Basic.Get(queue="a"), Basic.Get(queue="c"))
    assert b"c1" == peer.get("c", channel=2).body
    heads.bring("a")
    world.run()
    assert [b"a1", b"c2"] == answers(peer)
