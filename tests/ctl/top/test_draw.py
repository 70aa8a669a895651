import io
import sys

import pytest

from pybrokerctl.render.pretty_table import width as columns_of
from pybrokerctl.top.board import Board
from pybrokerctl.top.draw import draw, room
from pybrokerctl.top.snapshot import Snapshot
from tests.ctl.typist import plain

STATUS = {
    "uptime": 3700,
    "resource_alarms": [],
    "notices": [],
    "memory": {"total": {"used": 58_000_000}},
    "vm_memory_high_watermark_limit": 10_000_000_000,
    "file_descriptors": {"total_used": 20, "total_limit": 1024},
    "disk_free": 80_000_000_000,
    "totals": {"connection_count": 1, "queue_count": 2, "virtual_host_count": 1},
}
CLIENT = ["<n.1.0>", "1.2.3.4:5 -> 1.2.3.4:5672", "worker", "guest", "/", "running", "", 1, 0, 1000, 500]


def queue(name: str, ready: int = 0, published: int = 0) -> list:
    return ["/", name, ready, 0, 0, 0, published, 0, 0, 0]


@pytest.fixture(autouse=True)
def utf8(person, capfd):
    with capfd.disabled():
        person.setattr("pybrokerctl.terminal.terminal.has_utf8", lambda _stream: True)
    return person


@pytest.fixture
def board():
    board = Board(2.0)
    board.update(Snapshot(0.0, STATUS, [queue("orders", 1200), queue("mail")], [CLIENT]))
    board.update(Snapshot(1.0, STATUS, [queue("orders", 1234, 34), queue("mail")], [CLIENT]))
    return board


def seen(board: Board, width: int = 80, height: int = 24) -> list[str]:
    return [plain(line).rstrip() for line in draw(board, "pybroker@vm", width, height)]


def test_the_head_tells_who_what_and_how_much(board):
    assert seen(board)[:3] == [
        "pybroker@vm  up 1:01:40  1 connection  2 queues  1 vhost",
        "no alarms  memory 58.0MB of 10.0GB  files 20 of 1,024  disk free 80.0GB",
        "publish 34/s  deliver 0/s  ack 0/s  in 0B/s  out 0B/s",
    ]


def test_the_list_has_its_rows_below_the_head(board):
    lines = seen(board)
    assert lines[4].split() == ["queue", "ready▼", "unacked", "consumers", "publish/s", "deliver/s", "ack/s"]
    assert lines[6].split() == ["orders", "1,234", "0", "0", "34", "0", "0"]
    assert lines[7].split() == ["mail", "0", "0", "0", "0", "0", "0"]
    assert lines[-1].startswith(" 1-2 of 2 queues, 2 s   q quit")


def test_connections_are_shown_by_the_name_their_client_gives(board):
    board.press("tab", 80, 10)
    assert seen(board)[6].split() == ["worker", "guest", "running", "0", "0"]
    wide = seen(board, 160)[6]
    assert "<n.1.0>" in wide
    assert "1.2.3.4:5 " in wide


def test_what_holds_a_connection_back_is_told_beside_its_state_in_colour(board):
    blocked = [*CLIENT[:5], "blocked", "memory", *CLIENT[7:]]
    well = ["<n.2.0>", *CLIENT[1:2], "idler", "guest", "/", "blocking", "memory", *CLIENT[7:]]
    board.update(Snapshot(2.0, STATUS, [], [blocked, well]))
    board.press("tab", 80, 10)
    titles, *rows = seen(board)[4:8]
    assert titles.split()[:6] == ["connection", "user", "state", "held", "by", "in"]
    assert ["worker", "guest", "blocked", "memory", "0", "0"] == rows[1].split()
    # Nothing holds it before it publishes; the state says so.
    assert ["idler", "guest", "blocking"] == rows[2].split()
    text = "".join(draw(board, "n", 80, 24))
    assert "\x1b[31mblocked" in text
    assert "\x1b[33mblocking" in text


@pytest.mark.parametrize(("width", "height"), [(80, 24), (140, 50), (40, 8), (200, 5)])
def test_it_is_never_larger_than_the_screen(board, width, height):
    board.update(Snapshot(2.0, STATUS, [queue(f"queue {n} {'ü' * n}") for n in range(200)], [CLIENT]))
    for keys in ([], ["tab"], ["h"], ["x", "/", "a"]):
        for key in keys:
            board.press(key, width, room(height))
        lines = draw(board, "pybroker@vm", width, height)
        assert len(lines) == height
        assert max(columns_of(plain(line)) for line in lines) <= width


def test_alarms_and_faults_stand_out(board):
    board.update(Snapshot(2.0, {**STATUS, "resource_alarms": [{"message": "memory"}]}, [], []))
    assert "\x1b[1;31mALARMS: memory" in draw(board, "n", 80, 24)[1]
    board.note = "this command requires the app"
    assert "\x1b[1;31mthis command requires the app" in draw(board, "n", 80, 24)[1]


def test_before_the_first_look_it_says_so():
    assert seen(Board(2.0))[0] == "pybroker@vm: waiting for data"


def test_the_last_line_is_the_filters_while_it_is_typed(board):
    for key in ("/", "m", "a"):
        board.press(key, 80, 10)
    lines = seen(board)
    assert lines[-1].startswith(" show only: ma_")
    assert lines[6].startswith("mail")
    board.press("enter", 80, 10)
    assert seen(board)[-1].startswith(" 1-1 of 1 queues with 'ma', 2 s")


def test_help_says_what_the_keys_do_at_any_width(board):
    board.press("h", 80, 10)
    text = "\n".join(seen(board))
    assert all(word in text for word in ("Tab", "space", "Press any key to go back."))


def test_what_is_held_is_marked(board):
    board.press(" ", 80, 10)
    assert "HELD" in seen(board)[-1]


def test_names_cannot_break_the_screen(board):
    board.update(Snapshot(2.0, STATUS, [queue("a\x1b[2J\nb")], []))
    assert any(r"a\033[2J\nb" in line for line in seen(board))


def test_without_utf8_it_is_ascii(utf8, board):
    utf8.setattr("pybrokerctl.terminal.terminal.has_utf8", lambda _stream: False)
    utf8.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert "".join(seen(board)).isascii()
