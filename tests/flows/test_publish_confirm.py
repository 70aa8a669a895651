"""Publisher confirms ([rmq confirms]): in publish order, coalesced, after what the broker did with the message."""

from tests.fakes import Basic, Channel, Confirm, Content, Exchange, FakePeer, Queue, Tx


def confirms(peer: FakePeer, channel: int = 1) -> tuple[set[int], set[int]]:
    """Return the seqs acked and nacked since the last call; nothing but confirms may have come."""
    acked: set[int] = set()
    nacked: set[int] = set()
    for reply in peer.take(channel):
        assert isinstance(reply, Basic.Ack | Basic.Nack), reply
        done = acked if isinstance(reply, Basic.Ack) else nacked
        known = peer.confirmed = getattr(peer, "confirmed", set())
        seqs = set(range(1, reply.delivery_tag + 1)) - known if reply.multiple else {reply.delivery_tag}
        assert not seqs & known, "confirmed twice"
        known |= seqs
        done |= seqs
    return acked, nacked


def test_a_routed_message_is_confirmed(peer):
    peer.declare("q")
    assert isinstance(peer.call(Confirm.Select()), Confirm.SelectOk)
    peer.publish("", "q", b"one")
    assert confirms(peer) == ({1}, set())


def test_seqs_count_from_the_select(peer):
    peer.declare("q")
    peer.publish("", "q", b"before")
    peer.call(Confirm.Select())
    peer.publish("", "q", b"after")
    assert confirms(peer) == ({1}, set())


def test_selecting_twice_does_not_start_anew(peer):
    peer.declare("q")
    peer.call(Confirm.Select())
    peer.publish("", "q", b"one")
    confirms(peer)
    peer.call(Confirm.Select())
    peer.publish("", "q", b"two")
    assert confirms(peer) == ({2}, set())


def test_an_unroutable_message_is_confirmed_too(peer):
    # A13
    peer.call(Confirm.Select())
    peer.publish("", "nowhere")
    assert confirms(peer) == ({1}, set())


def test_the_return_comes_before_the_confirm(peer):
    # A13
    peer.call(Confirm.Select())
    peer.publish("", "nowhere", b"x", mandatory=True)
    returned, ack = peer.take()
    assert isinstance(returned, Content)
    assert (returned.method.reply_code, returned.method.reply_text) == (312, "NO_ROUTE")
    assert isinstance(ack, Basic.Ack)


def test_a_flood_is_confirmed_by_few_frames(peer):
    peer.declare("q")
    peer.call(Confirm.Select())
    one = peer.publish_frames("", "q", b"x")
    peer.send(*(one * 500))
    assert len(peer.inbox[1]) < 10
    assert confirms(peer) == (set(range(1, 501)), set())


def test_a_rejected_message_is_nacked_and_the_others_acked(peer):
    peer.declare("q", {"x-max-length": 2, "x-overflow": "reject-publish"})
    peer.call(Confirm.Select())
    peer.send(*(peer.publish_frames("", "q", b"x") * 5))
    assert confirms(peer) == ({1, 2}, {3, 4, 5})


def test_a_message_is_nacked_if_one_of_its_queues_rejects_it(peer):
    peer.declare("small", {"x-max-length": 1, "x-overflow": "reject-publish"})
    peer.declare("large")
    peer.send(Queue.Bind(queue="small", exchange="amq.fanout"), Queue.Bind(queue="large", exchange="amq.fanout"))
    peer.take()
    peer.call(Confirm.Select())
    peer.publish("amq.fanout", "", b"1")
    peer.publish("amq.fanout", "", b"2")
    assert confirms(peer) == ({1}, {2})
    assert [m.body for m in peer.drain("large")] == [b"1", b"2"]


def test_what_an_alternate_exchange_routed_is_confirmed(peer):
    # A13
    peer.declare("q")
    peer.call(Exchange.Declare(exchange="ae", exchange_type="fanout"))
    peer.call(Exchange.Declare(exchange="x", arguments={"alternate-exchange": "ae"}))
    peer.call(Queue.Bind(queue="q", exchange="ae"))
    peer.call(Confirm.Select())
    peer.publish("x", "unknown", b"m")
    assert confirms(peer) == ({1}, set())
    assert [m.body for m in peer.drain("q")] == [b"m"]


def test_confirm_and_tx_exclude_each_other(peer):
    peer.call(Confirm.Select())
    assert peer.error(Tx.Select()) == (406, "PRECONDITION_FAILED - cannot switch from confirm to tx mode")
    peer.call(Tx.Select())
    assert peer.error(Confirm.Select()) == (406, "PRECONDITION_FAILED - cannot switch from tx to confirm mode")


def test_no_confirm_for_what_failed(peer):
    peer.call(Confirm.Select())
    peer.send(*peer.publish_frames("nosuch", "k", b"x"))
    (close,) = peer.take()
    assert isinstance(close, Channel.Close)


def test_channels_confirm_for_themselves(peer):
    peer.declare("q")
    peer.open(2)
    peer.call(Confirm.Select(), 2)
    peer.publish("", "q", b"silent")
    peer.publish("", "q", b"told", channel=2)
    assert peer.take(1) == []
    assert [type(reply) for reply in peer.take(2)] == [Basic.Ack]
