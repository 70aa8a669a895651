"""Requeue in shares: the result is that of a requeue in one go, and no consumer gets a message out of turn."""

import pytest
from hypothesis import given, settings, strategies as st
from pamqp import frame

from pybroker.amqp import channel
from pybroker.core.channel import requeue
from pybroker.core.channel.requeue import AT_ONCE_BATCHES, STEP_COST, give_back
from pybroker.core.topology import removal
from pybroker.core.topology.removal import FIRST_STEPS, TURN_STEPS
from pybroker.run import RunAttributes
from tests.fakes import Basic, Channel, Connection, Queue, World
from tests.readers import Bench, seqs

MANY = STEP_COST * (FIRST_STEPS + 2 * TURN_STEPS) + 1
FIRST = STEP_COST * FIRST_STEPS
TURN = STEP_COST * TURN_STEPS


@pytest.fixture
def message_by_message(monkeypatch):
    """Have one batch go back at once, and one in each turn."""
    for place in (requeue, channel):
        monkeypatch.setattr(place, "FEW_BATCHES", 0)
    monkeypatch.setattr(requeue, "AT_ONCE_BATCHES", 0)
    monkeypatch.setattr(requeue, "STEP_COST", 1)
    monkeypatch.setattr(removal, "FIRST_STEPS", 1)
    monkeypatch.setattr(removal, "TURN_STEPS", 1)


def apart(bench, count):
    """Publish messages that lie apart: each is a run of its own."""
    for _ in range(count):
        bench.flood(1)


def counts(bench):
    backlog = bench.queue.backlog
    return (
        (backlog.messages_ready, backlog.messages_unacknowledged),
        (backlog.octets_ready, backlog.octets_unacknowledged),
    )


# -- how much at a time -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("again", [True, False])
def test_very_much_goes_back_in_shares_and_is_counted_share_by_share(again):
    bench = Bench()
    reader = bench.reader()
    apart(bench, MANY)
    bench.turn()
    bench.queue.consumers.remove(reader)
    over = give_back(reader.channel.unacked.pop_up_to(0), requeue=again)
    found = [counts(bench)[0]]
    while not over.is_over:
        bench.broker.pump()
        found.append(counts(bench)[0])
    left = [MANY - FIRST, MANY - FIRST - TURN, 1, 0]
    assert [(MANY - count if again else 0, count) for count in left] == found
    assert (0, 0) == (bench.queue.returns, len(bench.broker.removals))


def test_what_is_little_goes_back_at_once():
    bench = Bench()
    reader = bench.reader()
    apart(bench, AT_ONCE_BATCHES)
    bench.turn()
    assert give_back(reader.channel.unacked.pop_up_to(0), requeue=True) is None
    assert ((AT_ONCE_BATCHES, 0), 0) == (counts(bench)[0], bench.queue.returns)


def test_messages_that_are_looked_at_one_by_one_count_for_more():
    bench = Bench()
    readers = [bench.reader(str(i)) for i in range(4)]
    bench.publish(*[b"x" * (i % 3) for i in range(4 * AT_ONCE_BATCHES * requeue.LOOK_MESSAGES)])
    bench.turn()
    for reader in readers:
        bench.queue.consumers.remove(reader)
    batches = [batch for reader in readers for batch in reader.channel.unacked.pop_up_to(0)]
    assert len(batches) < AT_ONCE_BATCHES
    assert requeue._cost(batches[0]) > STEP_COST // 2
    give_back(batches, requeue=True)
    while bench.queue.returns:
        bench.broker.pump()
    assert sorted(bench.ready()) == bench.ready()


def test_the_end_of_a_transaction_is_one_call():
    bench = Bench()
    reader = bench.reader()
    apart(bench, MANY)
    bench.turn()
    batches = reader.channel.unacked.pop_up_to(0)
    assert give_back(batches, requeue=True, at_once=True) is None
    assert (MANY, MANY) == (bench.queue.messages_ready, len(batches))


# -- the same end -----------------------------------------------------------------------------------------------------


def told(bench):
    level = [entry for level in bench.queue.backlog.levels for entry in level]
    return [(seq, entry.deliveries) for entry in level for seq in seqs([entry])], counts(bench)


STORY = st.tuples(st.integers(1, 9), st.sampled_from([RunAttributes(), RunAttributes(priority=1)]), st.booleans())


@given(st.lists(STORY, min_size=1, max_size=12), st.integers(1, 4), st.data())
@settings(deadline=None, max_examples=60)
def test_order_flags_and_counts_are_those_of_a_return_at_once(stories, readers, data):
    """`stories`: messages of a run, whether their sizes differ; then channels end in some order, some by parts."""
    order = data.draw(st.permutations(range(readers)))
    cuts = data.draw(st.lists(st.integers(0, 60), min_size=readers, max_size=readers))
    ends = []
    for step, first, at_once in ((1, 1, False), (3, 2, False), (1, 1, True)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(requeue, "FEW_BATCHES", 0)
            patch.setattr(requeue, "AT_ONCE_BATCHES", 0)
            patch.setattr(requeue, "STEP_COST", step)
            patch.setattr(removal, "FIRST_STEPS", first)
            patch.setattr(removal, "TURN_STEPS", first)
            bench = Bench(x_max_priority=1)
            mine = [bench.reader(str(i)) for i in range(readers)]
            for count, attributes, differ in stories:
                bench.publish(*[b"x" * (i if differ else 1) for i in range(count)], attributes=attributes)
                bench.turn()
            for reader in mine:
                bench.queue.consumers.remove(reader)
            for again in range(2):
                for i in order:
                    unacked = mine[i].channel.unacked
                    batches = unacked.pop_below(cuts[i]) if not again else unacked.pop_up_to(0)
                    give_back(batches or [], requeue=True, at_once=at_once)
            bench.turn()
            assert 0 == bench.queue.returns
            ends.append(told(bench))
    assert ends[0] == ends[1] == ends[2]


def test_what_follows_one_another_becomes_one_entry_again():
    bench = Bench()
    readers = [bench.reader(str(i), prefetch=1) for i in range(3)]
    bench.flood(3)
    bench.turn()
    for reader in readers:
        bench.queue.consumers.remove(reader)
    give_back([batch for reader in readers for batch in reader.channel.unacked.pop_up_to(0)], requeue=True)
    assert [3] == [len(entry) for entry in bench.queue.backlog.levels[0]]


# -- meanwhile --------------------------------------------------------------------------------------------------------


def left_by_one(bench, count):
    """Return the removal that brings back what a reader had of which one message is left ready."""
    reader = bench.reader()
    apart(bench, count)
    bench.turn()
    bench.queue.consumers.remove(reader)
    apart(bench, 1)
    return give_back(reader.channel.unacked.pop_up_to(0), requeue=True)


def test_nothing_is_dispatched_before_all_is_back(message_by_message):
    bench = Bench()
    over = left_by_one(bench, 5)
    other = bench.reader("other")
    elsewhere = Bench(bench.vhost, "elsewhere")
    beside = elsewhere.reader("beside")
    elsewhere.flood(1)
    while not over.is_over:
        assert [] == other.seqs
        bench.broker.pump()
    assert 1 == len(beside.seqs)
    bench.turn()
    assert ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5]) == (other.seqs, other.redelivered)


def test_the_next_active_consumer_begins_with_what_the_last_one_had(message_by_message):
    bench = Bench(x_single_active_consumer=True)
    first, heir = bench.reader("first", prefetch=4), bench.reader("heir")
    apart(bench, 6)
    bench.turn()
    bench.queue.consumers.remove(first)
    give_back(first.channel.unacked.pop_up_to(0), requeue=True)
    bench.turn()
    assert [1, 2, 3, 4, 5, 6] == heir.seqs


def test_a_get_waits_for_what_comes_first(message_by_message):
    bench = Bench()
    left_by_one(bench, 3)
    answers = []
    assert not bench.queue.wait_for_head(lambda: answers.append(seqs([bench.queue.get(no_ack=True)])))
    assert [] == answers
    bench.turn()
    assert [[1]] == answers


def test_limits_count_when_all_is_back(message_by_message):
    bench = Bench(x_max_length=2)
    over = left_by_one(bench, 5)
    apart(bench, 2)
    while not over.is_over:
        assert 0 == bench.queue.dropped
        bench.broker.pump()
    assert [7, 8] == bench.ready()


def test_nothing_expires_before_all_is_back(message_by_message):
    bench = Bench(x_message_ttl=100)
    over = left_by_one(bench, 3)
    bench.broker.clock.advance(200)
    bench.broker.timers.run(bench.now_ms)
    while not over.is_over:
        assert 0 == bench.queue.expired
        bench.broker.pump()
    bench.turn()
    assert (4, 0) == (bench.queue.expired, bench.queue.messages)


def test_a_purge_takes_what_is_ready_and_the_rest_comes_back(message_by_message):
    bench = Bench()
    left_by_one(bench, 5)
    assert (2, 4) == (bench.queue.purge(), bench.queue.messages_unacknowledged)
    bench.turn()
    assert ([2, 3, 4, 5], (4, 0)) == (bench.ready(), counts(bench)[0])


def test_a_queue_deleted_meanwhile_gets_nothing_back_and_answers(message_by_message):
    bench = Bench()
    left_by_one(bench, 5)
    answers = []
    bench.queue.wait_for_head(lambda: answers.append(bench.queue.deleted))
    bench.vhost.delete_queue(bench.queue)
    assert [True] == answers
    bench.turn()
    assert ((0, 0), (0, 0)) == counts(bench)


def test_two_that_end_hold_a_queue_until_both_are_done(message_by_message):
    bench = Bench()
    readers = [bench.reader(str(i), prefetch=i) for i in (2, 5)]
    apart(bench, 7)
    bench.turn()
    for reader in readers:
        bench.queue.consumers.remove(reader)
    ends = [give_back(reader.channel.unacked.pop_up_to(0), requeue=True) for reader in readers]
    third = bench.reader("third")
    while not ends[0].is_over or not ends[1].is_over:
        assert [] == third.seqs
        bench.broker.pump()
    bench.turn()
    assert [1, 2, 3, 4, 5, 6, 7] == third.seqs


def test_a_bug_in_one_share_lets_the_others_go_back(message_by_message, monkeypatch, caplog):
    bench = Bench()
    reader = bench.reader()
    apart(bench, 4)
    bench.turn()
    bench.queue.consumers.remove(reader)
    real, calls = type(bench.queue).give_back, []

    def broken(queue, batches, **more):
        calls.append(batches)
        if len(calls) == 2:
            raise ValueError("a bug")
        real(queue, batches, **more)

    monkeypatch.setattr(type(bench.queue), "give_back", broken)
    give_back(reader.channel.unacked.pop_up_to(0), requeue=True)
    bench.turn()
    assert ([1, 3, 4], 0) == (bench.ready(), bench.queue.returns)
    assert "internal error in settling or returning" in caplog.text


# -- what clients see -------------------------------------------------------------------------------------------------


@pytest.fixture
def held(message_by_message):
    """Return a world, and a peer with seven unacknowledged messages of queue q, of eight."""
    world = World()
    peer = world.connect()
    peer.declare("q")
    peer.call(Basic.Qos(prefetch_count=7))
    peer.consume("q", "c")
    for i in range(8):
        peer.publish("", "q", str(i).encode())
    assert 7 == len(peer.take())
    return world, peer


def test_the_next_method_of_whoever_rejects_finds_all_of_it_back(held):
    world, peer = held
    peer.call(Basic.Cancel("c"))
    peer.send(Basic.Nack(0, True, True), Queue.Declare(queue="q", passive=True), Basic.Get(queue="q"))
    declared, got = peer.take()
    assert (8, b"0", True) == (declared.message_count, got.body, got.method.redelivered)
    assert not world.broker.removals.going


def test_recovered_messages_come_in_order_behind_the_answer(held):
    _, peer = held
    peer.send(Basic.Recover(True))
    answer, *contents = peer.take()
    assert isinstance(answer, Basic.RecoverOk)
    assert [str(i).encode() for i in range(7)] == [content.body for content in contents]


def test_recover_is_answered_when_all_is_back(held, monkeypatch):
    world, peer = held
    peer.call(Basic.Cancel("c"))
    queue, send, told = world.vhost.queues["q"], channel.AmqpChannel.send, []

    def note(self, method):
        told.append((method.name, queue.messages_ready))
        send(self, method)

    monkeypatch.setattr(channel.AmqpChannel, "send", note)
    peer.send(Basic.Recover(True))
    assert [("Basic.RecoverOk", 8)] == told


def test_a_channel_that_ends_meanwhile_is_not_answered(held):
    world, peer = held
    peer.call(Basic.Cancel("c"))
    recover, other = world.connect(), world.vhost.queues["q"]
    recover.consume("q", "d")
    peer.send(Basic.Recover(True), Channel.Close(200, "", 0, 0))
    assert ["Basic.RecoverOk", "Channel.CloseOk"] == [method.name for method in peer.take()]
    assert 8 == other.messages_ready + other.messages_unacknowledged


def test_a_channel_is_closed_when_all_is_back(held):
    world, peer = held
    other = world.connect()
    assert isinstance(peer.call(Channel.Close(200, "", 0, 0)), Channel.CloseOk)
    assert 8 == other.declare("q", passive=True).message_count
    assert isinstance(peer.call(Channel.Open()), Channel.OpenOk)


def test_a_connection_is_closed_when_all_is_back(held):
    world, peer = held
    peer.send(Connection.Close(200, "", 0, 0), channel=0)
    assert 8 == world.vhost.queues["q"].messages_ready
    assert isinstance(peer.take(0)[-1], Connection.CloseOk)


def test_a_stop_waits_for_no_turn(held):
    world, peer = held
    peer.session.peer_gone("gone")
    assert 1 == world.vhost.queues["q"].returns
    world.broker.removals.finish()
    assert (8, 0) == (world.vhost.queues["q"].messages_ready, world.vhost.queues["q"].returns)


def test_consumers_of_rejected_messages_get_the_dead_letters_place(held):
    _, peer = held
    peer.send(Basic.Nack(0, True, False))
    assert [b"7"] == peer.bodies()


def test_what_follows_very_many_acknowledgements_comes_after_all_of_them(held):
    world, peer = held
    peer.send(Basic.Ack(0, True), Queue.Declare(queue="q", passive=True))
    assert 0 == world.vhost.queues["q"].messages_unacknowledged - 1
    found = peer.take()
    assert [b"7"] == [each.body for each in found if not isinstance(each, Queue.DeclareOk)]
    assert (7, 1) == (world.broker.totals.total("acked"), world.vhost.queues["q"].messages)


def test_acknowledgements_go_on_when_the_connection_is_gone(held):
    world, peer = held
    peer.send_octets(frame.marshal(Basic.Ack(0, True), 1))
    assert (1, False) == (world.broker.totals.total("acked"), peer.session.readable)
    peer.disconnect()
    assert (7, [1, 0]) == (world.broker.totals.total("acked"), counts_of(world.vhost.queues["q"]))


def counts_of(queue):
    return [queue.messages_ready, queue.messages_unacknowledged]
