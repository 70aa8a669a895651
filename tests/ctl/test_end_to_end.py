"""pybrokerctl as a process, against the daemon as a process: what a script sees."""

import csv
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

import pytest
from pamqp import commands

from tests.ctl.live_node import CTL, LiveNode, run


@pytest.fixture(scope="module")
def node():
    with tempfile.TemporaryDirectory(prefix="ctl") as name:
        node = LiveNode(Path(name))
        yield node
        node.end()


def test_the_node_answers_with_its_name(node):
    done = node.ctl("ping")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Will ping pybroker@test.")


@pytest.mark.parametrize("formatter", ["table", "pretty_table", "json", "csv"])
def test_status_in_every_formatter(node, formatter):
    done = node.ctl("status", "--formatter", formatter)
    assert (done.returncode, done.stderr) == (0, "")
    assert str(node.process.pid) in done.stdout
    if formatter == "json":
        document = json.loads(done.stdout)
        assert [one["interface"] for one in document["listeners"]] == ["127.0.0.1"]
        assert document["disk_free"] > 0


def test_a_set_up_script_under_set_e(node):
    script = """
        set -e
        ctl() { "$PYTHON" -m pybrokerctl "$@"; }
        ctl add_vhost v
        ctl add_user u p
        ctl set_user_tags u administrator monitoring
        ctl set_permissions -p v u '.*' '.*' '.*'
        ctl list_users -q
        ctl list_connections -q pid peer_port client_properties
        ctl close_all_connections bye
        ctl stop_app
        ctl reset
        ctl start_app
        ctl -q list_vhosts
    """
    done = run(["sh", "-c", script], {"PYBROKER_SOCKET": str(node.socket), "PYTHON": sys.executable})
    assert (done.returncode, done.stderr) == (0, "")
    assert "u\t[administrator, monitoring]\n" in done.stdout
    assert done.stdout.endswith("name\n/\n")


def test_b10_publishing_is_stopped_at_once_and_why_is_told_in_every_formatter(node):
    with node.peer() as peer:
        peer.call(commands.Queue.Declare(queue="q"), commands.Queue.DeclareOk)
        peer.publish("", "q", b"x")
        told = node.ctl("set_vm_memory_high_watermark", "0").stdout
        assert "Publishers are blocked" in told
        # E6: a publisher is blocked as soon as it publishes.
        peer.publish("", "q", b"y")
        node.wait_for("list_connections -s state", "blocked\n")
        texts = {one: node.ctl("why_blocked", "--formatter", one).stdout for one in ("table", "csv", "json")}
        assert "Memory alarm on node pybroker@test (for " in texts["table"]
        assert "to do: pybrokerctl set_vm_memory_high_watermark 0.4\n" in texts["table"]
        assert ", user guest, has been blocked for " in texts["table"]
        (row,) = csv.DictReader(texts["csv"].splitlines())
        assert ("blocked", "memory") == (row["state"], row["cause"])
        document = json.loads(texts["json"])
        assert document["connections"][0]["pid"] == row["pid"]
        assert node.ctl("check_alarms").returncode == 69
        assert node.ctl("list_connections", "--problems", "-s", "last_blocked_cause").stdout == "memory\n"
        # Its advice helps.
        assert node.ctl(*document["alarms"][0]["advice"].split()[1:]).returncode == 0
        node.wait_for("list_connections -s state", "running\n")
        assert "No connection is blocked or throttled. The last was <" in node.ctl("why_blocked").stdout
        peer.close()


def test_an_alarm_by_hand_outlives_the_monitors(node):
    alarm = "{resource_limit, memory, node()}"
    assert node.ctl("eval", f"rabbit_alarm:set_alarm({{{alarm}, []}}).").stdout == "ok\n"
    # The command looks at memory and disk itself, as the monitors do each second.
    node.ctl("set_disk_free_limit", "50MB")
    assert "set by an operator" in node.ctl("alarms").stdout
    assert node.ctl("eval", f"rabbit_alarm:clear_alarm({alarm}).").stdout == "ok\n"
    assert node.ctl("check_alarms").returncode == 0


def test_d10_a_disk_that_is_not_watched_blocks_nobody(node):
    assert "The disk alarm is set" in node.ctl("set_disk_free_limit", "900000GB").stdout
    assert node.ctl("deactivate_free_disk_space_monitoring").returncode == 0
    assert node.ctl("check_alarms").returncode == 0
    assert "Free disk space is not monitored" in node.ctl("status").stdout
    node.ctl("set_disk_free_limit", "50MB")
    assert "free, 50.0 MB required" in node.ctl("activate_free_disk_space_monitoring").stdout


def test_a_reader_who_goes_away_ends_it_quietly(node):
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = node.ctl("list_exchanges", stdout=write_end)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (141, "")


def test_names_are_shown_escaped_where_the_terminal_lacks_them(node):
    node.ctl("add_user", "ä€", "p")
    done = run([*CTL, "list_users", "-s"], {"PYBROKER_SOCKET": str(node.socket), "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, r"\xe4\u20ac" + "\t[]")


def test_stop_returns_when_the_process_is_gone(folder):
    node = LiveNode(folder)
    done = node.ctl("stop")
    assert (done.returncode, done.stderr) == (0, "")
    for _ in range(100):
        # It has ended; its parent, this test, learns it as soon as the kernel hands it over.
        if node.process.poll() is not None:
            break
        time.sleep(0.01)
    assert node.process.returncode == 0
    assert node.ctl("stop").returncode == 69
    assert node.ctl("stop", "--idempotent").returncode == 0
    node.end()


def test_suspended_listeners_are_closed_while_connections_go_on(node):
    with node.peer() as peer:
        assert node.ctl("suspend_listeners", "-q").returncode == 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", node.port), timeout=60)
        assert "the listeners are suspended" in node.ctl("alarms").stdout
        assert node.ctl("check_port_listener", str(node.port)).returncode == 69
        peer.call(commands.Queue.Declare(queue="meanwhile", exclusive=True), commands.Queue.DeclareOk)
        assert node.ctl("resume_listeners", "-q").returncode == 0
        socket.create_connection(("127.0.0.1", node.port), timeout=60).close()
        assert "the listeners are suspended" not in node.ctl("alarms").stdout
        peer.close()


def test_rotated_logs_are_opened_by_their_names(node):
    path = node.folder / f"{node.name}.log"
    path.rename(f"{path}.1")
    assert not path.exists()
    assert node.ctl("rotate_logs", "-q").returncode == 0
    assert "log file reopened" in path.read_text()


def test_the_log_is_followed_for_a_time_and_until_its_reader_leaves(node):
    stream = node.start([*CTL, "-q", "log_tail_stream"])
    # Not before the node follows can anything be told.
    while not select.select([stream.stdout], [], [], 0)[0]:
        assert node.ctl("set_log_level", "info").returncode == 0
    assert "set_log_level" in stream.stdout.readline()
    stream.send_signal(signal.SIGINT)
    stream.communicate(timeout=60)
    assert stream.returncode == 130
    done = node.ctl("log_tail_stream", "-d", "1")
    # The node may have something to say of its own.
    assert done.returncode == 0
    assert done.stdout.startswith("Streaming logs from node pybroker@test for 1 seconds ...\n")


def test_events_are_json_lines(node):
    stream = node.start([*CTL, "consume_event_stream", "--pattern", "^vhost.created"])
    number = 0
    while not select.select([stream.stdout], [], [], 0)[0]:
        number += 1
        assert node.ctl("add_vhost", f"event{number}").returncode == 0
    event = json.loads(stream.stdout.readline())
    assert ("vhost.created", "rmq-cli") == (event["event"], event["user_who_performed_action"])
    stream.kill()
    stream.communicate(timeout=60)


@pytest.mark.parametrize("formatter", ["text", "json", "pretty_table"])
def test_messages_that_could_not_be_shown_stay_in_their_queue(node, formatter):
    name = f"shown {formatter}"
    node.declare_queues([name])
    assert node.ctl("publish", "work", "--queue", name, "--count", "100").returncode == 0
    with Path("/dev/full").open("w") as full:
        words = [*CTL, "get_messages", name, "--count", "50", "--ack", "--format", formatter]
        assert run(words, node.environment, stdout=full).returncode == os.EX_IOERR
    deadline = time.monotonic() + 60
    while depth(node, name) != ["100", "0"]:
        assert time.monotonic() < deadline
    done = node.ctl("get_messages", name, "--count", "60", "--ack", "--format", formatter)
    assert (done.returncode, done.stderr) == (0, "")
    assert depth(node, name) == ["40", "0"]


def depth(node, name):
    rows = node.ctl("list_queues", "-s", "name", "messages_ready", "messages_unacknowledged").stdout.splitlines()
    return next(row.split("\t")[1:] for row in rows if row.startswith(f"{name}\t"))
