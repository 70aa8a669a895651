"""So many lines a second, and how many more there were."""

from pybroker.line_limit import LINES_MAX, LineLimit


def test_each_has_a_line_until_there_are_too_many():
    limit = LineLimit()
    assert [limit.allows() for _ in range(LINES_MAX + 2)] == [True] * LINES_MAX + [False] * 2


def test_the_end_of_a_second_tells_how_many_more_there_were_once():
    limit = LineLimit()
    for _ in range(LINES_MAX + 7):
        limit.allows()
    assert (limit.end_second(), limit.end_second()) == (7, 0)
    assert limit.allows()


def test_a_quiet_second_leaves_nothing_to_tell():
    limit = LineLimit()
    limit.allows()
    assert limit.end_second() == 0
