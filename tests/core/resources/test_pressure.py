"""Memory is short: contents go to pages and come back, and nobody can tell the difference (C1, F21)."""

import errno

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.channel.throttle import QueueCause
from pybroker.core.queue.paging import segments
from pybroker.core.queue.paging.segments import EvictedSegment
from pybroker.core.resources import pressure
from pybroker.core.resources.alarm import DISK
from pybroker.run import PLAIN_ATTRIBUTES
from tests.core.disk_log import DiskLog
from tests.core.paged import PagedBench, Pages, paged_seqs, shrink
from tests.core.test_eviction_model import LIMITS, PATTERNS, EvictionMachine
from tests.core.test_queue_model import QUICK
from tests.fakes import World
from tests.readers import Peer, run_of
from tests.topology import queue as make_queue

# -- against the naive twin -------------------------------------------------------------------------------------------


class PagedWorld(World):
    """The log and the pages are done with when the loop has come to rest, but for what is held.

    Memory is short at every rest, if not `always`, then only when a story says so.
    """

    always = False

    def __init__(self):
        super().__init__()
        self.broker.log = DiskLog()
        self.pages = Pages(self.broker)

    def run(self):
        log = self.broker.log
        if self.always:
            self.pages.short()
        super().run()
        while self.pages.step() or log.answer() or log.complete(self.broker):
            super().run()


class PagingMachine(EvictionMachine):
    """The same stories while memory is short, in a durable queue and in a transient one."""

    durable = False
    written = read = 0

    def new_world(self):
        return PagedWorld()

    @initialize(
        limits=LIMITS,
        pattern=st.sampled_from(sorted(PATTERNS.keys() - {"all"})),
        always=st.sampled_from([True, True, True, False]),
        hold=st.booleans(),
    )
    def begin(self, limits, pattern, always=False, hold=False):
        super().begin(limits, pattern)
        self.world.always = always
        self.world.pages.hold = hold

    @rule(hold=st.booleans(), fails=st.sampled_from([False, False, False, True]), full=st.booleans())
    def page(self, hold, fails, full):
        """Be short of memory for a tick, whose page may take its time, or not find room."""
        pages = self.world.pages
        if fails:
            pages.disk.fail_next("write_at", errno.ENOSPC)
            if full:
                self.world.broker.alarms.set(DISK, "the disk is short")
        pages.hold = hold
        pages.short()
        self.world.run()
        self.world.broker.alarms.clear(DISK)
        pages.disk.power.next_failures.clear()
        self.turn()

    @invariant()
    def pages_have_what_is_evicted(self):
        if not hasattr(self, "queue"):
            return
        live = {}
        for level in self.queue.backlog.levels:
            for part in level.segments.all_parts() if level.segments is not None else ():
                if isinstance(part, EvictedSegment) and part.page is not None:
                    live[part.page] = live.get(part.page, 0) + part.seq_ranges.count
        log = self.world.pages.log
        if log.writing is None and not self.world.broker.purge_task:
            assert all(page.live == count for page, count in live.items())
            assert log.pages == len(live) == len(self.world.pages.disk.files)
            assert log.octets == sum(page.octets for page in live)
        assert not self.world.pages.unreadable

    @invariant()
    def the_log_has_what_the_queue_has(self):
        if hasattr(self, "queue") and self.queue.durable:
            super().the_log_has_what_the_queue_has()

    def teardown(self):
        if hasattr(self, "world"):
            PagingMachine.written += self.world.pages.written
            PagingMachine.read += self.world.pages.read


class DurablePagingMachine(PagingMachine):
    durable = True


# Chance may have it that a round of stories pages too little out to prove something.
ROUNDS_MAX = 6


@pytest.fixture
def small(monkeypatch):
    shrink(monkeypatch)


@pytest.mark.parametrize("machine", [PagingMachine, DurablePagingMachine])
def test_a_queue_that_is_paged_out_does_what_a_list_of_messages_would(small, machine):
    PagingMachine.written = PagingMachine.read = 0
    for _ in range(ROUNDS_MAX):
        run_state_machine_as_test(machine, settings=settings(QUICK, max_examples=15, stateful_step_count=50))
        if PagingMachine.written > 5:
            return
    pytest.fail(f"the stories had only {PagingMachine.written} pages written: they prove little")


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("machine", [PagingMachine, DurablePagingMachine])
def test_a_queue_that_is_paged_out_does_the_same_in_two_thousand_stories(small, machine):
    run_state_machine_as_test(machine, settings=settings(QUICK, max_examples=2_000, stateful_step_count=50))


# -- what goes, and when -----------------------------------------------------------------------------------------------


def test_nothing_goes_below_the_threshold():
    bench = PagedBench(durable=False)
    bench.fill(10_000, attributes=PLAIN_ATTRIBUTES)
    limit = bench.broker.settings.watermarks.memory_limit_octets
    bench.broker.paging.tick(limit // 2)
    bench.rest()
    assert 0 == bench.queue.backlog.messages_evicted
    bench.broker.paging.tick(limit // 2 + 1)
    bench.rest()
    assert bench.queue.backlog.messages_evicted > 0


def test_all_but_the_head_window_and_what_may_grow_goes_a_share_a_tick_from_the_tail():
    bench = PagedBench(durable=False)
    size = 100_000
    bench.fill(300, size, attributes=PLAIN_ATTRIBUTES)
    bench.page()
    gone = paged_seqs(bench)
    assert gone == list(range(gone[0], 300))
    assert len(gone) == -(-pressure.TICK_OCTETS // (size + 600))
    for _ in range(5):
        bench.page()
    window = -(-segments.WINDOW_OCTETS // size)
    assert paged_seqs(bench) == list(range(window + 1, 300))
    assert bench.queue.backlog.octets_evicted == size * bench.queue.backlog.messages_evicted
    files = bench.pages.disk.files.values()
    assert bench.pages.log.octets == sum(len(file.seen) for file in files) > bench.queue.backlog.octets_evicted
    bench.page()
    assert len(files) == bench.pages.log.pages


def test_a_small_queue_gives_nothing():
    bench = PagedBench(durable=False)
    bench.fill(segments.WINDOW_MESSAGES, attributes=PLAIN_ATTRIBUTES)
    bench.page()
    assert 0 == bench.queue.backlog.messages_evicted


def test_the_queue_with_most_in_memory_gives_first():
    bench = PagedBench(durable=False)
    larger = make_queue(bench.vhost, "larger")
    bench.fill(50, 100_000, attributes=PLAIN_ATTRIBUTES)
    for _ in range(100):
        run = run_of([b"x" * 100_000], bench.log.take(1), PLAIN_ATTRIBUTES, bench.now_ms)
        larger.enqueue(run, range(1), NO_RECEIPT)
    bench.page()
    assert 0 == bench.queue.backlog.messages_evicted < larger.backlog.messages_evicted
    bench.page()
    assert 0 < bench.queue.backlog.messages_evicted < larger.backlog.messages_evicted


def test_a_full_disk_stops_it_with_one_warning_and_nothing_is_lost(small, caplog):
    bench = PagedBench(durable=False)
    bench.fill(30, attributes=PLAIN_ATTRIBUTES)
    bench.pages.disk.power.capacity = 100
    bench.page()
    bench.page()
    assert (0, {}) == (bench.queue.backlog.messages_evicted, bench.pages.disk.files)
    warned = [record.message for record in caplog.records if "paging is suspended" in record.message]
    assert 1 == len(warned)
    assert "No space left on device" in warned[0]
    bench.pages.disk.power.capacity = 1 << 40
    bench.page()
    assert bench.queue.backlog.messages_evicted > 0
    reader = bench.reader()
    bench.rest()
    assert reader.seqs == list(range(1, 31))
    assert ({}, 0, 0) == (bench.pages.disk.files, bench.pages.log.pages, bench.pages.log.octets)


def test_it_uses_no_room_that_is_to_stay_free(small):
    bench = PagedBench(durable=False)
    bench.fill(30, attributes=PLAIN_ATTRIBUTES)
    bench.broker.settings.watermarks.set_disk_octets(1_000)
    bench.pages.disk.power.capacity = 1_050
    bench.page()
    assert (0, {}) == (bench.queue.backlog.messages_evicted, bench.pages.disk.files)


def test_c5_only_what_is_in_the_log_goes_while_the_disk_is_short(small):
    bench = PagedBench()
    for _ in range(10):
        bench.publish(b"x" * 10)
        bench.publish(b"x" * 10, attributes=PLAIN_ATTRIBUTES)
    bench.log.complete(bench.broker)
    bench.broker.alarms.set(DISK, "the disk is short")
    bench.page()
    assert 0 < bench.queue.backlog.messages_evicted < 10
    assert [] == paged_seqs(bench)
    bench.broker.alarms.clear(DISK)
    bench.page()
    assert all(seq % 2 == 0 for seq in paged_seqs(bench))
    assert len(paged_seqs(bench)) > 5


@pytest.fixture
def pressed(monkeypatch):
    """A queue with more in memory than must stay, and memory short."""
    shrink(monkeypatch)
    for name, octets in {"INFLOW_OCTETS_MIN": 1_000, "PUBLISHER_OCTETS_MIN": 100}.items():
        monkeypatch.setattr(pressure, name, octets)
    bench = PagedBench(durable=False)
    bench.fill(600, 100, attributes=PLAIN_ATTRIBUTES)
    bench.pages.short()
    return bench


def test_e1_while_memory_is_short_no_more_comes_in_than_goes_out(pressed):
    session, charge = Peer(pressed.queue.vhost), pressed.broker.paging.charge
    assert pressed.broker.paging.pressing
    charge(session, [pressed.queue], pressure.TICK_OCTETS)
    assert session.readable
    charge(session, [pressed.queue], 1)
    assert not session.readable
    throttle = session.throttle
    assert ("flow", repr(pressed.queue), [QueueCause("/", pressed.queue.name)]) == (
        throttle.last_by,
        throttle.last_cause,
        list(throttle.causes),
    )
    pressed.pages.short()
    assert session.readable
    charge(session, [pressed.queue], pressure.TICK_OCTETS - 1)
    assert session.readable
    charge(session, [pressed.queue], 1)
    assert not session.readable


def test_what_somebody_sent_too_much_counts_in_the_next_ticks(pressed):
    session, charge = Peer(pressed.queue.vhost), pressed.broker.paging.charge
    charge(session, [pressed.queue], 3 * pressure.TICK_OCTETS + 1)
    read = []
    for _ in range(3):
        pressed.pages.short()
        read.append(session.readable)
    assert [False, False, True] == read


def test_publishers_share_what_may_come_in(pressed):
    first, second = Peer(pressed.queue.vhost), Peer(pressed.queue.vhost)
    for session in (first, second):
        pressed.broker.paging.charge(session, [pressed.queue], 1)
    pressed.pages.short()
    pressed.broker.paging.charge(first, [pressed.queue], pressure.TICK_OCTETS // 2)
    pressed.broker.paging.charge(second, [pressed.queue], pressure.TICK_OCTETS // 2 + 1)
    assert (True, False) == (first.readable, second.readable)


def test_who_publishes_where_there_is_no_backlog_is_read(pressed):
    session, empty = Peer(pressed.queue.vhost), make_queue(pressed.queue.vhost, "empty")
    pressed.broker.paging.charge(session, [empty], 10 * pressure.TICK_OCTETS)
    assert session.readable
    pressed.broker.paging.charge(session, [empty, pressed.queue], 1)
    assert [QueueCause("/", pressed.queue.name)] == list(session.throttle.causes)


def test_with_memory_again_they_are_read_and_nobody_counts(pressed):
    session = Peer(pressed.queue.vhost)
    pressed.broker.paging.charge(session, [pressed.queue], 10 * pressure.TICK_OCTETS)
    pressed.broker.paging.tick(0)
    assert (True, False) == (session.readable, pressed.broker.paging.pressing)


def test_while_the_disk_is_at_work_only_as_much_comes_in_as_it_took(pressed):
    pressed.pages.hold = True
    pressed.turn()
    pressed.pages.short()  # the last tick's page is not written yet
    assert 1_000 <= pressed.broker.paging._part_octets <= pressure.TICK_OCTETS
    session = Peer(pressed.queue.vhost)
    pressed.broker.paging.charge(session, [pressed.queue], pressure.TICK_OCTETS + 1)
    assert not session.readable


def test_c4_with_a_ratio_above_one_nothing_is_paged_and_nobody_is_slowed():
    bench = PagedBench()
    bench.broker.settings.watermarks.paging_ratio = 1.5
    bench.pages.short()
    assert not bench.broker.paging.pressing


def test_a_stream_gives_nothing_and_is_told_by_what_it_holds():
    world = World()
    peer = world.connect()
    peer.declare("s", durable=True, arguments={"x-queue-type": "stream"})
    stream = world.vhost.queues["s"]
    for _ in range(3_000):
        peer.publish("", "s", b"x" * 1_000)
    world.run()
    world.broker.paging.tick(1 << 60)
    world.run()
    assert stream.messages == 3_000
    assert world.broker.paging.octets_in_memory(stream) == stream.memory_octets
