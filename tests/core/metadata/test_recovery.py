"""Messages that outlive the process return to their queues, with the delivery counts that are on record."""

from array import array

from pybroker.core.channel.unacked import Batch
from pybroker.core.metadata import recovery
from pybroker.seq_ranges import SeqRanges
from pybroker.store.recovery.recovery import Recovered
from tests.fakes import Basic, World
from tests.store.records import listed, rows_from


def seq_ranges_of(first, count):
    made = SeqRanges()
    made.add(first, count, 3)
    return made


def queues(world):
    peer = world.connect()
    peer.declare("q", durable=True)
    peer.declare("limited", {"x-queue-type": "quorum", "x-delivery-limit": 2}, durable=True)
    peer.declare("t")
    return recovery.durable_queues(world.broker)


def test_transient_queues_have_nothing_to_expect():
    assert ["q", "limited"] == [queue.name for queue in queues(World()).values()]


def test_after_a_kill_all_may_have_been_delivered_but_no_more_deliveries_count_than_are_known():
    world = World()
    known = queues(world)
    ids = list(known)
    found = Recovered(returned=rows_from([(ids[1], 4, 4, 2)]))
    found.queues = {ids[0]: [(0, False, seq_ranges_of(1, 2))], ids[1]: [(0, False, seq_ranges_of(3, 3))]}
    assert 5 == recovery.restore(known, found)
    assert (2, 3) == tuple(queue.messages_ready for queue in known.values())
    expected = [(ids[0], 1, 2, 0), (ids[1], 3, 3, 0), (ids[1], 4, 4, 2), (ids[1], 5, 5, 0)]
    assert expected == listed(recovery.delivered(world.broker))


def test_after_a_clean_stop_it_is_as_it_was():
    world = World()
    known = queues(world)
    first = next(iter(known))
    found = Recovered(clean=True, returned=rows_from([(first, 2, 2, 5)]))
    found.queues = {first: [(0, False, seq_ranges_of(1, 3))]}
    recovery.restore(known, found)
    assert [(first, 2, 2, 5)] == listed(recovery.delivered(world.broker))


def test_messages_in_memory_are_told_of_too_if_they_are_persistent():
    world = World()
    known = queues(world)
    peer = world.connect()
    for mode in (2, 1, 2):
        peer.publish("", "q", b"x", delivery_mode=mode)
    for _ in range(3):
        peer.send(Basic.Get(queue="q"))
    tags = [each.method.delivery_tag for each in peer.take()]
    peer.send(Basic.Nack(tags[-1], multiple=True, requeue=True))
    first = next(iter(known))
    seqs = array("Q", [seq for _, seq, _, _ in listed(recovery.delivered(world.broker))])
    assert 2 == len(seqs)
    assert {first} == {queue_id for queue_id, *_ in listed(recovery.delivered(world.broker))}


def test_seqs_that_follow_one_another_are_told_of_at_once_whatever_the_sizes_of_their_bodies():
    world = World()
    known = queues(world)
    first = next(iter(known))
    seq_ranges = SeqRanges()
    for seq in range(1, 100):
        seq_ranges.add(seq, 1, seq % 7)
    found = Recovered()
    found.queues = {first: [(0, False, seq_ranges)]}
    recovery.restore(known, found)
    assert [(first, 1, 99, 0)] == listed(recovery.delivered(world.broker))


def test_what_was_rejected_and_waits_for_its_dead_letter_exchange_was_delivered_too():
    world = World()
    peer = world.connect()
    peer.declare("d", {"x-dead-letter-exchange": "nowhere"}, durable=True)
    peer.publish("", "d", b"x", delivery_mode=2)
    queue = world.broker.vhosts["/"].queues["d"]
    entry = queue.get(no_ack=False)
    queue.reject([Batch(1, queue, None, entry.run, entry.indexes, 0, 0)])
    assert [(queue.id, entry.first_seq, entry.first_seq, 1)] == listed(recovery.delivered(world.broker))
    world.run()
    assert [] == listed(recovery.delivered(world.broker))
