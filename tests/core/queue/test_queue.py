"""The queue itself: counts, get, settle, give back, reject, purge, packing, and the consumers that come and go."""

import pytest
from hypothesis import given, strategies as st

from pybroker.core.events.cause import BROKER
from pybroker.core.policy.limits import QueueLimits
from pybroker.core.queue.queue import BUSY_MS, PACK_BEHIND_MESSAGES
from pybroker.run import Entry, RunAttributes
from tests.readers import Bench, Reader


def counts(bench: Bench) -> tuple[int, int]:
    return bench.queue.messages_ready, bench.queue.messages_unacknowledged


def give_back(reader: Reader, upto: int = 0, *, requeue: bool = True) -> None:
    reader.channel.give_back(reader.channel.unacked.pop_up_to(upto) or [], requeue=requeue)


# -- get --------------------------------------------------------------------------------------------------------------


def test_get_takes_the_head_one_at_a_time():
    bench = Bench()
    bench.publish(b"a", b"bb")
    first = bench.queue.get(no_ack=False)
    assert first is not None
    assert (1, (1, 1), 2) == (first.first_seq, counts(bench), bench.queue.backlog.octets_ready)
    second = bench.queue.get(no_ack=True)
    assert second is not None
    assert (2, (0, 1), 0) == (second.first_seq, counts(bench), bench.queue.backlog.octets_ready)
    assert bench.queue.get(no_ack=True) is None
    assert 2 == bench.queue.got


def test_get_begins_with_the_highest_level():
    bench = Bench(x_max_priority=9)
    bench.flood(1)
    bench.flood(1, RunAttributes(priority=4))
    found = [bench.queue.get(no_ack=True) for _ in range(2)]
    assert [2, 1] == [entry.first_seq for entry in found if entry is not None]


# -- back and gone ----------------------------------------------------------------------------------------------------


@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=12),
    parts=st.lists(st.sampled_from(["ack", "requeue", "reject"]), min_size=12, max_size=12),
)
def test_f15_counts_and_octets_follow_the_messages(sizes, parts):
    bench = Bench()
    bench.publish(*[b"x" * size for size in sizes])
    reader = bench.reader()
    bench.turn()
    bench.queue.consumers.remove(reader)
    channel = reader.channel
    for tag, what in zip(range(1, len(sizes) + 1), parts, strict=False):
        batch = channel.unacked.pop(tag)
        assert batch is not None
        if what == "ack":
            channel.settle([batch])
        else:
            channel.give_back([batch], requeue=what == "requeue")
    back = [seq for seq, what in zip(range(1, len(sizes) + 1), parts, strict=False) if what == "requeue"]
    assert back == bench.ready()
    assert (0, 0) == (bench.queue.messages_unacknowledged, bench.queue.backlog.octets_unacknowledged)
    assert parts[: len(sizes)].count("ack") == bench.queue.acked
    assert (0, 0) == (reader.unacked, channel.unacked_consumed)


def test_f15_strides_of_several_consumers_come_back_to_their_places():
    bench = Bench()
    bench.flood(9)
    readers = [bench.reader(str(i), prefetch=3) for i in range(3)]
    bench.turn()
    bench.flood(2)
    for reader in readers:
        bench.queue.consumers.remove(reader)
    for reader in (readers[1], readers[2], readers[0]):
        give_back(reader)
    assert list(range(1, 12)) == bench.ready()
    entry = bench.queue.get(no_ack=True)
    assert entry is not None
    assert (1, 1, 1) == (entry.first_seq, entry.deliveries, bench.queue.redelivered)


def test_a_returned_message_goes_to_who_waits_for_one():
    bench = Bench()
    a, b = bench.reader("a", prefetch=1), bench.reader("b", prefetch=1)
    bench.flood(2)
    bench.turn()
    bench.queue.consumers.remove(a)
    give_back(a)
    assert [1] == bench.ready()
    batch = b.channel.unacked.pop(1)
    assert batch is not None
    b.channel.settle([batch])
    bench.turn()
    assert ([2, 1], [1]) == (b.seqs, b.redelivered)


def test_over_the_delivery_limit_it_goes():
    bench = Bench(x_queue_type="quorum", x_delivery_limit=2)
    reader = bench.reader()
    bench.flood(1)
    for expected in (1, 2, 3):
        bench.turn()
        assert expected == len(reader.seqs)
        give_back(reader)
    bench.turn()
    assert (3, (0, 0)) == (len(reader.seqs), counts(bench))


def test_a_rejected_message_is_gone():
    bench = Bench()
    reader = bench.reader()
    bench.flood(3)
    bench.turn()
    give_back(reader, 2, requeue=False)
    assert (0, 1) == counts(bench)


# -- purge, delete ----------------------------------------------------------------------------------------------------


def test_purge_takes_what_is_ready_on_every_level_and_nothing_else():
    bench = Bench(x_max_priority=3)
    bench.flood(4)
    reader = bench.reader(prefetch=1)
    bench.turn()
    bench.flood(2, RunAttributes(priority=3))
    assert 5 == bench.queue.purge()
    assert ((0, 1), 0) == (counts(bench), bench.queue.backlog.octets_ready)
    give_back(reader)
    assert [1] == bench.ready()


def test_what_comes_back_to_a_deleted_queue_is_gone():
    bench = Bench(x_dead_letter_exchange="amq.fanout")
    reader = bench.reader(prefetch=2)
    bench.flood(4)
    bench.turn()
    assert 2 == bench.vhost.delete_queue(bench.queue)
    assert 1 == reader.told
    give_back(reader, 1)
    give_back(reader, requeue=False)
    assert (0, 0, 0) == (bench.queue.messages_ready, bench.queue.backlog.octets_ready, len(bench.broker.dead_letters))
    assert 0 == bench.vhost.delete_queue(bench.queue)


def test_f25_auto_delete_follows_the_last_consumer():
    bench = Bench()
    bench.queue.auto_delete = True
    a, b = bench.reader("a"), bench.reader("b")
    bench.queue.consumers.remove(a)
    bench.queue.consumer_left(BROKER)
    assert not bench.queue.deleted
    bench.queue.consumers.remove(b)
    bench.queue.consumer_left(BROKER)
    assert bench.queue.deleted


# -- packing ----------------------------------------------------------------------------------------------------------


def test_a_backlog_is_packed_behind_its_head_and_delivered_unchanged():
    bench = Bench()
    expected = []
    for i in range(PACK_BEHIND_MESSAGES // 64 + 8):
        bodies = [b"%d.%d" % (i, k) for k in range(64)]
        bench.publish(*bodies)
        expected += bodies
    packed = [entry.run.contents is None for entry in bench.queue.backlog.levels[0].ready]
    assert 8 == sum(packed)
    assert not packed[-1]
    octets = sum(map(len, expected))
    assert octets == bench.queue.backlog.octets_ready
    assert expected == bench.bodies()
    reader = bench.reader()
    bench.turn()
    assert list(range(1, len(expected) + 1)) == reader.seqs
    assert octets == bench.queue.backlog.octets_unacknowledged


def test_a_run_that_may_still_grow_is_not_packed():
    bench = Bench()
    bench.flood(PACK_BEHIND_MESSAGES)
    run = bench.publish(b"a", b"b")
    assert run.contents is not None
    run.extend([b"c"], 1, 0, 0)
    bench.flood(1)
    assert run.contents is None


# -- limits, levels ---------------------------------------------------------------------------------------------------


def test_f35_levels_are_made_when_first_used_and_above_the_maximum_is_the_maximum():
    bench = Bench(x_max_priority=5)
    assert [0] == [level.priority for level in bench.queue.backlog.levels]
    for priority in (3, 200, 0, 1, 5):
        bench.flood(1, RunAttributes(priority=priority))
    assert [5, 3, 1, 0] == [level.priority for level in bench.queue.backlog.levels]
    assert [2, 5, 1, 4, 3] == bench.ready()


def test_without_the_argument_a_priority_means_nothing():
    bench = Bench()
    for priority in (0, 9, 3):
        bench.flood(1, RunAttributes(priority=priority))
    assert [1, 2, 3] == bench.ready()


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (QueueLimits(), (False, False, False)),
        (QueueLimits(length_max=3), (True, False, False)),
        (QueueLimits(message_ttl_ms=3), (True, False, False)),
        (QueueLimits(message_ttl_ms=0), (True, False, True)),
        (QueueLimits(length_max=3, overflow=1), (True, True, False)),
        (QueueLimits(octets_max=3), (True, False, False)),
        (QueueLimits(octets_max=3, overflow=2), (True, True, True)),
        (QueueLimits(overflow=1), (False, False, False)),
    ],
)
def test_what_the_hot_path_asks_is_answered_when_limits_are_set(limits, expected):
    queue = Bench().queue
    queue.set_limits(limits)
    assert expected == (queue.bounded, queue.rejecting, queue.one_by_one)


def test_no_local_keeps_its_own_messages_out():
    bench = Bench()
    bench.queue.refused_origin = 7
    run = bench.flood(1)
    assert [1] == bench.ready()
    run.origin = 7
    bench.queue.enqueue(run, range(1), None)  # type: ignore[arg-type]
    assert [1] == bench.ready()


# -- share ------------------------------------------------------------------------------------------------------------


def test_a_queue_is_backlogged_while_its_consumers_work_and_are_behind():
    bench = Bench()
    bench.flood(3_000)
    assert not bench.queue.backlogged  # nobody consumes
    bench.reader(prefetch=1)
    bench.turn()
    assert bench.queue.backlogged
    bench.broker.clock.advance(BUSY_MS)
    assert not bench.queue.backlogged  # stuck rather than busy


def test_few_messages_of_many_octets_are_a_backlog_too():
    bench = Bench()
    bench.publish(*[b"x" * 200_000] * 8)
    bench.reader(prefetch=1)
    bench.turn()
    assert bench.queue.backlogged


def test_a_wake_is_asked_for_once_a_turn():
    bench = Bench()
    bench.reader(prefetch=1)
    for _ in range(5):
        bench.flood(1)
    assert [bench.queue] == list(bench.broker.turn.queues)
    assert bench.broker.turn.woken


def test_messages_are_ready_and_unacknowledged_together():
    bench = Bench()
    bench.flood(5)
    bench.reader(prefetch=2)
    bench.turn()
    assert (5, 3, 2, "running", True) == (
        bench.queue.messages,
        *counts(bench),
        bench.queue.state,
        bench.queue.in_use,
    )


def test_the_head_is_what_leaves_next():
    bench = Bench(x_max_priority=2)
    assert bench.queue.backlog.head() is None
    bench.flood(1)
    bench.flood(1, RunAttributes(priority=2))
    head = bench.queue.backlog.head()
    assert isinstance(head, Entry)
    assert 2 == head.first_seq
