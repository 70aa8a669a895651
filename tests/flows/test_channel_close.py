"""Closing channels from both sides ([channel.close], [channel.close-ok])."""

from tests.fakes import Basic, Channel, FakePeer, Queue


def fail_channel(peer: FakePeer) -> None:
    """Have the broker close channel 1: 404."""
    peer.send(Queue.Declare(queue="nowhere", passive=True))
    assert isinstance(peer.next(), Channel.Close)


def test_closes_that_cross_are_both_answered_and_the_number_is_free_afterwards(peer):
    fail_channel(peer)
    peer.send(Channel.Close(200, "bye", 0, 0))
    assert isinstance(peer.next(), Channel.CloseOk)
    peer.send(Channel.CloseOk())
    peer.open(1)
    peer.declare("q")


def test_what_comes_between_our_close_and_its_answer_is_ignored(peer):
    fail_channel(peer)
    peer.send(Basic.Qos(prefetch_count=1), Queue.Declare(queue="late"))
    peer.send(Channel.CloseOk())
    peer.open(1)
    assert [] == peer.take()
    assert (404, "NOT_FOUND - no queue 'late' in vhost '/'") == peer.error(Queue.Declare(queue="late", passive=True))
