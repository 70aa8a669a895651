import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pybroker.testing.daemon_process import DaemonProcess, StartFailed


def test_it_starts_again_on_the_same_data(tmp_path):
    daemon = DaemonProcess(tmp_path, "default_user = someone")
    assert daemon.pid == 0
    daemon.spawn()
    try:
        daemon.wait_until_ready()
        assert daemon.port
        os.kill(daemon.pid, signal.SIGKILL)
        while daemon.pid:
            time.sleep(0.01)
        daemon.spawn()
        daemon.wait_until_ready()
        daemon.stop()
        assert daemon.pid == 0
        assert daemon.log.read_text().count("Server startup complete") == 2
    finally:
        daemon.kill()


def test_a_start_that_fails_says_why(tmp_path):
    daemon = DaemonProcess(tmp_path, "no.such.key = 1")
    daemon.spawn()
    with pytest.raises(StartFailed, match=r"did not start: .*no\.such\.key"):
        daemon.wait_until_ready()
    assert daemon.pid == 0


PARENT = """
import sys, pathlib
from pybroker.testing.daemon_process import DaemonProcess
daemon = DaemonProcess(pathlib.Path(sys.argv[1]), "")
daemon.spawn()
daemon.wait_until_ready()
print(daemon.pid, flush=True)
sys.stdin.read()
"""


def test_it_dies_with_its_parent(tmp_path):
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    wait_until_gone(pid)


def wait_until_gone(pid):
    deadline = time.monotonic() + 60
    while is_alive(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.01)


def is_alive(pid):
    try:
        facts = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # Init may be slow to reap it.
    return facts.rpartition(")")[2].split()[0] not in {"Z", "X"}
