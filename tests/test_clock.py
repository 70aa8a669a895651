from pybroker.clock import Clock
from tests.clock import FakeClock


def test_a_clock_stands_still_until_it_is_refreshed():
    clock = Clock()
    assert (clock.now_ms, clock.timestamp_ms) == (0, 0)
    clock.refresh()
    before = clock.now_ms, clock.timestamp_ms
    assert min(before) > 0
    clock.refresh()
    assert clock.now_ms >= before[0]


def test_a_fake_clock_moves_both_hands_when_told():
    clock = FakeClock(timestamp_ms=5_000)
    now_ms = clock.now_ms
    clock.refresh()
    assert (clock.now_ms, clock.timestamp_ms) == (now_ms, 5_000)
    clock.advance(250)
    assert (clock.now_ms, clock.timestamp_ms) == (now_ms + 250, 5_250)
