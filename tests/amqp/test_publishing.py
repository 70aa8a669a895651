"""Routes of a connection: remembered, void when something changes, bounded; and runs that grow."""

import pytest
from pamqp import frame

from pybroker.amqp.publishing import ROUTES_MAX
from tests.fakes import Basic, Confirm, Exchange, Queue, World


def runs(world: World, queue: str = "q") -> list[int]:
    """Return the sizes of the runs that are ready."""
    return [len(entry.indexes) for level in world.vhost.queues[queue].backlog.levels for entry in level.ready]


def test_equal_publishes_share_a_run(world, peer):
    peer.declare("q")
    for _ in range(3):
        peer.send(*(peer.publish_frames("", "q", b"x") * 10))
    assert runs(world) == [30]


def test_another_kind_or_another_publisher_opens_a_new_run(world, peer):
    peer.declare("q")
    other = world.connect()
    peer.publish("", "q", b"1")
    peer.publish("", "q", b"2", delivery_mode=2)
    other.publish("", "q", b"3", delivery_mode=2)
    peer.publish("", "q", b"4", delivery_mode=2)
    assert runs(world) == [1, 1, 1, 1]
    assert [m.body for m in peer.drain("q")] == [b"1", b"2", b"3", b"4"]


def test_sizes_and_unknown_headers_do_not_split_a_run(world, peer):
    peer.declare("q")
    frames = []
    for i in range(20):
        frames += peer.publish_frames("", "q", b"x" * i, message_id=str(i), content_type="text/plain")
    peer.send(*frames)
    assert runs(world) == [20]


def test_a_run_with_a_ttl_does_not_outlast_its_tick(world, peer):
    peer.declare("q", {"x-message-ttl": 60_000})
    peer.publish("", "q", b"1")
    peer.publish("", "q", b"2")
    world.clock.advance(1)
    peer.publish("", "q", b"3")
    assert runs(world) == [2, 1]


def test_a_run_that_was_delivered_in_part_may_grow(world, peer):
    peer.declare("q")
    peer.publish("", "q", b"1")
    assert peer.get("q").body == b"1"
    peer.publish("", "q", b"2")
    peer.publish("", "q", b"3")
    assert [m.body for m in peer.drain("q")] == [b"2", b"3"]


def test_routes_are_bounded(world, peer):
    peer.declare("q")
    frames = [f for i in range(ROUTES_MAX + 100) for f in peer.publish_frames("", f"key {i}", b"x")]
    peer.send(*frames)
    assert len(peer.session.routes) <= ROUTES_MAX
    peer.publish("", "q", b"still")
    assert peer.get("q").body == b"still"


def test_routes_go_with_their_channel(peer):
    peer.declare("q")
    peer.open(2)
    peer.publish("", "q", b"x")
    peer.publish("", "q", b"x", channel=2)
    assert len(peer.session.routes) == 2
    peer.error(Basic.Ack(9), channel=2)
    assert [route.channel for route in peer.session.routes.values()] == [1]


@pytest.mark.parametrize("properties", [{}, {"headers": {"h": 1}}])
def test_a_headers_exchange_is_asked_for_each_message(peer, properties):
    peer.declare("q")
    arguments = {"x-match": "all", "h": 1}
    peer.call(Queue.Bind(queue="q", exchange="amq.headers", arguments=arguments))
    peer.publish("amq.headers", "", b"first", headers={"h": 1})
    peer.publish("amq.headers", "", b"second", **properties)
    expected = [b"first", b"second"] if properties else [b"first"]
    assert [m.body for m in peer.drain("q")] == expected


def test_bound_exchanges_lead_on_and_queues_get_one_copy(peer):
    for name in ("a", "b", "c"):
        peer.call(Exchange.Declare(exchange=name, exchange_type="fanout"))
    for source, destination in (("a", "b"), ("a", "c"), ("b", "c"), ("c", "a")):
        peer.call(Exchange.Bind(destination=destination, source=source))
    peer.declare("q")
    for source in ("b", "c"):
        peer.call(Queue.Bind(queue="q", exchange=source))
    peer.publish("a", "", b"once")
    assert [m.body for m in peer.drain("q")] == [b"once"]


def test_a_deleted_queue_declared_anew_is_found_by_a_remembered_route(peer):
    for i in range(3):
        peer.declare("q")
        peer.publish("", "q", b"%d" % i)
        assert peer.get("q").body == b"%d" % i
        peer.call(Queue.Delete(queue="q"))


def test_no_confirm_leaves_for_a_message_that_closed_the_channel(peer):
    peer.declare("q")
    peer.call(Confirm.Select())
    good = peer.publish_frames("", "q", b"good")
    bad = peer.publish_frames("", "q", b"bad", reply_to="amq.rabbitmq.reply-to")
    peer.send(*good, *bad)
    replies = peer.take()
    assert [type(reply).__name__ for reply in replies] == ["Ack", "Close"]
    assert (replies[0].delivery_tag, replies[1].reply_code) == (1, 406)


def test_publishes_on_a_closed_channel_are_ignored(world, peer):
    peer.declare("q")
    bad = b"".join(frame.marshal(f, 1) for f in peer.publish_frames("nosuch", "q", b"x"))
    good = b"".join(frame.marshal(f, 1) for f in peer.publish_frames("", "q", b"x"))
    peer.send_octets(bad + good * 3)
    world.run()
    assert peer.next(1).reply_code == 404
    assert world.vhost.queues["q"].messages_ready == 0


def test_what_was_published_and_lost_is_counted(world, peer):
    peer.declare("q")
    for exchange, key, flags in (("", "q", {}), ("", "no", {}), ("", "no", {"mandatory": True})):
        peer.publish(exchange, key, b"x", **flags)
    broker = world.broker
    assert (broker.message_sizes.messages, broker.totals.total("dropped"), broker.totals.total("returned")) == (3, 1, 1)
