import pytest

from pybrokerctl.top.board import INTERVAL_S_MAX, INTERVAL_S_MIN, Board, age, count, octets, rate
from pybrokerctl.top.snapshot import Snapshot


def queue(name: str, ready: int = 0, vhost: str = "/", published: int = 0) -> list:
    return [vhost, name, ready, 0, 0, 0, published, 0, 0, 0]


def client(name: str, received: int) -> list:
    return [f"<{name}>", name, "", "guest", "/", "running", "", 1, 0, received, 0]


@pytest.fixture
def board():
    board = Board(2.0)
    clients = [client("c1", 0), client("c2", 0)]
    board.update(Snapshot(0.0, {}, [queue("Alpha", 5), queue("beta", 50), queue("gamma", 5)], clients))
    return board


def press(board: Board, *keys: str, width: int = 80, room: int = 10) -> None:
    for key in keys:
        board.press(key, width, room)


def names(board: Board) -> list[str]:
    return [row.name for row in board.rows()]


def test_the_fullest_queue_comes_first_equals_by_name(board):
    assert names(board) == ["beta", "Alpha", "gamma"]
    assert (board.sort.title, board.falling) == ("ready", True)


def test_the_order_can_be_turned_and_another_column_chosen(board):
    press(board, "r")
    assert names(board) == ["Alpha", "gamma", "beta"]
    press(board, "left")
    assert (board.sort.title, board.falling) == ("queue", False)
    assert names(board) == ["Alpha", "beta", "gamma"]
    press(board, "right", "right")
    assert board.sort.title == "unacked"


def test_columns_that_are_not_shown_are_not_sorted_by(board):
    shown = [column.title for column in board.columns(80)]
    assert shown == ["queue", "ready", "unacked", "consumers", "publish/s", "deliver/s", "ack/s"]
    press(board, *[">"] * len(shown))
    assert board.sort.title == "ready"
    assert [column.title for column in board.columns(140)][:3] == ["vhost", "queue", "ready"]


def test_virtual_hosts_are_shown_as_soon_as_there_are_several(board):
    board.update(Snapshot(1.0, {}, [queue("a"), queue("a", vhost="v")], []))
    assert board.columns(80)[0].title == "vhost"


def test_what_holds_connections_back_is_shown_as_soon_as_something_does(board):
    press(board, "tab")
    assert "held by" not in [column.title for column in board.columns(80)]
    flow = [*client("c1", 0)[:5], "flow", "journal", 1, 0, 0, 0]
    board.update(Snapshot(1.0, {}, [], [flow, [*client("c2", 0)[:5], "running", "disk", 1, 0, 0, 0]]))
    assert "held by" in [column.title for column in board.columns(80)]
    # A cause of long ago does not hold it now.
    assert {"c1": "journal", "c2": ""} == {one.name: one.held_by for one in board.rows()}


def test_tab_shows_the_other_list_each_with_its_own_order(board):
    board.update(Snapshot(1.0, {}, [], [client("c1", 10), client("c2", 20)]))
    press(board, "r", "tab")
    assert board.pane.name == "connections"
    assert names(board) == ["c2", "c1"]
    press(board, "tab")
    assert (board.pane.name, board.falling) == ("queues", False)


def test_a_filter_is_typed_until_enter_and_cleared_by_escape(board):
    press(board, "/", "A", "m", "x", "backspace")
    assert (board.typing, board.filter, names(board)) == (True, "Am", ["gamma"])
    press(board, "enter")
    assert (board.typing, names(board)) == (False, ["gamma"])
    press(board, "escape")
    assert names(board) == ["beta", "Alpha", "gamma"]
    press(board, "/", "q", "r", "escape")
    assert (board.typing, board.filter) == (False, "")


def test_while_it_is_held_nothing_changes(board):
    press(board, " ")
    board.update(Snapshot(1.0, {}, [queue("new")], []))
    assert names(board) == ["beta", "Alpha", "gamma"]
    press(board, " ")
    board.update(Snapshot(2.0, {}, [queue("new")], []))
    assert names(board) == ["new"]


def test_what_has_no_rate_yet_is_the_least():
    board = Board(2.0)
    board.update(Snapshot(0.0, {}, [queue("old", published=0)], []))
    board.update(Snapshot(1.0, {}, [queue("old", published=0), queue("new")], []))
    press(board, *["right"] * 3)
    assert board.sort.title == "publish/s"
    assert names(board) == ["old", "new"]


def test_one_can_move_as_far_as_there_are_rows(board):
    board.update(Snapshot(1.0, {}, [queue(f"q{n:03}") for n in range(100)], []))
    offsets = []
    for key in ("down", "page down", "up", "end", "down", "home", "up", "other"):
        press(board, key)
        offsets.append(board.offset)
    assert offsets == [1, 11, 10, 90, 90, 0, 0, 0]


def test_a_short_list_does_not_move(board):
    press(board, "end", "down", "page down")
    assert board.offset == 0


def test_the_interval_stays_within_reason(board):
    press(board, *["+"] * 20)
    assert board.interval_s == INTERVAL_S_MAX
    press(board, *["-"] * 20)
    assert board.interval_s == INTERVAL_S_MIN


def test_help_goes_with_the_next_key(board):
    press(board, "h")
    assert board.helping
    press(board, "r")
    assert (board.helping, board.falling) == (False, True)


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (count, 1234567, "1,234,567"),
        (count, 0, "0"),
        (rate, None, ""),
        (rate, 0.0, "0"),
        (rate, 0.25, "0.2"),
        (rate, 1234.5, "1,234"),
        (octets, None, ""),
        (octets, 999, "999"),
        (octets, 1500, "1.5k"),
        (octets, 123_456_789, "123M"),
        (octets, 5e15, "5000T"),
    ],
)
def test_numbers_are_written_for_eyes(write, value, text):
    assert write(value) == text


def test_an_age_is_in_its_largest_unit():
    assert [age(ms) for ms in (None, 0, 59_999, 60_000, 7_200_000, 200_000_000)] == ["", "0s", "59s", "1m", "2h", "2d"]


def test_a_wide_screen_shows_ages_and_steady_rates(board):
    def titles(width):
        return [column.title for column in board.columns(width)]

    assert titles(119)[-1] == "redeliver/s"
    assert titles(120)[-1] == "head age"
    assert titles(140)[-3:] == ["head age", "in/s 1m", "out/s 1m"]
