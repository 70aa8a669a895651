"""Methods of one peer take effect in order, also when they come in one chunk with publishes before them."""

from tests.fakes import Basic, Content, Queue


def test_what_was_published_before_a_cancel_is_delivered_before_it(peer):
    peer.declare("q")
    tag = peer.consume("q", no_ack=True)
    peer.send(*peer.publish_frames("", "q", b"first"), Basic.Cancel(consumer_tag=tag))
    delivered, answer = peer.take()
    assert isinstance(delivered, Content)
    assert b"first" == delivered.body
    assert isinstance(answer, Basic.CancelOk)


def test_a_get_behind_a_publish_does_not_take_what_a_consumer_waits_for(peer):
    peer.declare("q")
    peer.consume("q", no_ack=True)
    peer.send(*peer.publish_frames("", "q", b"first"), Basic.Get(queue="q", no_ack=True))
    delivered, answer = peer.take()
    assert b"first" == delivered.body
    assert isinstance(answer, Basic.GetEmpty)


def test_a_passive_declare_behind_a_publish_does_not_count_what_a_consumer_has(peer):
    peer.declare("q")
    peer.consume("q", no_ack=True)
    peer.send(*peer.publish_frames("", "q", b"first"), Queue.Declare(queue="q", passive=True))
    _, answer = peer.take()
    assert 0 == answer.message_count


def test_a_purge_behind_a_publish_does_not_drop_what_a_consumer_waits_for(peer):
    peer.declare("q")
    peer.consume("q", no_ack=True)
    peer.send(*peer.publish_frames("", "q", b"first"), Queue.Purge(queue="q"))
    delivered, answer = peer.take()
    assert b"first" == delivered.body
    assert 0 == answer.message_count
