"""Contents that leave the memory and come back: when, how much, and what happens meanwhile."""

import pytest

from pybroker.core.queue import queue
from pybroker.core.queue.paging import eviction, segments
from pybroker.core.queue.paging.segments import WINDOW_MESSAGES, WINDOW_OCTETS
from pybroker.run import PLAIN_ATTRIBUTES, RunAttributes
from tests.core.disk_log import PERSISTENT, DiskBench, evicted_seqs, on_disk, parts_of, shrink
from tests.readers import seqs


@pytest.fixture
def small(monkeypatch):
    shrink(monkeypatch)


@pytest.fixture
def handy(monkeypatch):
    """Make windows what they are to one another, but small: window 64, resident 320, read 128."""
    monkeypatch.setattr(segments, "WINDOW_MESSAGES", 64)
    monkeypatch.setattr(eviction, "RESIDENT_MESSAGES", 320)
    monkeypatch.setattr(eviction, "FETCH_MESSAGES", 128)
    monkeypatch.setattr(queue, "PACK_BEHIND_MESSAGES", 128)


# -- what goes --------------------------------------------------------------------------------------------------------


def test_a_window_stays_and_what_lies_behind_it_goes():
    bench = DiskBench()
    bench.fill(eviction.RESIDENT_MESSAGES + 100)
    queue = bench.queue
    assert WINDOW_MESSAGES == queue.messages_ready - queue.backlog.messages_evicted
    assert list(range(WINDOW_MESSAGES + 1, eviction.RESIDENT_MESSAGES + 101)) == evicted_seqs(bench)
    assert (1, 1) == (len(parts_of(bench)), len(parts_of(bench)[0].seq_ranges))
    assert queue.backlog.octets_ready == queue.messages_ready


def test_large_bodies_go_by_their_octets():
    bench = DiskBench()
    bench.fill(60, size=100_000)
    assert -(-WINDOW_OCTETS // 100_000) == bench.queue.messages_ready - bench.queue.backlog.messages_evicted
    assert bench.queue.backlog.octets_evicted == 100_000 * bench.queue.backlog.messages_evicted


def test_a_small_backlog_stays():
    bench = DiskBench()
    bench.fill(eviction.RESIDENT_MESSAGES)
    assert (0, None) == (bench.queue.backlog.messages_evicted, bench.queue.backlog.levels[0].segments)


def test_nothing_goes_before_the_log_has_it_and_everything_when_it_does(small):
    bench = DiskBench()
    for _ in range(20):
        bench.publish(b"x")
    bench.turn()
    assert 0 == bench.queue.backlog.messages_evicted
    bench.log.complete(bench.broker)
    bench.turn()
    assert 18 == bench.queue.backlog.messages_evicted


def test_nothing_goes_from_a_queue_that_is_not_durable_nor_without_a_disk(small):
    bench = DiskBench()
    bench.queue.durable = bench.queue.backlog.durable = False
    bench.fill(20)
    assert 0 == bench.queue.backlog.messages_evicted
    bench = DiskBench()
    bench.log.safe_seq = 0
    for _ in range(20):
        bench.publish(b"x")
    assert bench.queue.backlog.levels[0].segments is None


def test_transient_messages_stay_between_those_that_go(small):
    bench = DiskBench()
    for _ in range(5):
        bench.fill(3)
        bench.fill(1, attributes=PLAIN_ATTRIBUTES)
    bench.fill(9)
    reader = bench.reader()
    assert {4, 8, 12, 16, 20}.isdisjoint(evicted_seqs(bench))
    assert len(evicted_seqs(bench)) > 10
    bench.settle_down()
    assert list(range(1, 30)) == reader.seqs


def test_messages_of_different_sizes_are_counted_to_the_octet(small):
    bench = DiskBench()
    sizes = [1, 2, 3, 3, 3, 3, 3, 9, 0, 0, 0, 0, 0, 7]
    bench.publish(*[b"x" * 4] * 3)
    for _ in range(4):
        bench.publish(*[b"x" * size for size in sizes])
    bench.log.complete(bench.broker)
    bench.turn()
    assert bench.queue.backlog.octets_ready == 12 + 4 * sum(sizes)
    assert bench.queue.backlog.octets_evicted >= 3 * sum(sizes)
    reader = bench.reader()
    bench.settle_down()
    assert (0, 0, 59) == (bench.queue.backlog.octets_ready, bench.queue.backlog.octets_evicted, len(reader.seqs))


def test_those_of_one_size_are_one_element_and_those_of_any_one_each():
    seq_ranges = eviction.SeqRanges()
    eviction._add_sizes(seq_ranges, 1, [5] * 900 + [6] * 100)
    assert 2 == len(seq_ranges)
    eviction._add_sizes(seq_ranges, 1_001, [7, 8, 8, 9])
    assert [(1, 900, 5), (901, 100, 6), (1001, 1, 7), (1002, 1, 8), (1003, 1, 8), (1004, 1, 9)] == list(
        seq_ranges.ranges()
    )


def test_what_came_back_and_goes_again_keeps_its_deliveries(small):
    bench = DiskBench()
    reader = bench.reader(prefetch=30)
    bench.fill(30)
    bench.queue.consumers.remove(reader)
    reader.channel.give_back(reader.channel.unacked.pop_up_to(0) or [], requeue=True)
    # Returned ones stay; what is published then goes.
    bench.fill(9)
    assert min(evicted_seqs(bench)) > 30
    assert 30 == len(seqs(bench.queue.backlog.levels[0].returned))


def test_no_level_is_measured_again_and_again_for_nothing(handy):
    # The excess is of another level, and cannot be evicted.
    bench = DiskBench(x_max_priority=1)
    bench.fill(500, attributes=PLAIN_ATTRIBUTES)
    urgent = RunAttributes(persistent=True, priority=1)
    bench.fill(40, attributes=urgent)
    level = bench.queue.backlog.levels[0]
    measured_at = level.tried_at
    bench.fill(5, attributes=urgent)
    assert (measured_at, None) == (level.tried_at, level.segments)


# -- and comes back ---------------------------------------------------------------------------------------------------


def test_nothing_is_read_for_nobody(small):
    bench = DiskBench()
    bench.fill(50)
    bench.advance(1_000)
    bench.settle_down()
    assert 0 == bench.log.asked


def test_a_consumer_gets_everything_in_order(small):
    bench = DiskBench()
    bench.fill(50)
    reader = bench.reader()
    bench.settle_down()
    assert list(range(1, 51)) == reader.seqs
    assert (0, None, 0) == (bench.queue.messages_ready, bench.queue.backlog.levels[0].segments, len(bench.log.fetches))
    assert bench.queue.backlog.levels[0].tail is bench.queue.backlog.levels[0].ready


def test_a_consumer_without_credit_reads_no_further_than_a_window(handy):
    bench = DiskBench()
    bench.fill(1_000)
    bench.reader(prefetch=50)
    bench.settle_down()
    assert 128 == bench.log.asked


def test_where_messages_leave_fast_the_next_are_read_before_they_are_needed(handy):
    bench = DiskBench()
    bench.fill(1_500)
    reader = bench.reader(prefetch=90)
    bench.turn()
    waits = 0
    while len(reader.seqs) < 1_500:
        reader.channel.settle(reader.channel.unacked.pop_up_to(0))
        bench.turn()
        waits += bench.queue.backlog.head() is None and bench.queue.messages_ready > 0
        bench.log.answer()
        bench.turn()
    # But for the first ones, while it was not known yet how fast.
    assert waits <= 3
    assert list(range(1, 1_501)) == reader.seqs


def test_where_reads_come_too_late_more_is_read_at_a_time(handy):
    bench = DiskBench()
    bench.fill(3_000)
    reader = bench.reader()
    bench.turn()
    sizes = []
    while bench.log.fetches:
        sizes.append(len(bench.log.fetches[0][0]))
        bench.log.answer()
        bench.turn()
    assert [128, 128, 256, 512, 512] == sizes[:5]
    assert list(range(1, 3_001)) == reader.seqs


def test_one_read_at_a_time(small):
    bench = DiskBench()
    bench.fill(50)
    bench.reader()
    bench.turn()
    bench.reader("other")
    bench.turn()
    assert 1 == len(bench.log.fetches)


def test_transient_messages_between_do_not_make_it_a_read_for_each(handy):
    bench = DiskBench()
    for _ in range(900):
        bench.fill(1)
        bench.fill(1, attributes=PLAIN_ATTRIBUTES)
    reader = bench.reader()
    reads = 0
    bench.turn()
    while bench.log.answer():
        reads += 1
        bench.turn()
    assert list(range(1, 1_801)) == reader.seqs
    assert reads < 30


def test_what_is_published_meanwhile_comes_after(small):
    bench = DiskBench()
    bench.fill(20)
    reader = bench.reader()
    bench.turn()
    bench.fill(20)
    bench.settle_down()
    assert list(range(1, 41)) == reader.seqs


def test_a_purge_while_it_is_read(small):
    bench = DiskBench()
    bench.fill(20)
    reader = bench.reader()
    bench.turn()
    assert 1 == len(bench.log.fetches)
    given = len(reader.seqs)
    assert 20 - given == bench.queue.purge()
    bench.fill(5)
    bench.settle_down()
    assert [*range(1, given + 1), *range(21, 26)] == reader.seqs
    reader.channel.settle(reader.channel.unacked.pop_up_to(0))
    assert not bench.log.live[bench.queue.id]


def test_a_deleted_queue_is_forgotten_by_the_log_once(small):
    bench = DiskBench()
    bench.fill(20)
    bench.reader(prefetch=3)
    bench.turn()
    queue = bench.queue
    bench.vhost.delete_queue(queue)
    bench.settle_down()
    assert ([queue.id], 0) == (bench.log.forgotten, len(bench.broker.purge_task))


def test_a_purged_backlog_is_settled_to_the_last(small, monkeypatch):
    monkeypatch.setattr("pybroker.core.queue.purge_task.TURN_ENTRIES_MAX", 2)
    bench = DiskBench()
    for seq in range(40):
        bench.fill(1, size=seq % 3, attributes=PERSISTENT if seq % 5 else PLAIN_ATTRIBUTES)
    assert 40 == bench.queue.purge()
    bench.settle_down()
    assert not bench.log.live[bench.queue.id]


def test_f32_a_full_queue_drops_heads_without_reading_them(small):
    bench = DiskBench(x_max_length=12)
    for _ in range(10):
        bench.fill(4)
    assert (12, 12, 28, 0) == (
        bench.queue.messages_ready,
        bench.queue.backlog.octets_ready,
        bench.queue.dropped,
        bench.log.asked,
    )
    assert set(range(29, 41)) == bench.log.live[bench.queue.id]
    reader = bench.reader()
    bench.settle_down()
    assert list(range(29, 41)) == reader.seqs


def test_f32_heads_that_are_on_their_way_back_are_dropped_when_they_are_here(small):
    bench = DiskBench(x_max_length=12)
    bench.fill(12)
    while bench.queue.backlog.head() is not None:
        bench.queue.get(no_ack=True)
    before = bench.queue.messages_ready
    assert 1 == len(bench.log.fetches)
    bench.fill(9)
    assert (before + 9, 0) == (bench.queue.messages_ready, bench.queue.dropped)
    bench.settle_down()
    assert (12, before - 3, 12) == (bench.queue.messages_ready, bench.queue.dropped, bench.queue.backlog.octets_ready)
    assert set(range(10, 22)) == bench.log.live[bench.queue.id]


def test_f32_dead_letters_are_read_first(small):
    bench = DiskBench(x_max_length=12, x_dead_letter_exchange="nowhere")
    bench.fill(12)
    for seq in range(13, 41):
        bench.fill(1)
        bench.settle_down()
        assert (12, seq - 12) == (bench.queue.messages_ready, bench.queue.dropped)
    assert bench.log.asked > 10
    assert set(range(29, 41)) == bench.log.live[bench.queue.id]


def test_f32_messages_expire_although_they_are_evicted(small):
    bench = DiskBench(x_message_ttl=100)
    bench.fill(30)
    bench.advance(50)
    bench.fill(10)
    bench.advance(50)
    bench.settle_down()
    assert (30, 10) == (bench.queue.expired, bench.queue.messages_ready)
    bench.advance(50)
    bench.settle_down()
    assert 40 == bench.queue.expired


@pytest.mark.parametrize("arguments", [{"x_message_ttl": 100}, {"x_max_length": 500, "x_message_ttl": 1_000}])
def test_a_backlog_that_dies_is_not_in_memory_all_at_once(handy, arguments):
    bench = DiskBench(x_dead_letter_exchange="nowhere", **arguments)
    bench.queue.restore([(0, False, on_disk(bench, range(1, 3_001)))], 0)
    most = 0
    bench.broker.clock.advance(arguments["x_message_ttl"] // 2)
    told = []
    bench.queue.wait_for_head(lambda: told.append(1)) or bench.broker.clock.advance(100)
    while bench.log.answer() or bench.broker.turn.queues:
        bench.broker.pump()
        most = max(most, len(bench.broker.dead_letters))
    gone = bench.queue.dropped + bench.queue.expired
    assert (gone, 3_000 - gone, [1]) == (gone, bench.queue.messages_ready, told)
    assert gone == (2_500 if "x_max_length" in arguments else 3_000)
    assert most <= 512


def test_what_cannot_be_read_is_missed_counted_told_and_not_settled(small, caplog):
    bench = DiskBench()
    bench.fill(20, size=3)
    lost = evicted_seqs(bench)[2:11:2]
    bench.log.unreadable = set(lost)
    reader = bench.reader()
    bench.settle_down()
    assert [seq for seq in range(1, 21) if seq not in lost] == reader.seqs
    assert (0, 0, 5) == (bench.queue.messages_ready, bench.queue.backlog.octets_ready, bench.queue.unreadable)
    reader.channel.settle(reader.channel.unacked.pop_up_to(0))
    assert set(lost) == bench.log.live[bench.queue.id]
    assert 1 == sum("continues without" in record.message for record in caplog.records)


def test_when_nothing_can_be_read_the_queue_comes_to_its_end(small):
    bench = DiskBench()
    bench.fill(20)
    bench.log.unreadable = set(evicted_seqs(bench))
    reader = bench.reader()
    bench.settle_down()
    assert ([1, 2], 18, 0) == (reader.seqs, bench.queue.unreadable, bench.queue.messages_ready)
    bench.fill(1)
    assert [1, 2, 21] == reader.seqs


def test_one_that_is_wanted_of_a_large_run_does_not_keep_the_others(small):
    bench = DiskBench()
    bench.fill(5)
    run = bench.publish(*[b"x"] * 100)
    bench.log.complete(bench.broker)
    bench.turn()
    assert run.count == 100
    reader = bench.reader(prefetch=6)
    bench.settle_down()
    batch = list(reader.channel.unacked)[-1]
    assert batch.run.count < 100


def test_the_first_message_shows_its_timestamp_once_it_is_back_and_no_other_is_read(handy):
    bench = DiskBench()
    bench.queue.restore([(0, False, on_disk(bench, range(1, 20)))], 0)
    assert (None, None) == (bench.queue.backlog.head(), bench.broker.ages.head_timestamp(bench.queue))
    bench.settle_down()
    assert (1, 1) == (bench.queue.backlog.head().first_seq, bench.log.asked)
    assert bench.broker.ages.head_timestamp(bench.queue) is None
    assert 1 == bench.log.asked


def test_what_is_written_and_read_is_counted(small):
    bench = DiskBench()
    bench.fill(20)
    bench.fill(5, attributes=PLAIN_ATTRIBUTES)
    backlog = bench.queue.backlog
    evicted = backlog.messages_evicted
    assert (0, 20) == (backlog.disk_reads, backlog.disk_writes)
    assert evicted
    bench.reader(no_ack=True)
    bench.settle_down()
    assert (evicted, 20) == (backlog.disk_reads, backlog.disk_writes)
