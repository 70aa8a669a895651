"""The audit log of a whole node: what stands in it after a day's work, and who can read it. No secret does."""

import contextlib
import io
import json
import signal
import time
from pathlib import Path

import pika
import pytest
from pika.exceptions import AMQPError

from pybrokerctl.main import main
from tests.daemon.running import Running

SECRET = "hunter2-planted"
HOSTILE = 'q\x1b[31m"\u202e{"event":"forged"}'
FORGED = '{"event":"forged"}'
PATIENCE_S = 60.0


class Node:
    """A running node, and pybrokerctl within this process."""

    def __init__(self, folder: Path) -> None:
        self.running = Running(folder)
        self.path = folder / "data" / "log" / "test@here-audit.log"

    def ctl(self, *words: str, code: int = 0) -> str:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            found = main(["--socket", str(self.running.socket), *words])
        assert code == found, output.getvalue()
        return output.getvalue()

    def audit(self, *words: str) -> list[dict[str, object]]:
        columns = ("time", "event", "vhost", "name", "user", "peer", "connection", "cause", "facts")
        return json.loads(self.ctl("audit", *columns, "--formatter", "json", "-q", *words))

    def connect(self, user: str = "guest", password: str = "guest", name: str = "") -> pika.BlockingConnection:
        credentials = pika.PlainCredentials(user, password)
        return pika.BlockingConnection(
            pika.ConnectionParameters(
                "127.0.0.1", self.running.port, "/", credentials, client_properties={"connection_name": name}
            )
        )


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    node = Node(tmp_path_factory.mktemp("audited"))
    yield node
    assert (0, "") == node.running.stop()
    entries = [json.loads(line) for line in node.path.read_text().splitlines()]
    assert "node.stopped" == entries[-1]["event"]
    assert [] == [entry for entry in entries if entry["event"] == "forged"]


@pytest.fixture(scope="module")
def secrets(node):
    """All ways a secret can come in, and nothing of any of them may be found in a file of the log."""
    node.ctl("add_user", "ann", SECRET)
    node.ctl("change_password", "ann", f"{SECRET}2")
    node.ctl("add_user", "ann", SECRET, code=70)
    node.ctl("set_permissions", "ann", ".*", ".*", ".*")
    node.ctl("set_global_parameter", "uri", f'"amqp://u:{SECRET}@host"')
    node.connect("ann", f"{SECRET}2").close()
    with contextlib.suppress(AMQPError):
        node.connect("ann", f"{SECRET}-wrong")
    node.ctl("delete_user", "ann")


def test_no_secret_stands_in_any_log(node, secrets):
    node.audit()
    for path in node.path.parent.iterdir():
        assert SECRET not in path.read_text(), path
    commands = [entry["facts"] for entry in node.audit("--event", "command")]
    assert "username='ann' password=***" == commands[0]["arguments"]
    assert [0, 0, 70] == [facts["exit"] for facts in commands[:3]]
    [failure] = node.audit("--event", "user.authentication.failure")
    assert ("ann", "user 'ann' - invalid credentials") == (failure["name"], failure["cause"])
    assert str(failure["peer"]).startswith("127.0.0.1:")


def test_who_deleted_my_queue(node):
    connection = node.connect(name=f"{HOSTILE}\n{FORGED}\n")
    channel = connection.channel()
    channel.confirm_delivery()
    for name in ("mine", "theirs", HOSTILE):
        channel.queue_declare(name, durable=True)
        channel.basic_publish("", name, b"a message")
    channel.queue_delete("mine")
    channel.queue_delete(HOSTILE)
    node.ctl("delete_queue", "theirs")
    connection.close()
    told = node.ctl("why_deleted", "mine", "-q")
    assert "Queue 'mine' in vhost '/' was deleted at " in told
    assert " by user 'guest' from 127.0.0.1:" in told
    assert ". 1 message were deleted with it." in told
    assert ": command delete_queue. 1 message were deleted with it." in node.ctl("why_deleted", "theirs", "-q")
    assert (
        "client" == json.loads(node.ctl("why_deleted", HOSTILE, "-q", "--formatter", "json"))["deletions"][0]["cause"]
    )
    node.ctl("why_deleted", "never", code=65)
    assert "\x1b" not in node.ctl("why_deleted", HOSTILE, "-q")


def test_entries_are_found_by_event_name_user_and_time(node):
    node.ctl("set_vhost_tags", "/", "production")
    assert ["production"] == node.audit("--event", "vhost.tags.set", "-N", "1")[0]["facts"]["tags"]
    assert {"rmq-cli"} == {entry["user"] for entry in node.audit("--user", "rmq-cli", "--since", "1h")}
    assert [] == node.audit("--since", "2999-01-01")
    table = node.ctl("audit", "--name", "set_vhost_tags", "-N", "1", "-q")
    assert "arguments=vhost='/' tags=('production',)" in table


def test_the_log_goes_on_in_a_new_file_after_a_rotation(node):
    node.ctl("set_vhost_tags", "/", "before")
    assert node.audit("-N", "1")
    old = node.path.rename(node.path.with_suffix(".1"))
    node.running.signal(signal.SIGHUP)
    deadline = time.monotonic() + PATIENCE_S
    while "log file reopened" not in (node.path.parent / "test@here.log").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    node.ctl("set_vhost_tags", "/", "after")
    assert ["after"] == node.audit("--event", "vhost.tags.set")[0]["facts"]["tags"]
    assert "before" in old.read_text()
    assert "after" not in old.read_text()
    old.unlink()


def test_a_node_without_an_audit_log_says_so(tmp_path):
    config = tmp_path / "pybroker.conf"
    config.write_text("log.audit = false\n")
    running = Running(tmp_path, "--config", str(config), "--port", "0", "--bind", "127.0.0.1", "--node", "test@here")
    try:
        told = running.ctl("audit", expected=69)
        assert "the node does not write an audit log (log.audit = false)" in told
        assert [] == list(tmp_path.rglob("*audit*"))
    finally:
        assert (0, "") == running.stop()
