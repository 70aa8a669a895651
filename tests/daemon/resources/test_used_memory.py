"""How much of the resident set is used (B20), against a process whose memory is known to the octet."""

from hypothesis import given, strategies as st

from pybroker.daemon.resources.used_memory import Used, UsedMemory

MIB = 1 << 20
OCTETS = st.integers(0, 1_000 * MIB)
PROGRAM = 50 * MIB


def test_b20_at_a_new_peak_all_that_is_resident_is_used():
    memory = UsedMemory()
    assert memory.update(50, 0) == Used(50, 0, 0, 50)
    assert memory.update(700, 400).used == 700
    assert memory.update(1_000, 600).used == 1_000


def test_b20_after_a_drain_what_is_used_falls_by_it_though_the_resident_set_stays():
    memory = UsedMemory()
    memory.update(50, 0)
    memory.update(1_000, 800)
    assert memory.update(1_000, 300) == Used(1_000, 300, 500, 500)
    assert memory.update(1_000, 0).used == 200


def test_what_goes_back_to_the_system_was_reusable():
    memory = UsedMemory()
    memory.update(50, 0)
    memory.update(1_000, 800)
    memory.update(1_000, 0)
    assert memory.update(600, 0) == Used(600, 0, 400, 200)
    assert memory.update(150, 0) == Used(150, 0, 0, 150)


def test_what_nobody_accounts_for_is_seen_after_a_drain():
    memory = UsedMemory()
    memory.update(50, 0)
    memory.update(1_000, 800)
    assert memory.update(1_000, 100).used == 300
    assert memory.update(1_100, 100).used == 400
    memory = UsedMemory()
    memory.update(50, 0)
    memory.update(1_000, 800)
    memory.update(600, 100)  # trimmed: 300 are reusable
    assert memory.update(700, 100).used == 400


def test_what_is_filled_again_uses_what_is_reusable_first():
    memory = UsedMemory()
    memory.update(50, 0)
    memory.update(1_000, 800)
    memory.update(1_000, 0)
    assert memory.update(1_000, 700).used == 900
    assert memory.update(1_200, 1_000).used == 1_200


def test_what_shakes_is_not_lost_more_and_more_of():
    memory = UsedMemory()
    memory.update(50, 0)
    memory.update(1_000, 800)
    for _ in range(1_000):
        memory.update(1_000, 100)
        assert memory.update(990, 100).used == 300


def test_what_was_counted_too_high_does_not_hide_the_rest():
    # A content in several runs is counted in each of them.
    memory = UsedMemory()
    memory.update(50, 0)
    memory.update(450, 2_000)
    assert memory.update(450, 1_000).used == 450
    assert memory.update(450, 100).used == 150


@given(st.lists(st.tuples(OCTETS, OCTETS)))
def test_it_is_never_above_the_resident_set_nor_below_zero(looks):
    memory = UsedMemory()
    for rss, accounted in looks:
        found = memory.update(rss, accounted)
        assert 0 <= found.used <= rss
        assert found.used == rss - found.reusable
        assert (found.rss, found.accounted) == (rss, accounted)


@given(st.lists(st.tuples(OCTETS, OCTETS), min_size=1))
def test_at_every_peak_it_is_the_resident_set(looks):
    memory = UsedMemory()
    peak = 0
    for rss, accounted in looks:
        found = memory.update(rss, accounted)
        if accounted >= peak:
            assert found.used == rss
            peak = accounted


class Process:
    """Return the live octets, those of them that the broker accounts for, and those that its heap holds free."""

    def __init__(self):
        self.live = self.free = 0
        self.accounted = 0

    @property
    def rss(self):
        return PROGRAM + self.live + self.free

    def take(self, octets, accounted):
        """Come to have more: free memory is used first."""
        self.live += octets
        self.accounted += accounted
        self.free = max(0, self.free - octets)

    def drop(self, part):
        """Lose a part of what there is, in hundredths."""
        octets = self.live * part // 100
        self.live -= octets
        self.free += octets
        self.accounted -= self.accounted * part // 100


STEPS = st.one_of(
    st.tuples(st.just("take"), st.integers(0, 100 * MIB)),
    st.tuples(st.just("drop"), st.integers(0, 100)),
    st.tuples(st.just("trim"), st.integers(0, 100)),
)


@given(st.integers(100, 400), st.lists(STEPS))
def test_nothing_is_underestimated_however_much_is_around_what_is_accounted_for(around, steps):
    process, memory = Process(), UsedMemory()
    memory.update(process.rss, 0)
    for what, amount in steps:
        match what:
            case "take":
                process.take(amount * around // 100, amount)
            case "drop":
                process.drop(amount)
            case "trim":
                process.free -= process.free * amount // 100
        found = memory.update(process.rss, process.accounted)
        # Each step may have been rounded.
        assert PROGRAM + process.live - 8 * len(steps) <= found.used <= process.rss
