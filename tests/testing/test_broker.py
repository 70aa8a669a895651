import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pika
import pytest

from pybroker.testing import Broker
from pybroker.testing.broker import BrokerError
from tests.testing.test_daemon_process import wait_until_gone


def test_it_serves_and_leaves_nothing():
    with Broker("default_user_tags.monitoring = true") as broker:
        folder, pid = broker.folder, broker.pid
        assert folder.is_dir()
        assert "Server startup complete" in broker.log
        pika.BlockingConnection(pika.URLParameters(broker.uri)).close()
        assert broker.uri.endswith(f":{broker.port}/%2F")
        assert broker.direct_port != broker.port
        assert broker.request("list_users")[0]["tags"] == ["monitoring"]
        assert repr(broker) == f"<Broker {broker.uri}>"
    assert not folder.exists()
    assert not Path(f"/proc/{pid}").exists()
    assert repr(broker) == "<Broker stopped>"
    for use in (lambda: broker.uri, broker.drop_connections):
        with pytest.raises(BrokerError, match="was not started, or is stopped"):
            use()
    broker.stop()


def test_a_start_that_fails_says_why():
    with pytest.raises(BrokerError, match=r"no\.such\.key"):
        Broker("no.such.key = 1").start()


def test_a_refusal_and_a_dead_daemon_are_told(server):
    with pytest.raises(BrokerError, match=r"^purge_queue: "):
        server.request("purge_queue", queue="nothing")
    with server.kill(), pytest.raises(BrokerError, match=r"the broker is down .*its log:\n(.*\n)*.*Server startup"):
        server.request("ping")


def test_a_daemon_that_was_killed_by_others_comes_back(server):
    server.revive()
    os.kill(server.pid, signal.SIGKILL)
    # It is reaped when the last of its threads is gone.
    deadline = time.monotonic() + 60
    while server.running:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    server.revive()
    assert server.running
    pika.BlockingConnection(pika.URLParameters(server.uri)).close()


def test_a_supervisor_that_was_killed_is_told_and_its_folder_removed():
    broker = Broker().start()
    folder, pid = broker.folder, broker.pid
    broker._process.kill()
    with pytest.raises(BrokerError, match="supervisor is gone"):
        broker.drop_connections()
    broker.stop()
    wait_until_gone(pid)
    assert not folder.exists()


CRASHES = """
import os, sys
from pybroker.testing import Broker
broker = Broker().start()
if os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
print(broker.pid, broker.folder, broker._process.pid, flush=True)
sys.stdin.read()
"""


def test_a_run_that_is_killed_leaves_nothing_even_if_a_child_of_it_lives_on():
    with subprocess.Popen(
        [sys.executable, "-c", CRASHES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        pid, folder, supervisor = run.stdout.readline().split()
        run.kill()
        for each in (pid, supervisor):
            wait_until_gone(int(each))
    assert not Path(folder).exists()


def test_a_fork_does_not_end_it_for_others():
    with Broker() as broker:
        child = os.fork()
        if not child:
            broker.stop()
            os._exit(0)
        os.waitpid(child, 0)
        assert broker.running
