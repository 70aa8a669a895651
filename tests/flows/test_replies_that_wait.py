"""Replies that wait for the disk: in the order of their channel, and nobody else's time."""

import pytest

from pybroker.core.peer.reply_queue import REPLIES_MAX
from tests.fakes import Basic, Channel, Confirm, Connection, Content, Exchange, FakePeer, Queue, Tx, World
from tests.slow import GatheringLog, SlowDefinitions


@pytest.fixture
def log(world: World) -> GatheringLog:
    world.broker.log = GatheringLog()
    return world.broker.log


@pytest.fixture
def definitions(world: World) -> SlowDefinitions:
    world.broker.definitions = SlowDefinitions()
    return world.broker.definitions


@pytest.fixture
def peer(world: World, log: GatheringLog, definitions: SlowDefinitions) -> FakePeer:
    return world.connect()


def on_disk(world: World) -> None:
    """Have everything on disk that was made so far."""
    world.broker.definitions_completed(world.broker.definitions.commit_position)
    world.broker.log_completed(world.broker.log.seal())
    world.run()


def names(peer: FakePeer, channel: int = 1) -> list[str]:
    return [(each.method if isinstance(each, Content) else each).name for each in peer.take(channel)]


# -- definitions ------------------------------------------------------------------------------------------------------


def prepare(world: World, peer: FakePeer) -> None:
    peer.send(
        Queue.Declare(queue="q", durable=True),
        Exchange.Declare(exchange="x", durable=True),
        Exchange.Declare(exchange="y", durable=True),
        Queue.Bind(queue="q", exchange="x"),
        Exchange.Bind(destination="y", source="x"),
    )
    on_disk(world)
    peer.take()


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        (Queue.Declare(queue="new", durable=True), "Queue.DeclareOk"),
        (Queue.Bind(queue="q", exchange="x", routing_key="k"), "Queue.BindOk"),
        (Queue.Unbind(queue="q", exchange="x"), "Queue.UnbindOk"),
        (Queue.Delete(queue="q"), "Queue.DeleteOk"),
        (Exchange.Declare(exchange="new", durable=True), "Exchange.DeclareOk"),
        (Exchange.Delete(exchange="x"), "Exchange.DeleteOk"),
        (Exchange.Bind(destination="y", source="x", routing_key="k"), "Exchange.BindOk"),
        (Exchange.Unbind(destination="y", source="x"), "Exchange.UnbindOk"),
    ],
)
def test_the_answer_to_a_durable_change_waits_for_it(world, peer, method, answer):
    prepare(world, peer)
    peer.send(method)
    assert [] == peer.take()
    on_disk(world)
    assert ([answer], {}, None) == (names(peer), world.broker.waiting, peer.session.channels[1].reply_queue)


@pytest.mark.parametrize(
    "method",
    [
        Queue.Declare(queue="q", passive=True),
        Queue.Declare(queue="t"),
        Queue.Declare(queue="e", exclusive=True),
        Exchange.Declare(exchange="t"),
        Basic.Qos(),
    ],
)
def test_what_changes_nothing_durable_is_answered_at_once(world, peer, definitions, method):
    prepare(world, peer)
    peer.send(Queue.Declare(queue="other", durable=True), channel=1)
    peer.open(2)
    peer.call(method, 2)
    assert {peer.session.channels[1]: None} == world.broker.waiting


@pytest.mark.parametrize(
    "method",
    [
        Queue.Declare(queue="new", durable=True),
        Queue.Bind(queue="q", exchange="x", routing_key="new"),
        Queue.Unbind(queue="q", exchange="x"),
        Queue.Delete(queue="q"),
        Exchange.Declare(exchange="new", durable=True),
        Exchange.Bind(destination="y", source="x", routing_key="new"),
        Exchange.Unbind(destination="y", source="x"),
        Exchange.Delete(exchange="x"),
    ],
)
def test_who_asks_again_for_what_is_not_on_disk_yet_waits_too(world, peer, method):
    prepare(world, peer)
    other = world.connect()
    peer.send(method)
    other.send(method)
    assert ([], []) == (peer.take(), other.take())
    on_disk(world)
    assert names(peer) == names(other) != []


def test_a_change_without_an_answer_holds_nothing_up(world, peer):
    peer.send(Queue.Declare(queue="q", durable=True, nowait=True), Basic.Qos())
    assert ["Basic.QosOk"] == names(peer)


def test_later_answers_of_the_channel_stand_behind_and_other_channels_do_not_notice(world, peer):
    peer.open(2)
    peer.send(Queue.Declare(queue="q", durable=True), Basic.Qos(), Queue.Declare(queue="t"))
    peer.call(Basic.Qos(), 2)
    assert [] == peer.take()
    on_disk(world)
    assert ["Queue.DeclareOk", "Basic.QosOk", "Queue.DeclareOk"] == names(peer)


def test_the_input_behind_a_waiting_reply_is_processed(world, peer):
    peer.send(Queue.Declare(queue="q", durable=True), *peer.publish_frames("", "q", b"m"))
    assert (1, []) == (world.vhost.queues["q"].messages_ready, peer.take())


def test_the_answer_to_a_delete_goes_before_what_it_does_to_consumers(world, peer):
    prepare(world, peer)
    peer.consume("q")
    peer.send(Queue.Delete(queue="q"))
    assert ([], 0) == (peer.take(), len(peer.session.channels[1].consumers))
    on_disk(world)
    assert ["Queue.DeleteOk", "Basic.Cancel"] == names(peer)


# -- deliveries, confirms and returns ---------------------------------------------------------------------------------


def test_nothing_is_delivered_on_a_channel_before_its_consume_ok(world, peer):
    peer.open(2)
    peer.declare("t")
    peer.publish("", "t", b"1")
    peer.send(Queue.Declare(queue="q", durable=True), Basic.Consume(queue="t", consumer_tag="c"))
    peer.publish("", "t", b"2", channel=2)
    assert [] == peer.take()
    on_disk(world)
    assert ["Queue.DeclareOk", "Basic.ConsumeOk", "Basic.Deliver", "Basic.Deliver"] == names(peer)


def test_another_consumer_of_the_queue_takes_what_this_one_cannot(world, peer):
    peer.open(2)
    peer.declare("t")
    peer.consume("t", "a")
    peer.consume("t", "b", channel=2)
    peer.send(Queue.Declare(queue="q", durable=True))
    for _ in range(4):
        peer.publish("", "t", b"m", channel=2)
    assert (0, 4) == (len(peer.take()), len(peer.take(2)))


def test_a_channel_that_was_told_to_pause_does_not_go_on_when_its_line_does(world, peer):
    peer.declare("t")
    peer.consume("t")
    peer.send(Queue.Declare(queue="q", durable=True), Channel.Flow(active=False))
    on_disk(world)
    peer.publish("", "t", b"m")
    assert ["Queue.DeclareOk", "Channel.FlowOk"] == names(peer)
    peer.send(Queue.Declare(queue="r", durable=True), Channel.Flow(active=True))
    assert [] == peer.take()
    on_disk(world)
    assert ["Queue.DeclareOk", "Channel.FlowOk", "Basic.Deliver"] == names(peer)


def test_confirms_and_returns_have_an_order_of_their_own(world, peer):
    peer.call(Confirm.Select())
    peer.send(Queue.Declare(queue="q", durable=True))
    peer.publish("", "nosuch", b"m", mandatory=True)
    assert ["Basic.Return", "Basic.Ack"] == names(peer)


def test_a_direct_reply_stands_behind_and_stays_whole(world, peer):
    client = world.connect()
    client.consume("amq.rabbitmq.reply-to", no_ack=True)
    client.declare("rpc")
    client.publish("", "rpc", b"?", reply_to="amq.rabbitmq.reply-to")
    client.send(Queue.Declare(queue="q", durable=True))
    request = peer.get("rpc")
    peer.publish("", request.properties.reply_to, b"!")
    assert [] == client.take()
    on_disk(world)
    declared, reply = client.take()
    assert ("Queue.DeclareOk", b"!") == (declared.name, reply.body)


# -- ends -------------------------------------------------------------------------------------------------------------


def test_a_channel_that_is_closed_is_not_told_what_waited(world, peer):
    peer.send(Queue.Declare(queue="q", durable=True))
    assert isinstance(peer.call(Channel.Close(200, "", 0, 0)), Channel.CloseOk)
    assert {} == world.broker.waiting
    peer.open(1)
    on_disk(world)
    assert [] == peer.take()


def test_an_error_behind_a_waiting_reply_is_told_behind_it(world, peer):
    peer.send(Queue.Declare(queue="q", durable=True), Queue.Declare(queue="nosuch", passive=True), Basic.Qos())
    assert [] == peer.take()
    on_disk(world)
    assert ["Queue.DeclareOk", "Channel.Close"] == names(peer)
    peer.send(Channel.CloseOk())
    peer.open(1)


def test_a_close_that_meets_ours_in_the_line_ends_the_channel(world, peer):
    peer.send(Queue.Declare(queue="q", durable=True), Queue.Declare(queue="nosuch", passive=True))
    assert isinstance(peer.call(Channel.Close(200, "", 0, 0)), Channel.CloseOk)
    peer.open(1)
    on_disk(world)
    assert [] == peer.take()


@pytest.mark.parametrize("vanishes", [True, False])
def test_a_connection_that_ends_leaves_nothing_behind(world, peer, vanishes):
    peer.send(Queue.Declare(queue="q", durable=True), Basic.Qos())
    if vanishes:
        peer.disconnect()
    else:
        assert isinstance(peer.call(Connection.Close(200, "", 0, 0), 0), Connection.CloseOk)
    assert {} == world.broker.waiting
    on_disk(world)
    assert [] == peer.take()


def test_a_peer_that_asks_on_and_on_is_not_read_until_it_has_heard_something(world, peer):
    peer.open(2)
    declares = [Queue.Declare(queue=f"q{i}", durable=True) for i in range(REPLIES_MAX + 10)]
    peer.send(*declares)
    assert (False, REPLIES_MAX) == (peer.session.readable, len(world.vhost.queues))
    world.broker.definitions_completed(REPLIES_MAX // 2 - 1)
    world.run()
    assert not peer.session.readable
    world.broker.definitions_completed(REPLIES_MAX // 2)
    world.run()
    assert (True, REPLIES_MAX + 10) == (peer.session.readable, len(world.vhost.queues))
    on_disk(world)
    assert ["Queue.DeclareOk"] * (REPLIES_MAX + 10) == names(peer)


def test_a_full_line_that_goes_with_its_channel_is_forgotten(world, peer):
    peer.open(2)
    peer.send(*[Queue.Declare(queue=f"q{i}", durable=True) for i in range(REPLIES_MAX - 1)])
    peer.send(Basic.Qos(), Channel.Close(200, "", 0, 0))
    assert not peer.session.readable  # and so the close is not seen either
    world.broker.definitions_completed(world.broker.definitions.commit_position)
    world.run()
    assert (True, {}) == (peer.session.readable, peer.session.throttle.causes)
    assert "Channel.CloseOk" == names(peer)[-1]


def test_definitions_that_cannot_be_written_are_an_error_for_who_waits_and_who_comes(world, definitions):
    waiting, later, neither = world.connect(), world.connect(), world.connect()
    waiting.send(Queue.Declare(queue="q", durable=True), Basic.Qos())
    world.broker.definitions_failed("the disk is gone")
    world.run()
    later.send(Queue.Declare(queue="r", durable=True))
    for peer in (waiting, later):
        assert 541 == peer.next(0).reply_code
        assert [] == peer.take()
    neither.declare("t")
    neither.declare("q", passive=True)


# -- transactions -----------------------------------------------------------------------------------------------------


@pytest.fixture
def tx(world: World, peer: FakePeer) -> FakePeer:
    """A transactional channel, and a durable queue `q`."""
    prepare(world, peer)
    peer.call(Tx.Select())
    return peer


def test_commit_ok_waits_for_what_was_published(world, tx, log):
    tx.publish("", "q", b"1", delivery_mode=2)
    tx.publish("", "q", b"2", delivery_mode=2)
    assert 0 == log.commit_position
    tx.send(Tx.Commit())
    assert ([], [max(log.batches)]) == (tx.take(), log.wanted)
    assert ["publish", "publish"] == [record[0] for record in log.batches[max(log.batches)]]
    on_disk(world)
    assert ["Tx.CommitOk"] == names(tx)


def test_commit_ok_waits_for_what_was_acknowledged(world, tx, log):
    tx.publish("", "q", b"1", delivery_mode=2)
    tx.send(Tx.Commit())
    on_disk(world)
    tx.take()
    tx.get("q", no_ack=False)
    tx.send(Basic.Ack(1))
    log.wanted.clear()
    tx.send(Tx.Commit())
    assert ([], [max(log.batches)]) == (tx.take(), log.wanted)
    on_disk(world)
    assert ["Tx.CommitOk"] == names(tx)


def test_publishes_and_acks_of_a_commit_are_in_one_batch(world, tx, log):
    world.connect().publish("", "q", b"0", delivery_mode=2)
    tx.get("q", no_ack=False)
    log.seal()
    tx.publish("", "q", b"1", delivery_mode=2)
    tx.send(Basic.Ack(1))
    commit_position = max(log.batches)
    assert [] == log.batches[commit_position]
    tx.send(Tx.Commit())
    assert ["publish", "settle"] == [record[0] for record in log.batches[commit_position]]


def test_what_the_log_has_not_to_know_is_committed_at_once(world, tx, log):
    world.connect().publish("", "q", b"somebody else's", delivery_mode=2)
    tx.publish("", "q", b"transient")
    tx.get("q", no_ack=False)
    tx.send(Basic.Nack(1, requeue=True))
    assert isinstance(tx.call(Tx.Commit()), Tx.CommitOk)
    assert [] == log.wanted
