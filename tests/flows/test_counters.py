"""Counters of the node, its exchanges and queues: each message counts once, in every way that it may take."""

import pytest
from hypothesis import given, settings, strategies as st

from tests.fakes import Basic, Confirm, Exchange, Queue, Tx, World


@pytest.fixture
def broker(world):
    return world.broker


def in_and_out(world, name):
    exchange = world.vhost.exchanges[name]
    return exchange.publish_in, exchange.publish_out


def test_a_message_leaves_its_exchange_once_for_each_queue(world, peer):
    peer.declare("a")
    peer.declare("b")
    for queue in "ab":
        peer.call(Queue.Bind(queue=queue, exchange="amq.fanout"))
    for _ in range(3):
        peer.publish("amq.fanout", "")
    assert (3, 6) == in_and_out(world, "amq.fanout")
    peer.publish("", "a")
    peer.publish("", "nowhere")
    assert (2, 1) == in_and_out(world, "")


def test_where_each_message_is_looked_at_alone_as_well(world, peer):
    for queue in "ab":
        peer.declare(queue)
        peer.call(Queue.Bind(queue=queue, exchange="amq.headers", arguments={"x-match": "all", "k": queue}))
    frames = [peer.publish_frames("amq.headers", "", headers={"k": key}) for key in "aabc"]
    peer.send(*(frame for each in frames for frame in each))
    assert (4, 3) == in_and_out(world, "amq.headers")
    peer.publish("", "a", headers={"CC": ["b", "a"]})
    assert (1, 2) == in_and_out(world, "")


def test_through_an_alternate_exchange_it_leaves_the_one_it_was_published_to(world, peer):
    peer.declare("q")
    peer.call(Queue.Bind(queue="q", exchange="amq.fanout"))
    peer.call(Exchange.Declare(exchange="x", arguments={"alternate-exchange": "amq.fanout"}))
    peer.publish("x", "k")
    assert ((1, 1), (0, 0)) == (in_and_out(world, "x"), in_and_out(world, "amq.fanout"))


def test_what_is_delayed_leaves_when_it_is_due(world, peer):
    arguments = {"x-delayed-type": "fanout"}
    peer.call(Exchange.Declare(exchange="x", exchange_type="x-delayed-message", arguments=arguments))
    for queue in "ab":
        peer.declare(queue)
        peer.call(Queue.Bind(queue=queue, exchange="x"))
    peer.publish("x", "k", headers={"x-delay": 1_000})
    peer.publish("x", "k")
    assert (2, 2) == in_and_out(world, "x")
    world.advance(1_000)
    assert (2, 4) == in_and_out(world, "x")


def test_an_immediate_publish_that_nobody_takes_leaves_nothing(world, peer):
    peer.declare("q")
    peer.publish("", "q", immediate=True)
    assert (1, 0) == in_and_out(world, "")


def test_confirms_are_counted_and_refusals_are_not(broker, peer):
    peer.declare("q", arguments={"x-max-length": 2, "x-overflow": "reject-publish"})
    peer.publish("", "q")
    assert 0 == broker.totals.total("confirmed")
    peer.call(Confirm.Select())
    for _ in range(3):
        peer.publish("", "q")
    assert (1, 4) == (broker.totals.total("confirmed"), broker.message_sizes.messages)
    frames = [frame for _ in range(3) for frame in peer.publish_frames("", "nowhere")]
    peer.send(*frames)
    assert 4 == broker.totals.total("confirmed")


def test_deliveries_and_acknowledgements_are_counted(broker, peer):
    peer.declare("q")
    for _ in range(6):
        peer.publish("", "q")
    peer.call(Basic.Get(queue="q", no_ack=True))
    got = peer.call(Basic.Get(queue="q"))
    assert (2, 0) == (broker.totals.given, broker.totals.total("acked"))
    peer.send(Basic.Ack(delivery_tag=got.method.delivery_tag))
    assert (2, 1) == (broker.totals.given, broker.totals.total("acked"))
    peer.call(Basic.Consume(queue="q", consumer_tag="c"))
    assert (6, 1) == (broker.totals.given, broker.totals.total("acked"))
    peer.send(Basic.Ack(delivery_tag=0, multiple=True))
    assert (6, 5) == (broker.totals.given, broker.totals.total("acked"))


def test_an_acknowledgement_in_a_transaction_counts_at_its_commit(broker, peer):
    peer.declare("q")
    peer.publish("", "q")
    peer.call(Tx.Select())
    got = peer.call(Basic.Get(queue="q"))
    peer.send(Basic.Ack(delivery_tag=got.method.delivery_tag))
    assert 0 == broker.totals.total("acked")
    peer.call(Tx.Commit())
    assert 1 == broker.totals.total("acked")


@given(st.lists(st.sampled_from(["publish", "get", "no_ack", "consume", "cancel", "ack", "nack"]), max_size=40))
@settings(max_examples=30)
def test_totals_of_the_node_are_those_of_its_queues(steps):
    world = World()
    peer, reader = world.connect(), world.connect()
    peer.declare("q")
    for step in steps:
        match step:
            case "publish":
                peer.send(*(frame for _ in range(3) for frame in peer.publish_frames("", "q")))
            case "get" | "no_ack":
                reader.send(Basic.Get(queue="q", no_ack=step == "no_ack"))
            case "consume":
                reader.send(Basic.Qos(prefetch_count=2), Basic.Consume(queue="q"))
            case "cancel":
                for tag in list(next(iter(reader.session.channels.values())).consumers):
                    reader.send(Basic.Cancel(consumer_tag=tag))
            case "ack":
                reader.send(Basic.Ack(delivery_tag=0, multiple=True))
            case "nack":
                reader.send(Basic.Nack(delivery_tag=0, multiple=True))
    queue, broker = world.vhost.queues["q"], world.broker
    assert queue.delivered + queue.delivered_no_ack + queue.got == broker.totals.given
    assert queue.acked == broker.totals.total("acked")
    assert queue.delivered + queue.got - queue.got_no_ack - queue.acked >= queue.messages_unacknowledged
    assert queue.published == broker.message_sizes.messages == world.vhost.exchanges[""].publish_out
