"""Commands that ask the daemon for something around the broker, on a real one."""

import json
import re
import subprocess
import sys

import pytest

from tests.daemon.running import WAIT_S, Running


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("d"))
    yield running
    running.stop()


def document(running, *words):
    return json.loads(running.ctl(*words, "--formatter", "json"))


def test_listeners_can_be_reached_and_the_health_check_leaves_no_warning(running):
    text = running.ctl("-q", "check_port_connectivity")
    assert text == f"Successfully connected to ports {running.port} on node test@here.\n"
    assert running.ctl("-s", "check_port_listener", str(running.port)) == ""
    assert "[warning]" not in running.log
    running.ctl("check_port_connectivity", "--address", "127.0.0.9", expected=69)


def test_the_log_can_be_read_and_made_to_say_more(running):
    [line] = running.ctl("-q", "log_tail", "-N", "1").splitlines()
    assert re.match(r"\d{4}-\d\d-\d\d .* \[\w+\] <0\.\d+\.0> ", line)
    assert running.ctl("-q", "log_location").strip().endswith("/data/log/test@here.log")
    running.ctl("set_log_level", "debug")
    running.ctl("check_port_connectivity")
    running.wait_for_log("[debug]")
    running.ctl("set_log_level", "info")
    assert document(running, "environment")["log.file.level"] == {"value": "info", "source": "pybrokerctl"}


def test_b1_b14_b15_the_watermark_is_measured_set_and_shown(running):
    assert re.search(r"Memory limit set to \d+MB\. \(\d+ octets of \d+, ", running.log)
    running.ctl("set_vm_memory_high_watermark", "absolute", "64MiB")
    status = document(running, "status")
    assert status["vm_memory_high_watermark_limit"] == 64 << 20
    assert "Memory limit set to 64MB." in running.log
    assert "computed to: 0.0671 gb" in running.ctl("status")
    running.ctl("set_vm_memory_high_watermark", "0.4")
    assert document(running, "environment")["vm_memory_high_watermark.relative"]["value"] == "0.4"


def test_the_memory_adds_up(running):
    breakdown = document(running, "memory_breakdown")
    total = sum(one["bytes"] for one in breakdown.values())
    assert abs(total - document(running, "status")["memory"]["total"]["rss"]) < 5_000_000
    assert breakdown["code"]["bytes"] > 1_000_000
    assert 99.5 < sum(one["percentage"] for one in breakdown.values()) < 100.5


def test_options_are_the_source_of_what_they_gave(running):
    environment = document(running, "environment")
    assert environment["node.name"] == {"value": "test@here", "source": "--node"}
    assert environment["heartbeat"] == {"value": "60", "source": "default"}


def test_the_report_parses_and_holds_every_part(running):
    report = document(running, "report")
    assert {"status", "environment", "list_queues /", "list_permissions /"} <= set(report)
    assert report["list_permissions /"] == [{"user": "guest", "configure": ".*", "write": ".*", "read": ".*"}]


def test_a_stopped_app_is_seen_by_health_checks_and_waited_for(running):
    running.ctl("stop_app")
    running.ctl("check_running", expected=69)
    running.ctl("-t", "0.2", "await_startup", expected=75)
    running.ctl("start_app")
    running.ctl("await_startup")
    running.ctl("wait", "--pid", str(running.pid))
    running.ctl("wait", str(running.folder / "data/test@here.pid"))


def test_a_daemon_that_is_only_just_being_started_is_waited_for(tmp_path):
    command = [sys.executable, "-m", "pybrokerctl", "--socket", str(tmp_path / "ctl.sock"), "-t", "20", "await_startup"]
    waiting = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    running = Running(tmp_path)
    try:
        assert waiting.communicate(timeout=WAIT_S) == ("", None)
        assert waiting.returncode == 0
    finally:
        waiting.kill()
        running.stop()
