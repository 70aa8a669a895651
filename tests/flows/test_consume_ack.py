"""Deliver, acknowledge, reject; push and pull (AMQP §1.8.3)."""

import pytest

from tests.fakes import Basic, Channel, Content, FakePeer, Queue, World


def fill(peer: FakePeer, count: int, queue: str = "q") -> None:
    peer.declare(queue)
    frames = [f for i in range(count) for f in peer.publish_frames("", queue, b"%d" % i)]
    if frames:
        peer.send(*frames)


def counts(world, queue: str = "q") -> tuple[int, int]:
    found = world.vhost.queues[queue]
    return found.messages_ready, found.messages_unacknowledged


def tags(contents: list[Content]) -> list[int]:
    return [content.method.delivery_tag for content in contents]


def test_messages_are_pushed_in_order(peer):
    # F1, F16, F17, G14
    fill(peer, 100)
    tag = peer.consume("q", "mine")
    found = peer.take()
    assert tag == "mine"
    assert [content.body for content in found] == [b"%d" % i for i in range(100)]
    assert tags(found) == list(range(1, 101))
    assert {(m.method.consumer_tag, m.method.redelivered, m.method.exchange, m.method.routing_key) for m in found} == {
        ("mine", False, "", "q")
    }


def test_messages_are_pushed_as_they_come(peer):
    # G14
    peer.declare("q")
    peer.consume("q", no_ack=True)
    for i in range(3):
        peer.publish("", "q", b"%d" % i)
        assert peer.bodies() == [b"%d" % i]


@pytest.mark.parametrize("size", [0, 1, 4_088, 4_089, 131_064, 131_065, 400_000])
def test_contents_of_any_size_arrive_whole(peer, size):
    # G13: method, header, and no, one or many bodies
    content = bytes(i & 0xFF for i in range(size))
    peer.declare("q")
    peer.publish("", "q", content)
    assert peer.get("q").body == content


def test_frames_are_cut_to_what_the_reader_negotiated(world, peer):
    small = world.connect(frame_octets_max=4_096)
    content = bytes(range(256)) * 100
    peer.declare("q")
    peer.publish("", "q", content)
    assert small.get("q").body == content  # FakePeer refuses larger frames
    small.publish("", "q", content)
    assert peer.get("q").body == content


def test_ready_and_unacknowledged_are_counted_apart(world, peer):
    # F40, F41: declare-ok counts what is ready
    fill(peer, 3)
    peer.call(Basic.Qos(prefetch_count=2))
    peer.consume("q")
    assert counts(world) == (1, 2)
    assert world.vhost.queues["q"].messages == 3
    peer.take()
    declared = peer.declare("q", passive=True)
    assert (declared.message_count, declared.consumer_count) == (1, 1)


def test_ack_settles_one(world, peer):
    # F38, G16: ack has no reply
    fill(peer, 3)
    peer.consume("q")
    peer.take()
    peer.send(Basic.Ack(2))
    assert peer.take() == []
    assert counts(world) == (0, 2)


def test_multiple_settles_all_up_to_the_tag(world, peer):
    # G17
    fill(peer, 10)
    peer.consume("q")
    peer.take()
    peer.send(Basic.Ack(3))
    peer.send(Basic.Ack(7, multiple=True))
    assert counts(world) == (0, 3)
    peer.send(Basic.Ack(0, multiple=True))
    assert counts(world) == (0, 0)


@pytest.mark.parametrize(
    "method",
    [
        Basic.Ack(5),
        Basic.Ack(5, multiple=True),
        Basic.Nack(5),
        Basic.Nack(5, multiple=True),
        Basic.Reject(5),
    ],
)
def test_an_unknown_tag_is_406(peer, method):
    # G16
    assert peer.error(method) == (406, "PRECONDITION_FAILED - unknown delivery tag 5")


def test_a_tag_acked_twice_is_unknown(peer):
    # G16
    fill(peer, 2)
    peer.consume("q")
    peer.take()
    peer.send(Basic.Ack(1))
    peer.send(Basic.Ack(1))
    close = peer.take()[0]
    assert isinstance(close, Channel.Close)
    assert close.reply_text == "PRECONDITION_FAILED - unknown delivery tag 1"


def test_zero_alone_is_no_tag(peer):
    assert peer.error(Basic.Ack(0)) == (406, "PRECONDITION_FAILED - unknown delivery tag 0")


def test_tags_are_the_channels_own(world, peer):
    fill(peer, 2)
    peer.open(2)
    peer.consume("q")
    peer.take()
    assert peer.error(Basic.Ack(1), channel=2)[0] == 406
    assert counts(world) == (0, 2)


def test_automatic_acknowledgement_settles_at_once(world, peer):
    # F38, G19
    fill(peer, 5)
    peer.consume("q", no_ack=True)
    assert len(peer.take()) == 5
    assert counts(world) == (0, 0)


def test_get_takes_one_and_counts_the_rest(world, peer):
    # F38, G20
    fill(peer, 2)
    first = peer.get("q", no_ack=False)
    assert (first.body, first.method.delivery_tag, first.method.message_count) == (b"0", 1, 1)
    assert (first.method.redelivered, first.method.routing_key) == (False, "q")
    assert counts(world) == (1, 1)
    peer.send(Basic.Ack(1))
    assert counts(world) == (1, 0)


def test_get_from_an_empty_queue_answers_at_once(peer):
    # G20: the document has it wait
    peer.declare("q")
    assert isinstance(peer.get("q"), Basic.GetEmpty)


def test_a_consumer_may_be_cancelled(world, peer):
    peer.declare("q")
    tag = peer.consume("q")
    assert tag.startswith("amq.ctag-")
    assert peer.call(Basic.Cancel(tag)).consumer_tag == tag
    peer.publish("", "q", b"x")
    assert peer.take() == []
    assert counts(world) == (1, 0)


def test_what_a_cancelled_consumer_has_can_still_be_acked(world, peer):
    fill(peer, 1)
    tag = peer.consume("q")
    peer.take()
    peer.call(Basic.Cancel(tag))
    assert counts(world) == (0, 1)
    peer.send(Basic.Ack(1))
    assert counts(world) == (0, 0)


def test_cancelling_what_is_not_there_is_answered(peer):
    assert peer.call(Basic.Cancel("nosuch")).consumer_tag == "nosuch"


def test_several_consumers_on_one_channel(peer):
    # G25
    peer.declare("a")
    peer.declare("b")
    peer.consume("a", "of a", no_ack=True)
    peer.consume("b", "of b", no_ack=True)
    peer.publish("", "a", b"1")
    peer.publish("", "b", b"2")
    assert [(m.method.consumer_tag, m.body) for m in peer.take()] == [("of a", b"1"), ("of b", b"2")]


def test_a_tag_in_use_is_530(peer):
    # G25
    peer.declare("q")
    peer.consume("q", "t")
    error = peer.error(Basic.Consume(queue="q", consumer_tag="t"))
    assert error == (530, "NOT_ALLOWED - attempt to reuse consumer tag 't'")


def test_the_same_tag_on_two_channels_is_fine(peer):
    peer.declare("q")
    peer.open(2)
    peer.consume("q", "t")
    assert peer.consume("q", "t", channel=2) == "t"


def test_consumers_of_a_queue_take_turns(peer):
    # F18
    peer.declare("q")
    for number in (2, 3, 4):
        peer.open(number)
        peer.consume("q", channel=number, no_ack=True)
    for i in range(9):
        peer.publish("", "q", b"%d" % i)
    found = [peer.bodies(number) for number in (2, 3, 4)]
    assert found == [[b"0", b"3", b"6"], [b"1", b"4", b"7"], [b"2", b"5", b"8"]]


def test_a_backlog_is_dealt_evenly(peer):
    # F18
    fill(peer, 90)
    for number in (2, 3, 4):
        peer.open(number)
        peer.call(Basic.Qos(prefetch_count=30), number)
    frames = Basic.Consume(queue="q", nowait=True)
    for number in (2, 3, 4):
        peer.send(frames, channel=number)
    found = [peer.bodies(number) for number in (2, 3, 4)]
    assert [len(bodies) for bodies in found] == [30, 30, 30]
    assert all(bodies == sorted(bodies, key=int) for bodies in found)


def test_only_those_below_their_prefetch_are_considered(peer):
    # F18
    peer.declare("q")
    for number in (2, 3):
        peer.open(number)
    peer.call(Basic.Qos(prefetch_count=1), 2)
    peer.consume("q", channel=2)
    peer.consume("q", channel=3)
    for i in range(4):
        peer.publish("", "q", b"%d" % i)
    assert (peer.bodies(2), peer.bodies(3)) == ([b"0"], [b"1", b"2", b"3"])


def test_higher_priority_is_served_first(peer):
    # F18
    peer.declare("q")
    for number, priority in ((2, 0), (3, 10), (4, -5)):
        peer.open(number)
        peer.call(Basic.Qos(prefetch_count=1), number)
        peer.consume("q", channel=number, arguments={"x-priority": priority})
    for i in range(4):
        peer.publish("", "q", b"%d" % i)
    assert [peer.bodies(number) for number in (3, 2, 4)] == [[b"0"], [b"1"], [b"2"]]


def test_publishing_and_consuming_fans_out(peer):
    # G2: each bound queue has its own copy, G1: each copy goes to one consumer
    for queue in ("a", "b"):
        peer.declare(queue)
        peer.call(Queue.Bind(queue=queue, exchange="amq.fanout"))
    peer.publish("amq.fanout", "", b"m")
    assert [m.body for m in peer.drain("a")] == [b"m"]
    assert [m.body for m in peer.drain("b")] == [b"m"]


def test_no_local_is_kept_in_exclusive_queues(world, peer):
    # G21
    peer.declare("mine", exclusive=True)
    peer.call(Queue.Bind(queue="mine", exchange="amq.fanout"))
    peer.consume("mine", no_local=True, no_ack=True)
    peer.publish("amq.fanout", "", b"own")
    other = world.connect()
    other.publish("amq.fanout", "", b"others")
    assert peer.bodies() == [b"others"]


def test_no_local_is_ignored_elsewhere(peer):
    # G21: as in RabbitMQ
    peer.declare("q")
    peer.consume("q", no_local=True, no_ack=True)
    peer.publish("", "q", b"own")
    assert peer.bodies() == [b"own"]


def test_flow_pauses_deliveries_of_its_channel(peer):
    peer.declare("q")
    peer.consume("q", no_ack=True)
    assert peer.call(Channel.Flow(False)).active is False
    peer.publish("", "q", b"x")
    assert peer.take() == []
    peer.send(Channel.Flow(True))
    reply, content = peer.take()
    assert (reply.active, content.body) == (True, b"x")


def test_a_pause_can_be_refused_as_rabbitmq_does():
    # amqp.flow = refuse
    peer = World(refuse_flow=True).connect()
    assert peer.call(Channel.Flow(True)).active is True
    assert peer.error(Channel.Flow(False)) == (540, "NOT_IMPLEMENTED - active=false")


def test_replies_come_in_the_order_of_the_calls(peer):
    # G8: pipelined methods are answered in order
    peer.send(Queue.Declare(queue="q"), Basic.Qos(prefetch_count=1), Queue.Purge(queue="q"), Basic.Get(queue="q"))
    expected = [Queue.DeclareOk, Basic.QosOk, Queue.PurgeOk, Basic.GetEmpty]
    assert [type(reply) for reply in peer.take()] == expected


def test_g21_no_local_ends_with_its_last_consumer(world, peer):
    peer.declare("mine", exclusive=True)
    one, other = (peer.consume("mine", no_local=True) for _ in range(2))
    peer.call(Basic.Cancel(one))
    peer.publish("", "mine", b"refused")
    peer.call(Basic.Cancel(other))
    peer.publish("", "mine", b"taken")
    assert [message.body for message in peer.drain("mine")] == [b"taken"]
