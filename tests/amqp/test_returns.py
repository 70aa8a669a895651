"""Messages that nobody takes are counted once: as returned, or as dropped."""

from tests.fakes import Basic, Tx


def test_what_is_returned_is_not_dropped(world, peer):
    peer.send(*(peer.publish_frames("", "nowhere", b"x", mandatory=True) * 3))
    assert [Basic.Return] * 3 == [type(content.method) for content in peer.take()]
    assert (3, 0) == (world.broker.totals.total("returned"), world.broker.totals.total("dropped"))


def test_what_is_dropped_is_not_returned(world, peer):
    peer.send(*(peer.publish_frames("", "nowhere", b"x") * 3))
    assert [] == peer.take()
    assert (0, 3) == (world.broker.totals.total("returned"), world.broker.totals.total("dropped"))


def test_a_transaction_returns_at_its_commit(world, peer):
    peer.call(Tx.Select())
    peer.send(*peer.publish_frames("", "nowhere", b"x", mandatory=True))
    assert ([], 0) == (peer.take(), world.broker.totals.total("returned"))
    peer.send(Tx.Commit())
    content, ok = peer.take()
    assert (b"x", Tx.CommitOk, 1) == (content.body, type(ok), world.broker.totals.total("returned"))
