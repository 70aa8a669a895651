"""Contents are read back while everything else goes on: the story of a queue whose disk takes as long as it likes."""

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pybroker.core.events.cause import BROKER
from pybroker.run import RunAttributes
from tests.core.disk_log import DiskBench, evicted_seqs, shrink
from tests.readers import seqs


@pytest.fixture(autouse=True)
def small(monkeypatch):
    shrink(monkeypatch)


class OverlapMachine(RuleBasedStateMachine):
    """Reads take as long as they like, and everything else goes on: nothing is lost, doubled or out of order."""

    @initialize(
        length=st.none() | st.none() | st.integers(3, 25),
        ttl_ms=st.none() | st.none() | st.sampled_from([50, 100_000]),
        priority=st.sampled_from([0, 0, 2]),
        dead_letters=st.booleans(),
    )
    def begin(self, length, ttl_ms, priority, dead_letters):
        arguments = {
            "x_max_length": length,
            "x_message_ttl": ttl_ms,
            "x_max_priority": priority or None,
            "x_dead_letter_exchange": "nowhere" if dead_letters else None,
        }
        self.bench = DiskBench(**{key: value for key, value in arguments.items() if value is not None})
        self.plain = length is None and ttl_ms is None
        self.ordered = not priority
        self.readers = []
        self.gone = []
        self.got: list[int] = []
        self.gets = self.answered = 0

    @rule(
        counts=st.lists(st.integers(1, 9), min_size=1, max_size=4),
        size=st.integers(0, 9),
        persistent=st.sampled_from([True, True, True, False]),
        priority=st.sampled_from([0, 0, 1, 2]),
    )
    def publish(self, counts, size, persistent, priority):
        for count in counts:
            attributes = RunAttributes(persistent=persistent, priority=priority)
            self.bench.publish(*[b"x" * (size + i % 2) for i in range(count)], attributes=attributes)

    @rule()
    def complete(self):
        self.bench.log.complete(self.bench.broker)

    @rule()
    def turn(self):
        self.bench.turn()

    @rule(first=st.booleans())
    def answer(self, first):
        if not first:
            self.bench.log.fetches.rotate(1)
        self.bench.log.answer()

    @rule(ms=st.sampled_from([1, 60]))
    def wait(self, ms):
        self.bench.advance(ms)

    @precondition(lambda self: len(self.readers) < 3)
    @rule(prefetch=st.sampled_from([0, 1, 3, 8]), no_ack=st.booleans())
    def subscribe(self, prefetch, no_ack):
        self.readers.append(
            self.bench.reader(f"c{len(self.readers) + len(self.gone)}", prefetch=prefetch, no_ack=no_ack)
        )

    @precondition(lambda self: self.readers)
    @rule(at=st.integers(0, 2))
    def leave(self, at):
        reader = self.readers.pop(at % len(self.readers))
        self.bench.queue.consumers.remove(reader)
        self.gone.append(reader)
        self.bench.queue.consumer_left(BROKER)

    @precondition(lambda self: self.readers or self.gone)
    @rule(at=st.integers(0, 5), count=st.integers(1, 9), how=st.sampled_from(["ack", "ack", "requeue", "reject"]))
    def settle(self, at, count, how):
        reader = (self.readers + self.gone)[at % len(self.readers + self.gone)]
        oldest = next(reader.channel.unacked.oldest_first(1), None)
        if oldest is None:
            return
        batches = reader.channel.unacked.pop_range(oldest.first_tag, oldest.first_tag + count - 1)
        if how == "ack":
            reader.channel.settle(batches)
        else:
            reader.channel.give_back(batches, requeue=how == "requeue")

    @rule()
    def get(self):
        self.gets += 1

        def take():
            self.answered += 1
            entry = self.bench.queue.get(no_ack=True)
            if entry is not None:
                self.got.append(entry.first_seq)

        if self.bench.queue.wait_for_head(take):
            take()

    @rule(really=st.sampled_from([False, False, False, True]))
    def purge(self, really):
        if really:
            self.plain = False
            self.bench.queue.purge()

    @rule(data=st.data(), really=st.sampled_from([False, False, False, True]))
    def lose(self, data, really):
        found = evicted_seqs(self.bench)
        if found and really:
            self.bench.log.unreadable.add(data.draw(st.sampled_from(found)))

    @invariant()
    def counts_agree(self):
        if not hasattr(self, "bench"):
            return
        queue = self.bench.queue
        resident = [entry for level in queue.backlog.levels for entry in level]
        found = evicted_seqs(self.bench)
        assert queue.backlog.messages_evicted == len(found)
        assert (
            queue.messages_ready
            == sum(map(len, resident)) + len(found)
            == sum(level.count for level in queue.backlog.levels)
        )
        assert queue.backlog.octets_ready == sum(entry.body_octets for entry in resident) + queue.backlog.octets_evicted
        assert found == [] or self.bench.log.safe_seq > max(found)

    @invariant()
    def the_log_has_what_is_anywhere(self):
        if not hasattr(self, "bench") or len(self.bench.broker.purge_task) or len(self.bench.broker.dead_letters):
            return
        held = [entry for level in self.bench.queue.backlog.levels for entry in level]
        held += [batch for reader in self.readers + self.gone for batch in reader.channel.unacked]
        expected = {*seqs([one for one in held if one.run.attributes.persistent]), *evicted_seqs(self.bench)}
        live = self.bench.log.live[self.bench.queue.id]
        assert expected <= live <= expected | self.bench.log.unreadable

    def teardown(self):
        if not hasattr(self, "bench"):
            return
        bench = self.bench
        bench.settle_down()
        assert self.gets == self.answered
        assert not bench.queue.waiting
        for reader in self.readers:
            bench.queue.consumers.remove(reader)
        for reader in self.readers + self.gone:
            reader.channel.give_back(reader.channel.unacked.pop_up_to(0) or [], requeue=True)
        last = bench.reader("last")
        bench.settle_down()
        last.channel.settle(last.channel.unacked.pop_up_to(0) or [])
        assert (0, 0, 0, 0) == (
            bench.queue.messages,
            bench.queue.backlog.octets_ready,
            bench.queue.backlog.messages_evicted,
            len(bench.log.fetches),
        )
        assert bench.log.live[bench.queue.id] <= bench.log.unreadable
        readers = [*self.readers, *self.gone, last]
        seen = {seq for reader in readers for seq in reader.seqs} | set(self.got)
        if self.plain:
            assert set(range(1, bench.log.next_seq)) - bench.log.unreadable <= seen
        if self.ordered:
            for reader in readers:
                fresh = [seq for seq in reader.seqs if seq not in reader.redelivered]
                assert sorted(set(fresh)) == fresh


QUICK = settings(max_examples=40, stateful_step_count=40, deadline=None)


def test_whatever_goes_on_while_it_is_read_nothing_is_lost_or_doubled():
    run_state_machine_as_test(OverlapMachine, settings=QUICK)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_whatever_goes_on_while_it_is_read_in_five_thousand_stories():
    run_state_machine_as_test(OverlapMachine, settings=settings(QUICK, max_examples=5_000, stateful_step_count=60))
