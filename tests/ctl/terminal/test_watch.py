"""--watch: again and again, in place for people, one below the other for pipes."""

import subprocess
import sys

import pytest

from pybrokerctl.terminal.screen import LEAVE
from pybrokerctl.terminal.watch import moved, page
from tests.ctl.typist import Typist, plain


@pytest.fixture
def queues(daemon, turns):
    answers = ([{"columns": ["name", "messages"]}, ["a", n], {"end": 1}] for n in range(1, 50))
    daemon.answers["list_queues"] = turns(*answers)
    return daemon


def many(count: int) -> list:
    return [{"columns": ["name"]}, *([f"q{n}"] for n in range(count)), {"end": count}]


def test_a_terminal_shows_it_in_place_until_q(queues):
    with Typist("--socket", str(queues.path), "list_queues", "--watch", "0.1") as typist:
        typist.read_until("Every 0.1 s: list_queues")
        typist.read_until("\x1b[H")
        assert "pybroker@vm" in plain(typist.read_until("\x1b[H"))
        typist.press("q")
        assert typist.wait() == 0
        assert LEAVE in typist.seen
        assert typist.is_in_order


def test_who_is_held_back_is_shown_in_place_too(daemon, turns):
    document = {"alarms": [], "connections": [], "left_out": 0, "last": None, "notices": []}
    told = ("Nothing is blocked.", "Nothing is blocked now.")
    daemon.answers["why_blocked"] = turns(*([{"value": {**document, "message": one}}, {"end": 0}] for one in told))
    with Typist("--socket", str(daemon.path), "why_blocked", "worker", "--watch", "0.1") as typist:
        typist.read_until("Every 0.1 s: why_blocked")
        typist.read_until(told[1])
        typist.press("q")
        assert typist.wait() == 0
    assert daemon.requests[0] == ("why_blocked", {"connection": "worker"})


def test_ctrl_c_ends_it_with_130_and_the_terminal_in_order(queues):
    with Typist("--socket", str(queues.path), "list_queues", "--watch") as typist:
        typist.read_until("Every 2 s")
        typist.press("\x03")
        assert typist.wait() == 130
        assert "Traceback" not in typist.seen
        assert typist.is_in_order


def test_space_looks_at_once_and_arrows_move(daemon):
    daemon.answers["list_queues"] = many(100)
    with Typist("--socket", str(daemon.path), "list_queues", "--watch", "60", lines=10) as typist:
        assert "\nq0\n" in plain(typist.read_until("95 more lines"))
        typist.press("\x1b[F")
        assert "q99" in plain(typist.read_until("q99"))
        typist.press(" ")
        typist.read_until("q99")
        assert len(daemon.requests) == 2


def test_a_node_that_goes_away_ends_it_in_one_sentence(queues):
    queues.answers.clear()
    queues.lines = many(3)
    with Typist("--socket", str(queues.path), "list_queues", "--watch", "0.1") as typist:
        typist.read_until(LEAVE)
        assert typist.wait() == 69
        text = "Error:\nnode pybroker@vm disconnected before its answer was complete\n"
        assert plain(typist.seen) == text
        assert typist.is_in_order


def test_in_a_pipe_answers_follow_one_another_until_the_reader_goes(queues):
    words = ["--socket", str(queues.path), "-q", "list_queues", "--watch", "0.1"]
    whole = "name\tmessages\na\t1\n\nname\tmessages\na\t2\n\n"
    process = subprocess.Popen(
        [sys.executable, "-m", "pybrokerctl", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.read(len(whole)) == whole
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(60) == 141


def test_a_dumb_terminal_is_like_a_pipe(queues):
    with Typist("--socket", str(queues.path), "-q", "list_queues", "--watch", "0.1", TERM="dumb") as typist:
        typist.read_until("messages")
        assert "\x1b" not in typist.read_until("messages")


def test_a_page_is_as_high_as_the_screen():
    lines = [f"line {n}" for n in range(10)]
    assert page("head", lines, 0, 20) == ["head", "", *lines]
    assert page("head", lines, 0, 6) == ["head", "", *lines[:3], "7 more lines; arrow and page keys move, q quits"]
    assert page("head", lines, 6, 6) == ["head", "", *lines[6:]]


@pytest.mark.parametrize(
    ("offset", "key", "expected"),
    [
        (0, "down", 1),
        (0, "up", 0),
        (6, "down", 6),
        (0, "page down", 3),
        (6, "page up", 3),
        (0, "end", 6),
        (5, "home", 0),
    ],
)
def test_keys_move_no_further_than_there_are_lines(offset, key, expected):
    assert moved(offset, key, 10, 4) == expected


def test_what_has_shrunk_is_shown_from_where_it_begins():
    assert moved(50, "", 10, 4) == 6
    assert moved(50, "", 2, 4) == 0
