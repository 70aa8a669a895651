"""Publishers to paused queues, as their clients see it: publishes wait or are refused."""

import pytest

from pybroker.core.channel.throttle import PauseCause
from tests.fakes import Basic, Channel, Confirm, Content, Exchange, Queue, Tx
from tests.flows.pausing import CONSUME, PUBLISH, REFUSE, causes, declare, pause, ready, resume

# -- publishers that wait ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("properties", [{}, {"delivery_mode": 2}, {"headers": {"CC": ["other"]}}])
def test_publishes_to_a_paused_queue_wait_with_all_that_is_behind_them(world, peer, properties):
    declare(peer, "q", "other")
    peer.call(Confirm.Select())
    pause(world, **PUBLISH)
    peer.publish("", "q", b"1", **properties)
    peer.send(*peer.publish_frames("", "other", b"2"), *peer.publish_frames("", "q", b"3", **properties))
    assert (ready(world), ready(world, "other"), peer.take()) == (0, 0, [])
    assert causes(peer) == ["the pause of queue 'q' in vhost '/'"]
    assert peer.session.shown_state == "blocked"
    resume(world)
    assert ready(world) == 2
    assert peer.take()[-1].delivery_tag == 3
    assert causes(peer) == []
    assert [m.body for m in peer.drain("q")] == [b"1", b"3"]


def test_consumers_get_what_a_queue_has_while_its_publishers_wait(world, peer):
    peer.declare("q")
    peer.publish("", "q", b"x")
    pause(world, **PUBLISH)
    assert peer.get("q").body == b"x"


def test_a_run_of_publishes_is_cut_where_the_pause_begins(world, peer):
    declare(peer, "q")
    frames = [f for i in range(20) for f in peer.publish_frames("", "q", b"%d" % i)]
    peer.send(*frames)
    pause(world, **PUBLISH)
    peer.send(*frames)
    assert ready(world) == 20
    resume(world)
    assert [m.body for m in peer.drain("q")] == [b"%d" % i for i in range(20)] * 2


def test_of_a_fanout_with_one_paused_queue_none_gets_the_message_before_all_may(world, peer):
    names = [f"q{i}" for i in range(10)]
    declare(peer, *names)
    for name in names:
        peer.call(Queue.Bind(queue=name, exchange="amq.fanout"))
    pause(world, "q7", **PUBLISH)
    peer.publish("amq.fanout", "", b"x")
    assert [ready(world, name) for name in names] == [0] * 10
    resume(world, "q7")
    assert [ready(world, name) for name in names] == [1] * 10


@pytest.mark.parametrize("exchange", ["amq.headers", "amq.topic", "amq.direct"])
def test_other_routes_of_an_exchange_go_on(world, peer, exchange):
    declare(peer, "q", "other")
    for name in ("q", "other"):
        peer.call(Queue.Bind(queue=name, exchange=exchange, routing_key=name, arguments={"to": name}))
    pause(world, **PUBLISH)
    peer.publish(exchange, "other", headers={"to": "other"})
    assert (ready(world, "other"), causes(peer)) == (1, [])
    peer.publish(exchange, "q", headers={"to": "q"})
    assert (ready(world), len(causes(peer))) == (0, 1)
    resume(world)
    assert ready(world) == 1


def test_an_exchange_that_keeps_messages_keeps_a_withheld_one_once(world, peer):
    declare(peer, "q", "late")
    peer.call(Exchange.Declare(exchange="x", exchange_type="x-recent-history"))
    peer.call(Queue.Bind(queue="q", exchange="x"))
    pause(world, **PUBLISH)
    peer.publish("x", "", b"1")
    for _ in range(3):
        world.advance(1_000)
    resume(world)
    peer.call(Queue.Bind(queue="late", exchange="x"))
    world.run()
    assert [m.body for m in peer.drain("late")] == [b"1"]


def test_publishes_go_where_they_lead_when_bindings_change_meanwhile(world, peer):
    other = world.connect()
    declare(other, "q", "q2")
    other.call(Queue.Bind(queue="q", exchange="amq.direct", routing_key="k"))
    pause(world, **PUBLISH)
    peer.publish("amq.direct", "k", b"x")
    other.call(Queue.Bind(queue="q2", exchange="amq.direct", routing_key="k"))
    world.advance(1_000)
    assert len(causes(peer)) == 1
    since_ms = next(iter(peer.session.throttle.causes.values()))
    assert since_ms < world.clock.now_ms  # it is still the same wait
    other.call(Queue.Unbind(queue="q", exchange="amq.direct", routing_key="k"))
    world.advance(1_000)
    assert (causes(peer), ready(world, "q2")) == ([], 1)


@pytest.mark.parametrize("deleted", ["q", "x"])
def test_publishes_go_on_when_what_held_them_is_deleted(world, peer, deleted):
    other = world.connect()
    declare(other, "q")
    other.call(Exchange.Declare(exchange="x", exchange_type="fanout"))
    other.call(Queue.Bind(queue="q", exchange="x"))
    pause(world, **PUBLISH)
    peer.publish("x", "", b"x", mandatory=True)
    other.call(Queue.Delete(queue="q") if deleted == "q" else Exchange.Delete(exchange="x"))
    world.advance(1_000)
    (answer,) = peer.take()
    assert answer.method.reply_code == 312 if deleted == "q" else answer.reply_code == 404


def test_a_publisher_that_leaves_meanwhile_is_forgotten(world, peer):
    declare(peer, "q")
    pause(world, **PUBLISH)
    leaving = world.connect()
    leaving.publish("", "q", b"x")
    leaving.disconnect()
    peer.publish("", "q", b"y")
    peer.session.close(320, "enough")
    world.run()
    resume(world)
    assert ready(world) == 0


def test_a_publish_that_came_frame_by_frame_waits_as_well(world, peer):
    declare(peer, "q")
    pause(world, **PUBLISH)
    for frame in peer.publish_frames("", "q", b"x" * 200_000):
        peer.send(frame)
    assert ready(world) == 0
    resume(world)
    assert [len(m.body) for m in peer.drain("q")] == [200_000]


def test_a_pause_for_both_lets_each_go_alone(world, peer):
    declare(peer, "q")
    peer.consume("q", no_ack=True)
    pause(world)
    peer.publish("", "q", b"x")
    resume(world, publish=False)
    assert (ready(world), peer.take()) == (0, [])
    assert world.vhost.queues["q"].paused.what == "publish"
    resume(world, consume=False)
    assert peer.bodies() == [b"x"]
    assert world.vhost.queues["q"].paused is None


# -- publishers that are refused --------------------------------------------------------------------------------------


def test_publishes_are_refused_with_a_nack(world, peer):
    declare(peer, "q", "other")
    for name in ("q", "other"):
        peer.call(Queue.Bind(queue=name, exchange="amq.fanout"))
    peer.call(Confirm.Select())
    pause(world, **REFUSE)
    peer.publish("", "q")
    peer.publish("", "other")
    peer.publish("amq.fanout", "", delivery_mode=2)
    answers = [(type(each), each.delivery_tag) for each in peer.take()]
    assert answers == [(Basic.Nack, 1), (Basic.Ack, 2), (Basic.Nack, 3)]
    assert (ready(world), ready(world, "other")) == (0, 2)
    resume(world)
    peer.publish("", "q")
    assert isinstance(peer.next(), Basic.Ack)


def test_many_at_once_are_refused_one_by_one(world, peer):
    declare(peer, "q", "other")
    peer.call(Confirm.Select())
    pause(world, **REFUSE)
    peer.send(*[f for i in range(30) for f in peer.publish_frames("", ("q", "other")[i % 2])])
    acked, nacked, last = set(), set(), 0
    for each in peer.take():
        (acked if isinstance(each, Basic.Ack) else nacked).update(range(last + 1, each.delivery_tag + 1))
        last = each.delivery_tag
    assert nacked == set(range(1, 31, 2))
    assert acked == set(range(2, 31, 2))


def test_without_confirms_a_refused_publish_is_lost_as_with_reject_publish(world, peer):
    declare(peer, "q")
    pause(world, **REFUSE)
    peer.publish("", "q", mandatory=True)
    assert (ready(world), peer.take()) == (0, [])


def test_publishers_that_wait_are_refused_when_the_mode_changes(world, peer):
    declare(peer, "q")
    peer.call(Confirm.Select())
    pause(world, **PUBLISH)
    peer.publish("", "q")
    pause(world, **REFUSE)
    assert isinstance(peer.next(), Basic.Nack)
    pause(world, **CONSUME)
    assert world.vhost.queues["q"].paused.mode == "refuse"


# -- transactions -----------------------------------------------------------------------------------------------------


def test_a_commit_waits_for_a_paused_queue(world, peer):
    declare(peer, "q", "other")
    peer.call(Tx.Select())
    peer.publish("", "other", b"1")
    peer.publish("", "q", b"2")
    pause(world, **PUBLISH)
    peer.send(Tx.Commit())
    peer.publish("", "other", b"3")
    world.advance(1_000)
    assert (ready(world), ready(world, "other"), peer.take(), len(causes(peer))) == (0, 0, [], 1)
    resume(world)
    assert [type(each) for each in peer.take()] == [Tx.CommitOk]
    assert (ready(world), ready(world, "other")) == (1, 1)


def test_a_commit_waits_no_more_for_a_queue_that_is_deleted(world, peer):
    declare(peer, "q", "other")
    peer.call(Tx.Select())
    peer.publish("", "q", b"2")
    pause(world, **PUBLISH)
    peer.send(Tx.Commit())
    world.vhost.delete_queue(world.vhost.queues["q"])
    world.run()
    assert [type(each) for each in peer.take()] == [Tx.CommitOk]


def test_a_refusing_queue_refuses_the_whole_commit(world, peer):
    declare(peer, "q", "other")
    peer.call(Tx.Select())
    peer.publish("", "other", b"1")
    peer.publish("", "q", b"2")
    pause(world, **REFUSE)
    close = peer.call(Tx.Commit())
    assert (type(close), close.reply_code) == (Channel.Close, 406)
    assert close.reply_text == "PRECONDITION_FAILED - queue 'q' in vhost '/' is paused: maintenance"
    assert (ready(world), ready(world, "other")) == (0, 0)


# -- what the broker publishes itself ---------------------------------------------------------------------------------


@pytest.mark.parametrize("what", [PUBLISH, REFUSE])
@pytest.mark.parametrize("strategy", [{}, {"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}])
def test_dead_letters_come_in_all_the_same(world, peer, what, strategy):
    declare(peer, "dead", durable=True)
    dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead", **strategy}
    peer.declare("q", dead, durable=True)
    peer.publish("", "q", b"x", delivery_mode=2)
    pause(world, "dead", **what)
    got = peer.get("q", no_ack=False)
    peer.send(Basic.Reject(got.method.delivery_tag, requeue=False))
    world.advance(2_000)
    assert (ready(world), ready(world, "dead")) == (0, 1)


@pytest.mark.parametrize("what", [PUBLISH, REFUSE])
def test_so_do_delayed_messages_that_are_due(world, peer, what):
    declare(peer, "q")
    arguments = {"x-delayed-type": "direct"}
    peer.call(Exchange.Declare(exchange="x", exchange_type="x-delayed-message", arguments=arguments))
    peer.call(Queue.Bind(queue="q", exchange="x", routing_key="k"))
    pause(world, **what)
    peer.publish("x", "k", b"x", headers={"x-delay": 1_000})
    assert causes(peer) == []
    world.advance(1_000)
    assert ready(world) == 1


def test_a_cause_names_its_queue_and_is_equal_to_another_of_it():
    assert PauseCause("/", "q") == PauseCause("/", "q")
    assert PauseCause("/", "q") != PauseCause("/", "p")


def test_content_is_as_it_was(world, peer):
    declare(peer, "q")
    pause(world, **PUBLISH)
    peer.publish("", "q", b"x", headers={"a": 1}, message_id="m")
    resume(world)
    got = peer.get("q")
    assert isinstance(got, Content)
    assert (got.properties.headers, got.properties.message_id) == ({"a": 1}, "m")
