"""Every consumer has its offset stored, but not all in one turn; a fault of one is its own."""

import pytest

from pybroker.core.channel.offset_sweeper import TURN_TRACKERS_MAX
from tests.topology import new_vhost


class Tracked:
    """One that has to be asked so often."""

    def __init__(self, times=1):
        self.times = times
        self.asked = 0

    def store_offset(self):
        self.asked += 1
        return self.asked >= self.times


@pytest.fixture
def broker():
    return new_vhost().broker


@pytest.fixture
def sweeper(broker):
    return broker.streams.trackers


def test_few_have_it_stored_at_each_tick(broker, sweeper):
    tracked = Tracked()
    sweeper.add(tracked)
    broker.tick()
    broker.tick()
    assert (2, 1) == (tracked.asked, len(sweeper))
    assert not broker.turn.queues


def test_of_very_many_each_turn_serves_some_and_each_round_all(broker, sweeper):
    several = [Tracked() for _ in range(3 * TURN_TRACKERS_MAX)]
    for each in several:
        sweeper.add(each)
    broker.tick()
    broker.tick()
    for turn in (1, 2, 3):
        assert turn * TURN_TRACKERS_MAX == sum(each.asked for each in several)
        broker.pump()
    assert {1} == {each.asked for each in several}
    assert not broker.turn.queues


def test_one_that_takes_longer_is_asked_again(broker, sweeper):
    slow, other = Tracked(3), Tracked()
    sweeper.add(slow)
    sweeper.add(other)
    broker.tick()
    while broker.turn.queues:
        broker.pump()
    assert (3, 1) == (slow.asked, other.asked)


def test_one_that_is_removed_meanwhile_is_not_asked(broker, sweeper):
    slow = Tracked(2)
    sweeper.add(slow)
    broker.tick()
    sweeper.remove(slow)
    broker.pump()
    assert (1, 0) == (slow.asked, len(sweeper))


def test_a_bug_in_one_leaves_the_others_theirs(broker, sweeper, caplog):
    broken, other = Tracked(), Tracked()
    broken.store_offset = lambda: 1 // 0
    sweeper.add(broken)
    sweeper.add(other)
    broker.tick()
    assert 1 == other.asked
    assert "was not stored" in caplog.text
