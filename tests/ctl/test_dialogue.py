"""pybrokerctl and a person: what a terminal shows, what it asks, how it ends when somebody has had enough."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.ctl.typist import Typist, plain

RUNNING = [{"columns": ["name", "state"]}, ["a", "running"], {"end": 1}]


def at(daemon, *words: str, **environment) -> Typist:
    return Typist("--socket", str(daemon.path), *words, **environment)


def test_a_listing_is_drawn_in_colour(daemon):
    daemon.lines = RUNNING
    with at(daemon, "list_queues", "name", "state") as typist:
        assert typist.wait() == 0
        assert "\x1b[32mrunning" in typist.seen
        banner = "Timeout: 60.0 seconds ...\nListing queues for vhost / ...\n"
        lines = [line.rstrip() for line in plain(typist.seen).removeprefix(banner).splitlines()]
        assert lines == ["name  state", "─────────────", "a     running"]


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize("words", [["list_queues", "name", "state"], ["nosuch"]])
def test_no_escapes_where_they_are_not_wanted(daemon, environment, words):
    daemon.lines = RUNNING
    with at(daemon, *words, **environment) as typist:
        typist.wait()
        assert "\x1b" not in typist.seen
        assert typist.seen


@pytest.mark.parametrize("words", [["--formatter", "table"], ["-s"], ["--formatter", "csv"], ["--formatter", "json"]])
def test_what_is_asked_for_by_name_is_as_in_a_pipe(daemon, ctl, words):
    daemon.lines = RUNNING
    piped = ctl("list_queues", "name", "state", *words).out
    with at(daemon, "list_queues", "name", "state", *words) as typist:
        assert typist.wait() == 0
        assert typist.seen.replace("\r\n", "\n") == piped


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_help_fits_the_terminal(columns):
    for words in (["help"], ["list_queues", "--help"], ["help", "close_all_connections"]):
        with Typist(*words, columns=columns) as typist:
            assert typist.wait() == 0
            assert max(map(len, plain(typist.seen).splitlines())) < columns


def test_before_something_is_destroyed_it_asks(daemon):
    with at(daemon, "delete_queue", "q") as typist:
        typist.read_until("Deleting queue 'q' on vhost '/': are you sure? [y/N]: ")
        typist.press("n\r")
        assert typist.wait() == 1
        assert daemon.requests == []
    daemon.lines = [{"value": "Queue was successfully deleted with 0 ready messages"}, {"end": 0}]
    with at(daemon, "-q", "delete_queue", "q") as typist:
        typist.read_until("are you sure? [y/N]: ")
        typist.press("y\r")
        assert typist.wait() == 0
        assert "Queue was successfully deleted" in typist.seen
    assert daemon.requests == [("delete_queue", {"queue_name": "q"})]


@pytest.mark.parametrize("key", ["\x03", "\x04"])
def test_ctrl_c_and_ctrl_d_are_no_yes(daemon, key):
    with at(daemon, "reset") as typist:
        typist.read_until("[y/N]: ")
        assert typist.insist(key) == 130
        assert "Traceback" not in typist.seen
    assert daemon.requests == []


def test_a_password_is_asked_for_without_echo(daemon):
    with at(daemon, "add_user", "u") as typist:
        typist.read_until("Password: ")
        typist.press("hush\r")
        assert typist.wait() == 0
        assert "hush" not in typist.seen
    assert daemon.requests == [("add_user", {"username": "u", "password": "hush"})]


def test_too_few_words_are_refused_before_a_password_is_asked_for():
    with Typist("add_user") as typist:
        assert typist.wait() == 64
        assert "Password:" not in typist.seen


def test_long_work_shows_how_far_it_is_and_nothing_of_it_stays(daemon):
    daemon.lines = [{"progress": [3, 10]}, {"progress": [7, 10]}, {"value": "Closed 10 connections"}, {"end": 0}]
    with at(daemon, "close_all_connections", "bye", "--yes") as typist:
        typist.read_until("3/10")
        typist.read_until("7/10")
        assert typist.wait() == 0
        assert plain(typist.seen.rpartition("\x1b[2K")[2]) == "Closed 10 connections\n"


def test_a_command_that_takes_its_time_says_so_and_ctrl_c_ends_it(daemon):
    daemon.silent = True
    with at(daemon, "add_vhost", "v") as typist:
        typist.read_until("0:00:0")
        typist.press("\x03")
        assert typist.wait() == 130
        assert "Traceback" not in typist.seen
        assert typist.is_in_order
        assert typist.seen.rstrip("\r\n").endswith("\x1b[2K")


@pytest.mark.parametrize("formatter", ["table", "pretty_table", "json", "csv"])
def test_ctrl_c_in_the_midst_of_an_answer_ends_with_130_and_no_more_words(daemon, formatter):
    daemon.lines = [{"columns": ["name", "messages"]}, *(["q", 1] for _ in range(1000))]
    daemon.answers["list_queues"] = daemon.lines
    words = ["--socket", str(daemon.path), "list_queues", "--formatter", formatter]
    process = subprocess.Popen(
        [sys.executable, "-m", "pybrokerctl", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not daemon.requests:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[1] == b""
    assert process.returncode == 130


@pytest.mark.parametrize("formatter", ["table", "pretty_table", "json", "csv"])
def test_a_pipe_closed_by_its_reader_is_no_fault(daemon, formatter):
    daemon.lines = [{"columns": ["name", "messages"]}, *(["q" * 100, 1] for _ in range(5000)), {"end": 5000}]
    script = f'"$PYTHON" -m pybrokerctl --socket "$SOCKET" list_queues --formatter {formatter} | head -n 1'
    environment = {**os.environ, "PYTHON": sys.executable, "SOCKET": str(daemon.path)}
    words = ["bash", "-c", f"{script}; exit ${{PIPESTATUS[0]}}"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (141, "")
    assert len(done.stdout.splitlines()) == 1


def test_without_terminals_these_are_skipped_with_the_reason(monkeypatch):
    def refuse():
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "openpty", refuse)
    with pytest.raises(pytest.skip.Exception, match="no pseudo-terminals here"):
        Typist("ping")
