"""Transactions ([tx]): publishes and acknowledgements together, at commit, or not at all."""

from tests.fakes import Basic, Channel, Content, FakePeer, Queue, Tx


def in_tx(peer: FakePeer) -> FakePeer:
    peer.declare("q")
    assert isinstance(peer.call(Tx.Select()), Tx.SelectOk)
    return peer


def ready(world) -> int:
    return world.vhost.queues["q"].messages_ready


def test_publishes_appear_at_commit(world, peer):
    in_tx(peer)
    for i in range(3):
        peer.publish("", "q", b"%d" % i)
    assert ready(world) == 0
    assert isinstance(peer.call(Tx.Commit()), Tx.CommitOk)
    assert [m.body for m in peer.drain("q")] == [b"0", b"1", b"2"]


def test_publishes_are_forgotten_at_rollback(world, peer):
    in_tx(peer)
    peer.publish("", "q", b"x")
    assert isinstance(peer.call(Tx.Rollback()), Tx.RollbackOk)
    peer.call(Tx.Commit())
    assert ready(world) == 0


def test_acks_count_at_commit(world, peer):
    peer.declare("q")
    peer.publish("", "q", b"x")
    in_tx(peer)
    peer.get("q", no_ack=False)
    peer.send(Basic.Ack(1))
    assert world.vhost.queues["q"].messages == 1
    peer.call(Tx.Commit())
    assert world.vhost.queues["q"].messages == 0


def test_acks_are_undone_at_rollback(world, peer):
    peer.declare("q")
    for i in range(3):
        peer.publish("", "q", b"%d" % i)
    in_tx(peer)
    for _ in range(3):
        peer.get("q", no_ack=False)
    peer.send(Basic.Ack(2, multiple=True))
    peer.call(Tx.Rollback())
    peer.send(Basic.Ack(1))
    peer.send(Basic.Nack(3, multiple=True, requeue=True))
    assert world.vhost.queues["q"].messages_unacknowledged == 3
    peer.call(Tx.Commit())
    found = world.vhost.queues["q"]
    assert (found.messages_ready, found.messages_unacknowledged) == (2, 0)


def test_an_acked_tag_cannot_be_acked_again_before_commit(peer):
    peer.declare("q")
    peer.publish("", "q", b"x")
    in_tx(peer)
    peer.get("q", no_ack=False)
    peer.send(Basic.Ack(1))
    assert peer.error(Basic.Ack(1)) == (406, "PRECONDITION_FAILED - unknown delivery tag 1")


def test_a_closed_channel_gives_everything_back(world, peer):
    peer.declare("q")
    peer.publish("", "q", b"x")
    in_tx(peer)
    peer.get("q", no_ack=False)
    peer.send(Basic.Ack(1))
    peer.publish("", "q", b"never")
    peer.call(Channel.Close(200, "", 0, 0))
    assert ready(world) == 1


def test_a_mandatory_message_comes_back_at_commit(peer):
    in_tx(peer)
    peer.publish("", "nowhere", b"x", mandatory=True)
    assert peer.take() == []
    peer.send(Tx.Commit())
    returned, ok = peer.take()
    assert isinstance(returned, Content)
    assert (returned.method.reply_code, returned.method.routing_key, returned.body) == (312, "nowhere", b"x")
    assert isinstance(ok, Tx.CommitOk)


def test_a_mandatory_message_whose_queue_is_gone_by_the_commit_comes_back(world, peer):
    in_tx(peer)
    peer.publish("", "q", b"x", mandatory=True)
    peer.publish("", "q", b"dropped")
    peer.call(Queue.Delete(queue="q"))
    peer.send(Tx.Commit())
    returned, ok = peer.take()
    assert (returned.method.reply_code, returned.method.routing_key, returned.body) == (312, "q", b"x")
    assert isinstance(ok, Tx.CommitOk)
    assert (world.broker.totals.total("returned"), world.broker.totals.total("dropped")) == (1, 1)
    # Nothing of it is left for the next transaction.
    peer.send(Tx.Commit())
    assert len(peer.take()) == 1


def test_what_no_queue_wants_counts_at_commit_and_not_at_rollback(world, peer):
    in_tx(peer)
    peer.publish("", "nowhere", b"x")
    peer.call(Tx.Rollback())
    assert world.broker.totals.total("dropped") == 0
    peer.publish("", "nowhere", b"x")
    peer.call(Tx.Commit())
    assert world.broker.totals.total("dropped") == 1


def test_routing_is_done_at_publish(world, peer):
    # A12: a queue bound later does not get it, one deleted since is left out
    in_tx(peer)
    peer.publish("", "later", b"x")
    peer.publish("", "q", b"y")
    other = world.connect()
    other.declare("later")
    peer.call(Tx.Commit())
    assert world.vhost.queues["later"].messages_ready == 0
    assert ready(world) == 1


def test_commit_and_rollback_need_a_select(peer):
    refused = (406, "PRECONDITION_FAILED - channel is not transactional")
    assert peer.error(Tx.Commit()) == refused
    assert peer.error(Tx.Rollback()) == refused


def test_a_consumer_gets_committed_messages_in_order(world, peer):
    in_tx(peer)
    other = world.connect()
    other.consume("q", no_ack=True)
    for i in range(50):
        peer.publish("", "q", b"%d" % i, priority=i % 2)
    assert other.take() == []
    peer.call(Tx.Commit())
    assert other.bodies() == [b"%d" % i for i in range(50)]


def test_the_consumers_prefetch_is_given_back_at_commit(peer):
    peer.declare("q")
    for i in range(4):
        peer.publish("", "q", b"%d" % i)
    peer.call(Basic.Qos(prefetch_count=2))
    in_tx(peer)
    peer.consume("q")
    assert peer.bodies() == [b"0", b"1"]
    peer.send(Basic.Ack(2, multiple=True))
    assert peer.take() == []
    peer.send(Tx.Commit())
    assert [m.body for m in peer.take() if isinstance(m, Content)] == [b"2", b"3"]
