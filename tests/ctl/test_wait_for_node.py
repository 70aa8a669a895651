"""Waiting for a node: for its pid file, its process, its socket, its word."""

import os
import subprocess
import sys

import pytest

from pybrokerctl import wait_for_node

NOT_YET = [{"error": {"text": "not yet", "exit_code": 75}}]
UP = [{"value": None}, {"end": 0}]


@pytest.fixture
def pauses(monkeypatch):
    """Call the next of these instead of sleeping; then sleep no more."""
    steps = []
    monkeypatch.setattr(wait_for_node.time, "sleep", lambda _: steps.pop(0)() if steps else None)
    return steps


@pytest.fixture
def dead_pid():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(60)
    return process.pid


def test_a_node_that_is_up_is_not_waited_for(ctl, daemon):
    assert ctl("await_startup") == (0, "", "")
    assert [name for name, _ in daemon.requests] == ["await_startup", "await_startup"]


def test_one_that_says_not_yet_is_asked_again(ctl, daemon, turns, pauses):
    daemon.lines = turns(NOT_YET, NOT_YET, UP)
    assert ctl("await_startup") == (0, "", "")
    assert len(daemon.requests) == 4


def test_one_that_is_not_there_yet_is_waited_for(ctl, start_daemon, pauses):
    pauses += [lambda: None, start_daemon]
    assert ctl("await_startup") == (0, "", "")
    assert pauses == []


def test_the_wait_has_an_end(ctl, daemon):
    daemon.lines = NOT_YET
    code, out, err = ctl("await_startup", "-t", "0.05")
    assert (code, out) == (75, "")
    assert err == "Error: operation await_startup on node pybroker@vm timed out. Timeout value used: 50\n"


def test_another_refusal_ends_it(ctl, daemon):
    daemon.lines = [{"error": {"text": "never", "exit_code": 69}}]
    assert ctl("await_startup") == (69, "", "Error:\nnever\n")


def test_wait_tells_what_it_waits_for(ctl, daemon, folder):
    pid_file = folder / "n.pid"
    pid_file.write_text(f"{os.getpid()}\n")
    code, out, err = ctl("wait", str(pid_file))
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"Waiting for pid file '{pid_file}' to appear",
        f"pid is {os.getpid()}",
        f"Waiting for the control socket of node 'pybroker@vm' while OS process '{os.getpid()}' is running",
        "Waiting for applications 'rabbit_and_plugins' to start on node 'pybroker@vm'",
        "Applications 'rabbit_and_plugins' are running on node 'pybroker@vm'",
    ]
    assert ctl("wait", "-q", str(pid_file)) == (0, "", "")
    assert ctl("wait", "-q", "--pid", str(os.getpid())) == (0, "", "")


def test_the_pid_file_may_yet_have_to_appear_and_to_be_written(ctl, daemon, folder, pauses):
    pid_file = folder / "n.pid"
    pauses += [pid_file.touch, lambda: pid_file.write_text(str(os.getpid()))]
    assert ctl("wait", "-q", str(pid_file)).code == 0
    assert pauses == []


@pytest.mark.parametrize("text", ["abc", "-5", "12345678901", "1 2"])
def test_garbage_in_the_pid_file_is_told(ctl, daemon, folder, text):
    pid_file = folder / "n.pid"
    pid_file.write_text(text)
    assert ctl("wait", "-q", str(pid_file)) == (70, "", "Error:\ngarbage in pid file.\n")


def test_a_pid_file_that_cannot_be_read_is_told(ctl, daemon, folder):
    expected = "Error:\ncould not read pid. Detail: Is a directory\n"
    assert ctl("wait", "-q", str(folder)) == (70, "", expected)


def test_a_process_that_has_ended_will_not_come_up(ctl, folder, dead_pid):
    assert ctl("wait", "-q", "-P", str(dead_pid)) == (70, "", "Error:\nprocess is not running.\n")


def test_another_process_on_the_socket_is_not_the_one_waited_for(ctl, daemon, dead_pid):
    code, out, err = ctl("wait", "-P", str(dead_pid))
    assert (code, err) == (70, "Error:\nprocess is not running.\n")
    assert "Waiting for applications" not in out
    assert daemon.requests == []


def test_neither_or_both_are_refused(ctl):
    assert ctl("wait").code == 64
    assert ctl("wait", "/x", "--pid", "5").code == 64
