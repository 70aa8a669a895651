"""Very many things are looked at some at a time."""

from pybroker.daemon.telemetry.slices import PAUSE_S, SLICES, slices


def test_all_come_in_order_and_are_let_go_a_slice_at_a_time():
    things, left = [*range(7)], []
    found = list(slices(things, 3, lambda _: left.append(len(things))))
    assert found == [[0, 1, 2], [3, 4, 5], [6]]
    assert left == [4, 1]


def test_now_and_then_the_thread_has_time_to_catch_up():
    pauses = []
    assert len([*slices([0] * (2 * SLICES + 1), 1, pauses.append)]) == 2 * SLICES + 1
    assert pauses == [*[0] * (SLICES - 1), PAUSE_S] * 2 + [0]


def test_few_are_looked_at_without_a_pause():
    pauses = []
    assert [*slices([1, 2], 3, pauses.append)] == [[1, 2]]
    assert pauses == []
