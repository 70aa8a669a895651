"""pybrokerctl as a process, against the daemon as a process: what a script sees."""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import pytest
from ctl.live_node import CTL, LiveNode, run


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
