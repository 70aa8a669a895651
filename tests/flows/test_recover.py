"""basic.recover: everything unacknowledged on the channel goes back and comes again."""

import pytest

from tests.fakes import Basic, FakePeer


def fill(peer: FakePeer, count: int) -> None:
    peer.declare("q")
    peer.send(*[f for i in range(count) for f in peer.publish_frames("", "q", b"%d" % i)])


def test_recover_redelivers_to_the_same_consumer(peer):
    fill(peer, 3)
    peer.consume("q")
    assert peer.bodies() == [b"0", b"1", b"2"]
    peer.send(Basic.Recover(requeue=True))
    ok, *again = peer.take()
    assert isinstance(ok, Basic.RecoverOk)
    found = [(m.body, m.method.redelivered, m.method.delivery_tag) for m in again]
    assert found == [(b"0", True, 4), (b"1", True, 5), (b"2", True, 6)]


def test_recover_puts_back_what_get_took(world, peer):
    fill(peer, 2)
    peer.get("q", no_ack=False)
    assert isinstance(peer.call(Basic.Recover(requeue=True)), Basic.RecoverOk)
    assert world.vhost.queues["q"].messages_ready == 2


def test_old_tags_are_unknown_after_recover(peer):
    fill(peer, 1)
    peer.get("q", no_ack=False)
    peer.call(Basic.Recover(requeue=True))
    assert peer.error(Basic.Ack(1)) == (406, "PRECONDITION_FAILED - unknown delivery tag 1")


@pytest.mark.filterwarnings("ignore:This command is deprecated")
def test_recover_async_has_no_reply(peer):
    fill(peer, 1)
    peer.get("q", no_ack=False)
    peer.send(Basic.RecoverAsync(requeue=True))
    assert peer.take() == []
    assert peer.get("q").method.redelivered


def test_recover_without_requeue_is_540(peer):
    assert peer.error(Basic.Recover(requeue=False)) == (540, "NOT_IMPLEMENTED - requeue=false")
