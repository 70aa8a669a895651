import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pika
import pytest

from pybroker.testing import supervisor
from tests.testing.test_daemon_process import wait_until_gone

COMMAND = (sys.executable, "-m", "pybroker.testing")


def started(*options, **places):
    return subprocess.Popen(
        [*COMMAND, *options], **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, **places}
    )


def order(process, text):
    process.stdin.write(f"{text}\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


@pytest.fixture
def running():
    with started("--json") as process:
        process.facts = json.loads(process.stdout.readline())
        yield process
        if process.poll() is None:
            process.kill()
    wait_until_gone(process.facts["pid"])


def test_the_uri_is_one_line_and_the_end_of_input_ends_it():
    with started() as process:
        uri = process.stdout.readline().strip()
        pika.BlockingConnection(pika.URLParameters(uri)).close()
        out, _ = process.communicate(timeout=60)
    assert uri.startswith("amqp://guest:guest@127.0.0.1:")
    assert out == ""
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it(running, number):
    running.send_signal(number)
    assert running.wait(60) == 0
    wait_until_gone(running.facts["pid"])
    assert not Path(running.facts["folder"]).exists()


def test_an_input_that_is_no_pipe_does_not_end_it():
    with started("--json", stdin=subprocess.DEVNULL) as process:
        facts = json.loads(process.stdout.readline())
        pika.BlockingConnection(pika.URLParameters(facts["uri"])).close()
        process.terminate()
        assert process.wait(60) == 0
    assert not Path(facts["folder"]).exists()


def test_orders_are_obeyed_one_after_the_other(running):
    uri = running.facts["uri"]
    connection = pika.BlockingConnection(pika.URLParameters(uri))
    assert order(running, "drop") == {"ok": 1}
    with pytest.raises(pika.exceptions.AMQPError):
        connection.process_data_events(10)
    assert order(running, "kill") == {"ok": None}
    wait_until_gone(running.facts["pid"])
    with pytest.raises(pika.exceptions.AMQPConnectionError):
        pika.BlockingConnection(pika.URLParameters(uri))
    again = order(running, "start")["ok"]
    assert again["uri"] == uri
    assert again["pid"] != running.facts["pid"]
    pika.BlockingConnection(pika.URLParameters(uri)).close()
    assert order(running, "latency 0.001") == {"ok": None}
    assert "orders are drop" in order(running, "sing")["error"]
    assert "could not convert" in order(running, "latency much")["error"]
    running.stdin.write("quit\n")
    running.stdin.flush()
    assert running.wait(60) == 0
    wait_until_gone(again["pid"])


def test_it_ends_when_its_parent_is_gone_although_somebody_holds_the_pipe():
    reader, writer = os.pipe()
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent,
        started("--json", "--parent", str(parent.pid), stdin=reader) as process,
    ):
        facts = json.loads(process.stdout.readline())
        parent.kill()
        parent.wait()
        assert process.wait(60) == 0
    os.close(reader)
    os.close(writer)
    assert not Path(facts["folder"]).exists()


def test_a_supervisor_that_was_killed_leaves_no_daemon_and_the_next_one_removes_its_folder(running):
    running.kill()
    running.wait(60)
    wait_until_gone(running.facts["pid"])
    assert Path(running.facts["folder"]).exists()
    with started() as process:
        process.stdout.readline()
        process.communicate(timeout=60)
    assert not Path(running.facts["folder"]).exists()


def test_a_configuration_that_is_wrong_is_told():
    process = started("--config", "no.such.key = 1", stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=60)
    assert process.returncode == os.EX_UNAVAILABLE
    assert out == ""
    assert "no.such.key" in err


def test_a_long_path_is_avoided(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", f"{tmp_path}/{'x' * 100}")
    assert supervisor._base() == Path("/tmp")
    monkeypatch.setattr("tempfile.tempdir", "/var/tmp")
    assert supervisor._base() == Path("/var/tmp")


def test_a_small_memory_is_spared(monkeypatch):
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", "/tmp")
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 64 << 20}))
    assert supervisor._base() == Path("/tmp")
