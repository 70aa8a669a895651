"""Commands on files beside the node: against a real one, under load, over kills."""

import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from pamqp import commands as methods

from tests.ctl.live_node import CTL, LiveNode
from tests.sources import ROOT


@pytest.fixture
def node():
    with tempfile.TemporaryDirectory(prefix="ctl") as name:
        node = LiveNode(Path(name))
        yield node
        node.end()


def fill(node, count: int, queue: str = "q", body: bytes = b"x" * 500) -> None:
    """Publish persistent messages into a durable queue; return when all are confirmed."""
    with node.peer() as peer:
        peer.call(methods.Queue.Declare(queue=queue, durable=True), methods.Queue.DeclareOk)
        peer.call(methods.Confirm.Select(), methods.Confirm.SelectOk)
        for _ in range(count):
            peer.publish("", queue, body, b"\x10\x00\x02")
        confirmed = 0
        while confirmed < count:
            confirmed = peer.expect(methods.Basic.Ack).delivery_tag
        peer.close()


def said(done: subprocess.CompletedProcess) -> str:
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_a_backup_under_load_has_all_that_was_confirmed_before_it_began(node):
    fill(node, 300, "before")
    words = [sys.executable, "-m", "tests.ctl.flood", str(node.port), "meanwhile"]
    flood = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        confirmed_at_the_start = int(flood.stdout.readline())
        backup = node.folder / "backup"
        said(node.ctl("backup", "create", str(backup)))
    finally:
        flood.send_signal(signal.SIGTERM)
        flood.communicate(timeout=60)
    said(node.ctl("backup", "verify", str(backup)))
    node.end()
    said(node.ctl("backup", "restore", str(backup), "--data-dir", str(node.folder / "restored")))
    said(node.ctl("log", "verify", "--data-dir", str(node.folder / "restored")))
    again = LiveNode(node.folder, data="restored")
    try:
        queues = dict(line.split("\t") for line in again.ctl("list_queues", "-s").stdout.splitlines())
        assert queues["before"] == "300"
        assert int(queues["meanwhile"]) >= confirmed_at_the_start
    finally:
        again.end()


def test_a_running_node_is_verified_while_it_writes(node):
    fill(node, 200)
    told = said(node.ctl("log", "verify"))
    assert told.startswith("Verifying the log of node pybroker@test ...\nThe data of node pybroker@test is intact: ")
    document = json.loads(said(node.ctl("log_verify", "--formatter", "json")))
    assert (document["messages"], document["damage"]) == (200, [])
    assert json.loads(said(node.ctl("log", "status", "--formatter", "json")))["messages_live"] == 200


def test_a_killed_node_is_verified_and_repaired_where_it_lay(node):
    # Two batches: what is not whole at the end of all is no damage.
    fill(node, 100)
    fill(node, 100)
    data = node.folder / "data"
    node.process.kill()
    node.process.wait()
    assert node.ctl("log", "verify").returncode == 69
    said(node.ctl("log", "verify", "--data-dir", str(data)))
    path = next(data.glob("groups/local/seg.*"))
    octets = bytearray(path.read_bytes())
    octets[octets.index(b"x" * 400) + 7] ^= 1
    path.write_bytes(octets)
    done = node.ctl("log", "verify", "--data-dir", str(data))
    assert done.returncode == 65
    assert f"The data folder {data} is damaged in 1 place:\n * {path.name}: " in done.stderr
    assert "repaired:\n" in said(node.ctl("log", "repair", "--data-dir", str(data)))
    said(node.ctl("log", "verify", "--data-dir", str(data)))
    again = LiveNode(node.folder)
    try:
        assert 0 <= int(again.ctl("list_queues", "-s", "messages").stdout) < 200
        assert "[error]" not in (again.folder / f"{again.name}.log").read_text()
        done = again.ctl("log", "repair", "--data-dir", str(data))
        assert (done.returncode, done.stderr) == (
            69,
            f"Error:\nthe data folder {data} is in use by another pybroker, process {again.process.pid}\n",
        )
    finally:
        again.end()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_nothing_stays_of_a_backup_that_was_interrupted_and_the_node_lets_go(node, stop):
    fill(node, 2_000, body=b"x" * 20_000)
    backup = node.folder / "backup"
    process = node.start([*CTL, "backup", "create", str(backup)], start_new_session=True)
    deadline = time.monotonic() + 60
    while not list(backup.glob("groups/local/seg.*")):
        assert time.monotonic() < deadline
    process.send_signal(stop)
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert process.returncode == (130 if stop == signal.SIGINT else -stop)
    # A backup that was finished before anybody noticed stays, all else is gone.
    deadline = time.monotonic() + 60
    while not (finished := (backup / "MANIFEST.json").exists()) and [
        path for path in backup.rglob("*") if path.is_file()
    ]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # It can be made again, in the same folder.
    said(node.ctl("backup", "verify" if finished else "create", str(backup)))


def test_a_backup_that_cannot_be_made_says_why(node):
    for folder, why in (("/proc/x", "cannot make the folder /proc/x: "), (str(node.folder), "is not empty")):
        done = node.ctl("backup", "create", folder)
        assert done.returncode in {65, 69}
        assert why in done.stderr
        assert "Traceback" not in done.stderr
    assert node.ctl("backup", "verify", "/no/such").stderr == "Error:\nthe folder /no/such does not exist\n"
    assert node.ctl("backup").returncode == 64
    assert node.ctl("backup", "create").returncode == 64


def test_a_node_that_is_down_has_no_log_to_hold(ctl, folder):
    for words in (["log", "verify"], ["backup", "create", str(folder / "b")]):
        outcome = ctl(*words, "--socket", str(folder / "none.sock"))
        assert outcome.code == 69
        assert "no such file or directory" in outcome.err
    assert not (folder / "b").exists()
    assert [] == list(folder.iterdir())
