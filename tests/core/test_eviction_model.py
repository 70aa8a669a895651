"""A durable queue whose contents go to disk and come back against the same naive twin: nobody can tell the difference.

The windows are tiny, so that almost everything is away at some time; what is read comes back a turn later.
"""

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

from pybroker.core.queue.paging.segments import EvictedSegment
from tests.core.disk_log import DiskLog, shrink
from tests.core.queue_model import Limits
from tests.core.test_queue_model import QUICK, READERS, QueueMachine
from tests.fakes import World

LIMITS = st.one_of(
    st.builds(Limits, priority_max=st.sampled_from([0, 0, 3]), single_active=st.booleans()),
    st.builds(
        Limits,
        length=st.none() | st.integers(5, 30),
        octets=st.none() | st.integers(50, 300),
        overflow=st.sampled_from(["drop-head", "drop-head", "reject-publish", "reject-publish-dlx"]),
        ttl_ms=st.none() | st.sampled_from([50, 100, 100_000]),
        priority_max=st.sampled_from([0, 0, 3]),
        dead_letters=st.booleans(),
    ),
    st.builds(Limits, length=st.none() | st.integers(5, 30), delivery_limit=st.integers(0, 3)),
)
# Whether a message is persistent, by its number.
PATTERNS = {"all": (True,), "most": (True, True, True, False), "runs": (True, True, False, False), "few": (False, True)}


class DiskWorld(World):
    """The log completes what it has, and answers, when the loop has come to rest."""

    def __init__(self):
        super().__init__()
        self.broker.log = DiskLog()

    def run(self):
        log = self.broker.log
        super().run()
        while log.answer() or log.complete(self.broker):
            super().run()


class EvictionMachine(QueueMachine):
    """The same stories."""

    durable = True
    pattern = PATTERNS["all"]
    seen = 0  # messages read back, in all stories

    def new_world(self):
        return DiskWorld()

    def told(self, reason):
        """Do not tell apart what was too old and too much at once: it depends on when the head was back."""
        return "old or too much" if reason in ("expired", "maxlen") else reason

    def attributes_of(self, number):
        return {"delivery_mode": 2} if self.pattern[number % len(self.pattern)] else {}

    @initialize(limits=LIMITS, pattern=st.sampled_from(sorted(PATTERNS)))
    def begin(self, limits, pattern):
        self.pattern = PATTERNS[pattern]
        super().begin(limits)

    @rule(
        counts=st.lists(st.integers(3, 12), min_size=1, max_size=4),
        padding=st.lists(st.integers(0, 20), min_size=1, max_size=3),
        priority=st.none() | st.integers(0, 5),
        at_once=st.booleans(),
    )
    def flood(self, counts, padding, priority, at_once):
        """Publish while nobody may take it."""
        self.flow(READERS, active=False)
        for count in counts:
            self.publish(count, padding, priority, None, at_once)

    @invariant()
    def what_is_evicted_is_counted(self):
        if not hasattr(self, "queue"):
            return
        count = octets = 0
        for level in self.queue.backlog.levels:
            before = 0
            for part in level.segments.all_parts() if level.segments is not None else ():
                if isinstance(part, EvictedSegment):
                    if part.found is None:
                        count += part.seq_ranges.count
                        octets += part.seq_ranges.octets
                    assert part.seq_ranges.count
                    first, last = part.seq_ranges.first_seq, part.seq_ranges.last_seq
                else:
                    first, last = part.first_seq, part.last_seq
                assert before < first
                before = last
            assert level.count >= 0
            assert level.tail is (level.ready if level.segments is None else level.segments.fresh)
            # Without a head the first ones are away.
            assert level.ready or level.returned or level.segments is None or level.segments.parts[0].found is None
        assert (count, octets) == (self.queue.backlog.messages_evicted, self.queue.backlog.octets_evicted)

    @invariant()
    def the_log_has_what_the_queue_has(self):
        if not hasattr(self, "queue"):
            return
        model = self.model
        numbers = [held.number for held in model.ready]
        numbers += [held.number for held_ in model.unacked.values() for held, _ in held_.values()]
        persistent = [number for number in numbers if self.pattern[number % len(self.pattern)]]
        assert len(persistent) == len(self.world.broker.log.live[self.queue.id])

    def teardown(self):
        if hasattr(self, "world"):
            EvictionMachine.seen += self.world.broker.log.asked


# Chance may have it that a round of stories sends too little away to prove something.
ROUNDS_MAX = 6


@pytest.fixture(autouse=True)
def small(monkeypatch):
    shrink(monkeypatch)


def test_a_queue_whose_contents_are_evicted_does_what_a_list_of_messages_would():
    EvictionMachine.seen = 0
    for _ in range(ROUNDS_MAX):
        run_state_machine_as_test(EvictionMachine, settings=settings(QUICK, max_examples=25))
        if EvictionMachine.seen > 50:
            return
    pytest.fail(f"the stories had only {EvictionMachine.seen} messages read back: they prove little")


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_a_queue_whose_contents_are_evicted_does_the_same_in_two_thousand_stories():
    run_state_machine_as_test(EvictionMachine, settings=settings(QUICK, max_examples=2_000, stateful_step_count=50))
