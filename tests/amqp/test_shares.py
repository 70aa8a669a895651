"""How much of one peer is read, and how much of it is done in a turn: shares, so that no peer holds up the others."""

import pytest
from pamqp import frame as pamqp_frame

from pybroker.amqp.publishing import SLOW_MESSAGES
from pybroker.core.peer.session import REPLY_OCTETS_MAX
from pybroker.session import RECEIVE_MS
from pybroker.tls_facts import TlsFacts
from tests.fakes import Basic, Confirm, Queue
from tests.streams import publish

# -- flow -------------------------------------------------------------------------------------------------------------


def test_the_rest_of_a_large_body_is_read_in_large_portions(world, peer):
    peer.declare("q")
    whole = publish(1, "", "q", b"x" * 500_000, piece=131_064)
    peer.send_octets(whole[:131_072])
    assert 2_097_152 == peer.session.read_octets
    peer.send_octets(whole[131_072:])
    world.run()
    assert 1 == world.vhost.queues["q"].messages_ready
    peer.send_octets(publish(1, "", "q", b"x") * 3)
    assert 0 == peer.session.read_octets


def test_large_portions_over_tls_are_smaller(world):
    peer = world.connect(tls=TlsFacts("tlsv1.3", "", "", "", b""))
    peer.declare("q")
    whole = publish(1, "", "q", b"x" * 500_000, piece=131_064)
    peer.send_octets(whole[:131_072])
    assert 1_048_576 == peer.session.read_octets
    peer.send_octets(whole[131_072:])
    one = publish(1, "", "q", b"x" * 100_000)
    peer.send_octets(one)
    world.run()
    assert 10 * len(one) == peer.session.read_octets


def test_a_read_of_large_messages_that_are_alike_ends_where_one_of_them_does(world, peer):
    peer.declare("q")
    one = publish(1, "", "q", b"x" * 20_000)
    stream = one * 300
    chunk = 131_072  # the first read is a small one, as of any peer
    sizes = []
    while stream:
        piece, stream = stream[:chunk], stream[chunk:]
        peer.send_octets(piece)
        world.run()
        chunk = peer.session.read_octets
        sizes.append((len(piece), len(peer.session.rest)))
    cut = len(one) - 131_072 % len(one)
    most = (2_097_152 - cut) // len(one)
    assert (131_072, len(one) - cut) == sizes[0]
    assert (cut + most * len(one), 0) == sizes[1]
    # And once it is there, it stays there.
    assert {0} == {rest for _, rest in sizes[1:]}
    assert (2_097_152 // len(one) * len(one), 0) == sizes[2]
    assert 300 == world.vhost.queues["q"].messages_ready


@pytest.mark.parametrize("begun", [0, 1, 30_000, 70_000])
def test_messages_larger_than_a_read_are_read_by_as_much_as_a_read_may_be(world, peer, begun):
    peer.declare("q")
    world.turn.large_octets = 50_000
    one = publish(1, "", "q", b"x" * 70_000)
    peer.send_octets(one + one[:begun])
    world.run()
    assert 50_000 == peer.session.read_octets


def test_a_publisher_is_held_by_the_queue_whose_consumers_are_behind(world, peer):
    peer.declare("q")
    other = world.connect()
    other.call(Basic.Qos(prefetch_count=1))
    peer.send_octets(publish(1, "", "q", b"x") * 4_000)
    other.consume("q")
    world.run()
    peer.send_octets(publish(1, "", "q", b"x"))
    assert world.vhost.queues["q"] is peer.session.throttled_by
    assert 4_096 == peer.session.held_octets
    world.clock.advance(1_000)  # the consumer is stuck, not busy: holding the publisher would not help it
    peer.send_octets(publish(1, "", "q", b"x"))
    assert peer.session.throttled_by is None


# -- a turn's share ---------------------------------------------------------------------------------------------------


def test_replies_that_the_peer_does_not_read_stop_the_rest_of_a_chunk(world, peer):
    # A 100-octet get and nack of one large message, again and again, would else be answered from memory without bound.
    peer.declare("q")
    peer.publish("", "q", bytes(100_000))
    asked = [[Basic.Get(queue="q"), Basic.Nack(tag, requeue=True)] for tag in range(1, 101)]
    peer.session.receive(b"".join(pamqp_frame.marshal(f, 1) for pair in asked for f in pair))
    assert (False, True) == (peer.session.readable, peer.session.input_pending)
    assert REPLY_OCTETS_MAX < peer.session.send_pend < REPLY_OCTETS_MAX + 200_000
    world.run()
    assert list(range(1, 101)) == [message.method.delivery_tag for message in peer.take()]
    assert not peer.session.input_pending


def declares(count: int) -> bytes:
    return b"".join(pamqp_frame.marshal(Queue.Declare(queue=f"q{i}", nowait=True), 1) for i in range(count))


def test_what_costs_more_than_a_share_of_the_turn_goes_on_in_the_next(world, peer, monkeypatch):
    monkeypatch.setattr(type(world.clock), "refresh", lambda clock: clock.advance(RECEIVE_MS))
    peer.send_octets(declares(500))
    assert peer.session.input_pending
    assert 0 < len(world.vhost.queues) < 500
    world.run()
    assert [f"q{i}" for i in range(500)] == list(world.vhost.queues)


def test_one_publish_to_very_many_bounded_queues_is_interrupted_too(world, peer, monkeypatch):
    for i in range(100):
        peer.declare(f"q{i}", {"x-max-length-bytes": 100, "x-overflow": "reject-publish"})
        peer.call(Queue.Bind(queue=f"q{i}", exchange="amq.fanout", routing_key=""))
    peer.call(Confirm.Select())
    peer.publish("amq.fanout", "")
    peer.take()
    monkeypatch.setattr(type(world.clock), "refresh", lambda clock: clock.advance(RECEIVE_MS))
    peer.send_octets(publish(1, "amq.fanout", "", b"x") * 50)
    assert peer.session.input_pending
    assert 1 < world.vhost.queues["q99"].messages_ready < 51
    world.run()
    assert [51] * 100 == [queue.messages_ready for queue in world.vhost.queues.values()]
    assert 51 == peer.take()[-1].delivery_tag


def test_what_waits_for_its_turn_is_dropped_with_its_connection(world, peer, monkeypatch):
    monkeypatch.setattr(type(world.clock), "refresh", lambda clock: clock.advance(RECEIVE_MS))
    peer.send_octets(declares(500))
    done = len(world.vhost.queues)
    peer.disconnect()
    assert (done, [], b"") == (len(world.vhost.queues), peer.session.events, peer.session.rest)


def test_a_chunk_for_queues_that_look_at_each_message_is_published_in_parts(world, peer, monkeypatch):
    peer.declare("q", arguments={"x-message-ttl": 0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
    peer.declare("dead")
    peer.call(Confirm.Select())
    peer.session.receive(publish(1, "", "q", b"first"))  # from now on the route is known
    count = 5 * SLOW_MESSAGES
    chunk = b"".join(publish(1, "", "q", b"%d" % i) for i in range(count - 1))
    monkeypatch.setattr(type(world.clock), "refresh", lambda clock: clock.advance(RECEIVE_MS))
    peer.session.receive(chunk)
    assert (1 + SLOW_MESSAGES, True) == (world.broker.message_sizes.messages, peer.session.input_pending)
    peer.session.receive(b"")
    assert 1 + 2 * SLOW_MESSAGES == world.broker.message_sizes.messages
    world.run()
    assert count == world.broker.message_sizes.messages == world.vhost.queues["dead"].messages
    assert count == max(one.delivery_tag for one in peer.take() if isinstance(one, Basic.Ack))


def test_a_chunk_for_other_queues_is_published_at_once(world, peer, monkeypatch):
    peer.declare("q")
    monkeypatch.setattr(type(world.clock), "refresh", lambda clock: clock.advance(RECEIVE_MS))
    peer.session.receive(publish(1, "", "q", b"x") * 5 * SLOW_MESSAGES)
    assert 5 * SLOW_MESSAGES == world.broker.message_sizes.messages
