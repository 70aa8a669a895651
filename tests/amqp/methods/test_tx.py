"""Class tx: what flows do not tell."""

import pytest

from pybroker.core.channel.transaction import TX_OCTETS_MAX
from tests.fakes import Basic, Channel, Tx


def test_selecting_twice_keeps_what_is_open(world, peer):
    peer.declare("q")
    peer.call(Tx.Select())
    peer.publish("", "q", b"m")
    assert isinstance(peer.call(Tx.Select()), Tx.SelectOk)
    peer.call(Tx.Commit())
    assert world.vhost.queues["q"].messages_ready == 1


def test_an_empty_commit_and_an_empty_rollback_are_fine(peer):
    peer.call(Tx.Select())
    assert isinstance(peer.call(Tx.Commit()), Tx.CommitOk)
    assert isinstance(peer.call(Tx.Rollback()), Tx.RollbackOk)


def test_each_commit_begins_anew(world, peer):
    peer.declare("q")
    peer.call(Tx.Select())
    for i in range(3):
        peer.publish("", "q", b"%d" % i)
        peer.call(Tx.Commit())
    assert world.vhost.queues["q"].messages_ready == 3


def test_a_transaction_above_its_limit_closes_the_channel(world, peer):
    peer.declare("q")
    peer.call(Tx.Select())
    message = peer.publish_frames("", "q", bytes(1_000_000))
    for _ in range(TX_OCTETS_MAX // 1_000_000 + 1):
        peer.send(*message)
    close = peer.next()
    assert isinstance(close, Channel.Close)
    assert close.reply_code == 406
    assert world.vhost.queues["q"].messages_ready == 0


@pytest.mark.parametrize("requeue", [True, False])
def test_a_rejection_counts_at_commit(world, peer, requeue):
    peer.declare("q")
    peer.publish("", "q", b"m")
    peer.call(Tx.Select())
    peer.get("q", no_ack=False)
    peer.send(Basic.Reject(1, requeue=requeue))
    queue = world.vhost.queues["q"]
    assert queue.messages_unacknowledged == 1
    peer.call(Tx.Commit())
    assert (queue.messages_ready, queue.messages_unacknowledged) == (int(requeue), 0)


def test_one_message_of_the_largest_size_may_be_published_in_a_transaction(world, peer):
    # Its frames come on top: alone it is above the limit of a transaction, and a second one is too many.
    peer.declare("q")
    peer.call(Tx.Select())
    body = bytes(TX_OCTETS_MAX)
    peer.publish("", "q", body)
    assert isinstance(peer.call(Tx.Commit()), Tx.CommitOk)
    assert peer.get("q").body == body
