"""Memory is short: contents go to pages and come back, and nobody can tell the difference (C1, F21)."""

import errno

import pytest
from disk_log import PERSISTENT, DiskBench, DiskLog
from fakes import World
from hypothesis import settings, strategies as st
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test
from paged import Pages, shrink
from readers import run_of, seqs
from test_away_model import LIMITS, PATTERNS, AwayMachine
from test_queue_model import QUICK
from topology import queue as make_queue

from pybroker.core import paging
from pybroker.core.publish import NO_RECEIPT
from pybroker.core.queue import behind
from pybroker.core.queue.behind import Away
from pybroker.run import PLAIN_TRAITS, Traits

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


class PagingMachine(AwayMachine):
    """The same stories while memory is short, in a durable queue and in a transient one."""

    durable = False
    written = read = 0

    def new_world(self):
        return PagedWorld()

    @initialize(limits=LIMITS, pattern=st.sampled_from(sorted(PATTERNS)), always=st.booleans(), hold=st.booleans())
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
                self.world.broker.alarms[paging.DISK_ALARM] = "the disk is short"
        pages.hold = hold
        pages.short()
        self.world.run()
        self.world.broker.alarms.clear()
        pages.disk.power.next_failures.clear()
        self.turn()

    @invariant()
    def pages_have_what_is_away(self):
        if not hasattr(self, "queue"):
            return
        live = {}
        for level in self.queue.levels:
            for part in level.behind.all_parts() if level.behind is not None else ():
                if isinstance(part, Away) and part.page is not None:
                    live[part.page] = live.get(part.page, 0) + part.stretch.count
        log = self.world.pages.log
        if log.writing is None and not self.world.broker.remains:
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


@pytest.fixture
def small(monkeypatch):
    shrink(monkeypatch)


@pytest.mark.parametrize("machine", [PagingMachine, DurablePagingMachine])
def test_a_queue_that_is_paged_out_does_what_a_list_of_messages_would(small, machine):
    PagingMachine.written = PagingMachine.read = 0
    run_state_machine_as_test(machine, settings=settings(QUICK, max_examples=30))
    assert PagingMachine.written > 40
    assert PagingMachine.read > 20


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("machine", [PagingMachine, DurablePagingMachine])
def test_a_queue_that_is_paged_out_does_the_same_in_two_thousand_stories(small, machine):
    run_state_machine_as_test(machine, settings=settings(QUICK, max_examples=2_000, stateful_step_count=50))


# -- what goes, and when ----------------------------------------------------------------------------------------------


class PagedBench(DiskBench):
    """A queue with pages; memory is short when `page` says so."""

    def __init__(self, *, durable=True, **arguments) -> None:
        super().__init__(**arguments)
        self.queue.durable = durable
        self.pages = Pages(self.broker)

    def page(self) -> None:
        """Be short of memory for a tick, and let everything come to its end."""
        self.pages.short()
        self.rest()

    def rest(self) -> None:
        self.turn()
        while self.pages.step() or self.log.answer() or self.log.complete(self.broker):
            self.turn()


def paged_seqs(bench) -> list[int]:
    """Return the seqs in pages, in all levels."""
    parts = [part for level in bench.queue.levels if level.behind is not None for part in level.behind.all_parts()]
    stretches = [part.stretch for part in parts if isinstance(part, Away) and part.page is not None and not part.found]
    return [first + i for stretch in stretches for first, count, _ in stretch.ranges() for i in range(count)]


def test_nothing_goes_below_the_threshold():
    bench = PagedBench(durable=False)
    bench.fill(10_000, traits=PLAIN_TRAITS)
    limit = bench.broker.settings.watermarks.memory_limit_octets
    bench.broker.paging.tick(limit // 2)
    bench.rest()
    assert 0 == bench.queue.messages_away
    bench.broker.paging.tick(limit // 2 + 1)
    bench.rest()
    assert bench.queue.messages_away > 0


def test_all_but_the_head_window_and_what_may_grow_goes_a_share_a_tick_from_the_tail():
    bench = PagedBench(durable=False)
    size = 100_000
    bench.fill(300, size, traits=PLAIN_TRAITS)
    bench.page()
    gone = paged_seqs(bench)
    assert gone == list(range(gone[0], 300))
    assert len(gone) == -(-paging.TICK_OCTETS // (size + 600))
    for _ in range(5):
        bench.page()
    window = -(-behind.WINDOW_OCTETS // size)
    assert paged_seqs(bench) == list(range(window + 1, 300))
    assert bench.queue.octets_away == size * bench.queue.messages_away
    files = bench.pages.disk.files.values()
    assert bench.pages.log.octets == sum(len(file.seen) for file in files) > bench.queue.octets_away
    bench.page()
    assert len(files) == bench.pages.log.pages


def test_a_small_queue_gives_nothing():
    bench = PagedBench(durable=False)
    bench.fill(behind.WINDOW_MESSAGES, traits=PLAIN_TRAITS)
    bench.page()
    assert 0 == bench.queue.messages_away


def test_the_queue_with_most_in_memory_gives_first():
    bench = PagedBench(durable=False)
    larger = make_queue(bench.vhost, "larger")
    bench.fill(50, 100_000, traits=PLAIN_TRAITS)
    for _ in range(100):
        run = run_of([b"x" * 100_000], bench.log.take(1), PLAIN_TRAITS, bench.now_ms)
        larger.enqueue(run, range(1), NO_RECEIPT)
    bench.page()
    assert 0 == bench.queue.messages_away < larger.messages_away
    bench.page()
    assert 0 < bench.queue.messages_away < larger.messages_away


def test_what_several_queues_have_is_written_once():
    bench = PagedBench(durable=False)
    others = [make_queue(bench.vhost, name) for name in "ab"]
    for _ in range(80):
        run = run_of([b"x" * 100_000], bench.log.take(1), PLAIN_TRAITS, bench.now_ms)
        for queue in (bench.queue, *others):
            queue.enqueue(run, range(1), NO_RECEIPT)
    for _ in range(4):
        bench.page()
    away = bench.queue.messages_away
    assert [away, away] == [queue.messages_away for queue in others]
    assert 60 < away
    assert bench.pages.log.octets < 100_100 * away
    bench.queue.purge()
    others[0].purge()
    bench.rest()
    assert bench.pages.log.octets > 100_000 * away
    others[1].purge()
    bench.rest()
    assert ({}, 0) == (bench.pages.disk.files, bench.pages.log.octets)


@pytest.mark.parametrize("durable", [True, False])
def test_persistent_messages_of_a_transient_queue_are_paged_those_of_a_durable_one_are_in_the_log(small, durable):
    bench = PagedBench(durable=durable)
    for _ in range(30):
        bench.publish(b"x" * 10)
    bench.log.complete(bench.broker)
    bench.page()
    assert bench.queue.messages_away > 20
    assert bool(paged_seqs(bench)) is not durable
    reader = bench.reader()
    bench.rest()
    assert reader.seqs == list(range(1, 31))
    assert all(batch.run.traits == PERSISTENT for batch in reader.channel.unacked)


def test_a_full_disk_stops_it_with_one_warning_and_nothing_is_lost(small, caplog):
    bench = PagedBench(durable=False)
    bench.fill(30, traits=PLAIN_TRAITS)
    bench.pages.disk.power.capacity = 100
    bench.page()
    bench.page()
    assert (0, {}) == (bench.queue.messages_away, bench.pages.disk.files)
    warned = [record.message for record in caplog.records if "paged out" in record.message]
    assert 1 == len(warned)
    assert "No space left on device" in warned[0]
    bench.pages.disk.power.capacity = 1 << 40
    bench.page()
    assert bench.queue.messages_away > 0
    reader = bench.reader()
    bench.rest()
    assert reader.seqs == list(range(1, 31))
    assert ({}, 0, 0) == (bench.pages.disk.files, bench.pages.log.pages, bench.pages.log.octets)


def test_it_uses_no_room_that_is_to_stay_free(small):
    bench = PagedBench(durable=False)
    bench.fill(30, traits=PLAIN_TRAITS)
    bench.broker.settings.watermarks.set_disk_octets(1_000)
    bench.pages.disk.power.capacity = 1_050
    bench.page()
    assert (0, {}) == (bench.queue.messages_away, bench.pages.disk.files)


def test_c5_only_what_is_in_the_log_goes_while_the_disk_is_short(small):
    bench = PagedBench()
    for _ in range(10):
        bench.publish(b"x" * 10)
        bench.publish(b"x" * 10, traits=PLAIN_TRAITS)
    bench.log.complete(bench.broker)
    bench.broker.alarms[paging.DISK_ALARM] = "the disk is short"
    bench.page()
    assert 0 < bench.queue.messages_away < 10
    assert [] == paged_seqs(bench)
    bench.broker.alarms.clear()
    bench.page()
    assert all(seq % 2 == 0 for seq in paged_seqs(bench))
    assert len(paged_seqs(bench)) > 5


def test_what_is_taken_while_its_page_is_written_is_not_away(small):
    bench = PagedBench(durable=False)
    bench.fill(30, traits=PLAIN_TRAITS)
    bench.pages.hold = True
    bench.page()
    reader = bench.reader()
    bench.turn()
    assert reader.seqs == list(range(1, 31))
    bench.pages.hold = False
    bench.rest()
    assert (0, 0, {}) == (bench.queue.messages_away, bench.pages.log.pages, bench.pages.disk.files)


@pytest.mark.parametrize("hold", [True, False])
def test_a_purge_gives_the_disk_back(small, hold):
    bench = PagedBench(durable=False)
    bench.fill(30, traits=PLAIN_TRAITS)
    bench.pages.hold = hold
    bench.page()
    assert 30 == bench.queue.purge()
    bench.pages.hold = False
    bench.rest()
    assert (0, 0, {}) == (bench.queue.messages_away, bench.pages.log.pages, bench.pages.disk.files)


def test_a_purge_while_messages_are_read_back_gives_the_disk_back(small):
    bench = PagedBench(durable=False)
    bench.fill(30, traits=PLAIN_TRAITS)
    bench.page()
    reader = bench.reader()
    bench.turn()
    assert len(reader.seqs) < 30
    bench.queue.purge()
    bench.rest()
    assert (0, 0, {}) == (bench.queue.messages_away, bench.pages.log.pages, bench.pages.disk.files)


def test_heads_that_are_dropped_unseen_give_the_disk_back(small):
    bench = PagedBench(durable=False, x_max_length=40)
    bench.fill(40, traits=PLAIN_TRAITS)
    for _ in range(3):
        bench.page()
    bench.fill(80, traits=PLAIN_TRAITS)
    bench.rest()
    assert 40 == bench.queue.messages_ready
    assert seqs(bench.queue.levels[0]) == list(range(81, 121))
    assert (80, 0, {}) == (bench.queue.dropped, bench.queue.messages_away, bench.pages.disk.files)


def test_what_expired_on_disk_expires_when_it_comes_and_gives_the_disk_back(small):
    bench = PagedBench(durable=False)
    bench.fill(20, traits=Traits(ttl_ms=100))
    bench.page()
    assert bench.queue.messages_away > 10
    bench.advance(100)
    bench.rest()
    assert (0, 20, {}) == (bench.queue.messages_ready, bench.queue.expired, bench.pages.disk.files)


def test_a_message_that_cannot_be_read_is_counted_and_the_others_come(small):
    bench = PagedBench(durable=False)
    bench.fill(30, size=10, traits=PLAIN_TRAITS)
    bench.page()
    name = min(bench.pages.disk.files)
    bench.pages.disk.flip(name, 8 * len(bench.pages.disk.files[name].seen) - 1)
    reader = bench.reader()
    bench.rest()
    assert 1 == bench.queue.unreadable == 30 - len(reader.seqs)
    assert reader.seqs == sorted(reader.seqs)
    assert ({}, 0, 0) == (bench.pages.disk.files, bench.queue.messages_ready, bench.queue.octets_ready)
    assert "cannot be read" in bench.pages.unreadable[0]
