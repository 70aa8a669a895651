import pytest

from pybrokerctl.render import layout


def test_columns_are_as_wide_as_they_need_to_be():
    assert layout.fit(["name", "messages"], [["a", "1"], ["long name", "2"]], 80) == [9, 8]


def test_long_headers_are_folded_before_cells_are():
    columns = ["name", "messages_unacknowledged"]
    assert layout.fit(columns, [["n" * 30, "1"]], 60) == [30, 23]
    assert layout.fit(columns, [["n" * 30, "1"]], 50) == [30, 14]


def test_what_is_left_over_unfolds_headers_again():
    columns = ["a_long_header", "another_header", "x"]
    assert layout.fit(columns, [["1", "2", "3"]], 30) == [13, 8, 1]


def test_the_widest_cells_are_folded_then():
    assert layout.fit(["a", "b"], [["x" * 50, "y" * 20]], 42) == [20, 20]


@pytest.mark.parametrize(("count", "available"), [(5, 60), (30, 140)])
def test_columns_that_would_be_unreadable_are_no_table(count, available):
    assert layout.fit([f"column{n}" for n in range(count)], [["x" * 20] * count], available) is None


def test_wide_characters_count_twice():
    assert layout.fit(["名"], [["名前"]], 80) == [4]


def test_headers_break_behind_underscores():
    assert layout.fold("messages_unacknowledged", 23) == "messages_unacknowledged"
    assert layout.fold("messages_unacknowledged", 14) == "messages_\nunacknowledged"
    assert layout.fold("messages_unacknowledged", 3) == "messages_\nunacknowledged"
    assert layout.fold("", 5) == ""
