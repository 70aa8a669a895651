"""A real daemon, stopped and killed: what is durable is there again, what is not is gone, damage stops nothing."""

import contextlib
import json
import logging
import os
import signal
import socket
import sqlite3
from types import SimpleNamespace

import pika
import pytest

from pybroker.core.broker import Broker
from pybroker.core.settings import Settings
from pybroker.daemon.definitions import DefinitionsStorage
from pybroker.daemon.start_error import StartError
from pybroker.session import Turn
from pybroker.store.definitions.row_file import PUT_META, meta_row
from tests.clock import FakeClock
from tests.daemon.running import WAIT_S, Running

NOISE = b"this was a database once\n" * 400


class Attended(Running):
    """A daemon whose clients hang up before it stops: idle ones would not answer its goodbye, which it waits for."""

    def __init__(self, folder):
        super().__init__(folder)
        self.peers = []

    def hang_up(self):
        for peer in self.peers:
            with contextlib.suppress(pika.exceptions.AMQPError):
                peer.close()
        self.peers.clear()

    def stop(self):
        self.hang_up()
        return super().stop()


@pytest.fixture
def start(tmp_path):
    """Start a daemon on the test's only folder; whoever started the one before has ended it."""
    started = []

    def start():
        started.append(Attended(tmp_path))
        return started[-1]

    yield start
    for running in started:
        running.stop()
        assert "Traceback" not in running.log


def channel_of(daemon, **given):
    parameters = pika.ConnectionParameters("127.0.0.1", daemon.port, heartbeat=0, **given)
    daemon.peers.append(pika.BlockingConnection(parameters))
    return daemon.peers[-1].channel()


def kill(daemon):
    daemon.signal(signal.SIGKILL)
    assert -signal.SIGKILL == daemon.ended()[0]


def ended(daemon):
    daemon.stop()


def ask(daemon, command, **args):
    """Return the value, or the rows as dicts, that the control socket answers: twenty times as fast as pybrokerctl."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(WAIT_S)
        peer.connect(str(daemon.socket))
        lines = (json.loads(line) for line in peer.makefile("rb"))
        next(lines)
        peer.sendall(json.dumps({"command": command, "args": args}).encode() + b"\n")
        answer = list(until_end(lines))
    assert "error" not in answer[-1], answer[-1]
    head = answer[0]
    if "value" in head:
        return head["value"]
    return [dict(zip(head["columns"], row, strict=True)) for row in answer[1:-1]]


def until_end(lines):
    for line in lines:
        yield line
        if isinstance(line, dict) and {"end", "error"} & set(line):
            return


def define(daemon):
    """Make one of everything."""
    ask(daemon, "add_vhost", vhost_name="v", description="what for", tags="a,b", default_queue_type="quorum")
    ask(daemon, "add_user", username="u", password="secret")
    ask(daemon, "set_user_tags", username="u", tags=["monitoring"])
    ask(daemon, "set_permissions", vhost="v", username="u", configure="c.*", write=".*", read="r.*")
    ask(daemon, "set_permissions", vhost="v", username="guest", configure=".*", write=".*", read=".*")
    ask(daemon, "set_topic_permissions", vhost="v", username="u", exchange="x", write="w.*", read="r.*")
    ask(daemon, "set_cluster_name", cluster_name="mine")
    idle = '{"max-length":3,"ha-mode":"all"}'
    ask(daemon, "set_policy", vhost="v", name="p", pattern="^q", definition=idle, priority=2)
    ask(daemon, "set_operator_policy", vhost="v", name="o", pattern="", definition='{"expires":60000}')
    ask(daemon, "set_policy", vhost="v", name="gone", pattern="", definition='{"max-length":1}', priority=9)
    ask(daemon, "clear_policy", vhost="v", name="gone")
    ask(daemon, "set_global_parameter", name="g", value='{"a":[1,null]}')
    ask(daemon, "add_vhost", vhost_name="safe")
    ask(daemon, "update_vhost_metadata", vhost="safe", protected_from_deletion="true")
    channel = channel_of(daemon, virtual_host="v")
    channel.exchange_declare("x", "topic", durable=True, internal=True, arguments={"alternate-exchange": "y"})
    channel.exchange_declare("transient-x")
    channel.queue_declare("q", durable=True, arguments={"x-max-length": 5, "x-queue-type": "classic"})
    channel.queue_declare("default", durable=True)
    channel.queue_declare("transient")
    channel.queue_declare("exclusive", durable=True, exclusive=True)
    channel.queue_bind("q", "x", "a.*", {"n": 1})
    channel.queue_bind("q", "transient-x")
    channel.queue_bind("transient", "x", "b.*")
    return channel


def look(daemon):
    """Return all that is defined."""
    columns = ["name", "durable", "type", "arguments", "policy", "operator_policy", "effective_policy_definition"]
    found = [ask(daemon, "list_queues", vhost="v", columns=columns)]
    columns = ["name", "type", "durable", "internal", "arguments", "policy"]
    found += [ask(daemon, "list_exchanges", vhost="v", columns=columns)]
    found += [ask(daemon, "list_vhosts", columns=["name", "description", "tags", "default_queue_type", "metadata"])]
    found += [ask(daemon, listing, vhost="v") for listing in ("list_bindings", "list_permissions")]
    found += [ask(daemon, "list_topic_permissions", vhost="v"), ask(daemon, "list_users")]
    policies = ("list_policies", "list_operator_policies", "list_parameters")
    found += [ask(daemon, "list_global_parameters"), *[ask(daemon, listing, vhost="v") for listing in policies]]
    return [sorted(each, key=str) for each in found]


def durable_part(found):
    """Return what of it outlives the daemon."""
    gone = ("transient", "transient-x", "exclusive")
    return [[row for row in listing if not set(gone) & set(map(str, row.values()))] for listing in found]


@pytest.mark.parametrize("end", [kill, ended])
def test_what_is_durable_is_there_again_and_nothing_else(start, end):
    daemon = start()
    define(daemon)
    before = look(daemon)
    end(daemon)
    daemon = start()
    assert durable_part(before) == look(daemon)
    assert before != look(daemon)
    assert "mine" == ask(daemon, "cluster_status")["cluster_name"]
    ask(daemon, "authenticate_user", username="u", password="secret")
    assert [] == ask(daemon, "alarms")["alarms"]
    channel_of(daemon, virtual_host="v").queue_declare("default", durable=True)


def test_a_kill_right_after_declare_ok_keeps_every_queue(start):
    for round_ in range(3):
        daemon = start()
        channel = channel_of(daemon)
        for number in range(20):
            channel.queue_declare(f"q{round_}.{number}", durable=True)
        kill(daemon)
    daemon = start()
    assert 60 == len(ask(daemon, "list_queues", columns=["name"]))


def test_what_was_deleted_stays_deleted_the_default_user_too(start):
    daemon = start()
    define(daemon)
    ask(daemon, "delete_user", username="guest")
    ask(daemon, "delete_vhost", vhost_name="v")
    daemon.stop()
    daemon = start()
    assert ["u"] == [row["user"] for row in ask(daemon, "list_users")]
    assert ["/", "safe"] == [row["name"] for row in ask(daemon, "list_vhosts", columns=["name"])]


def test_queue_ids_are_not_used_again(start, tmp_path):
    daemon = start()
    channel = channel_of(daemon)
    channel.queue_declare("gone", durable=True)
    channel.queue_delete("gone")
    daemon.stop()
    daemon = start()
    channel_of(daemon).queue_declare("new", durable=True)
    daemon.stop()
    with sqlite3.connect(tmp_path / "data" / "definitions.sqlite") as human:
        ((value,),) = human.execute("SELECT value FROM queue")
    human.close()
    assert json.loads(value)["id"] > 1


def test_a_reset_node_is_new_after_a_restart_too(start):
    daemon = start()
    define(daemon)
    daemon.hang_up()
    ask(daemon, "stop_app")
    ask(daemon, "reset")
    kill(daemon)
    daemon = start()
    assert ["guest"] == [row["user"] for row in ask(daemon, "list_users")]
    assert ["/"] == [row["name"] for row in ask(daemon, "list_vhosts", columns=["name"])]
    assert [] == ask(daemon, "list_queues", columns=["name"])


def test_damage_is_repaired_logged_and_shown(start, tmp_path):
    daemon = start()
    define(daemon)
    before = look(daemon)
    daemon.stop()
    (tmp_path / "data" / "definitions.sqlite").write_bytes(NOISE)
    daemon = start()
    assert durable_part(before) == look(daemon)
    (notice,) = ask(daemon, "alarms")["notices"]
    assert "definitions were restored from definitions.json" in notice
    assert [notice] == ask(daemon, "status")["notices"]
    assert f"[error] <0.{daemon.pid}.0> {notice}" in daemon.log
    daemon.stop()
    daemon = start()
    assert [] == ask(daemon, "alarms")["notices"]
    assert NOISE == (tmp_path / "data" / "definitions.sqlite.damaged-1").read_bytes()


def test_a_later_version_is_refused(start, tmp_path):
    start().stop()
    with sqlite3.connect(tmp_path / "data" / "definitions.sqlite") as later:
        later.execute(PUT_META, meta_row("schema", "2"))
    later.close()
    code, stderr = start().ended()
    assert os.EX_CONFIG == code
    assert "definitions.sqlite was written by a later version of pybroker (schema 2" in stderr


def test_definitions_that_cannot_be_written_end_the_node_and_what_waits_is_no_ok(start, tmp_path):
    daemon = start()
    channel = channel_of(daemon)
    with sqlite3.connect(tmp_path / "data" / "definitions.sqlite") as other:
        other.execute('DROP TABLE "queue"')
    other.close()
    with pytest.raises(pika.exceptions.AMQPError):
        channel.queue_declare("q", durable=True)
    assert os.EX_IOERR == daemon.ended()[0]
    assert "[critical]" in daemon.log
    assert "cannot write definitions, stopping the node: cannot write" in daemon.log


class Loop:
    """Stands for the turn of an event loop that is never run."""

    def __init__(self):
        self.clock = FakeClock()
        self.reading = False
        self.busy_poll = SimpleNamespace(working=0)

    def after_reading(self):
        pass


def test_a_full_disk_is_a_notice_until_it_is_over(tmp_path, caplog):
    caplog.set_level(logging.INFO, "pybroker")
    turn = Loop()
    storage = DefinitionsStorage(tmp_path, turn.clock, turn, lambda: None)
    broker = Broker(Settings(), turn.clock, Turn(), storage.store)
    storage.restore(broker)
    storage.store.on_trouble("cannot write x: disk full")
    assert ["cannot write x: disk full"] == broker.notices
    storage.store.on_trouble("")
    assert [] == broker.notices
    messages = [record.message for record in caplog.records]
    assert [
        "cannot write x: disk full; retrying each second",
        "definitions can be written again",
    ] == messages
    storage.close()
    storage.close()


def test_a_folder_that_cannot_be_written_is_refused_with_a_sentence(tmp_path):
    turn = Loop()
    with pytest.raises(StartError, match=r"cannot open the definitions: cannot list .*: No such file or directory"):
        DefinitionsStorage(tmp_path / "missing", turn.clock, turn, lambda: None)


def test_rows_that_cannot_be_restored_are_told_of(tmp_path):
    turn = Loop()
    for made in (True, False):
        storage = DefinitionsStorage(tmp_path, turn.clock, turn, lambda: None)
        broker = Broker(Settings(), turn.clock, Turn(), storage.store)
        storage.restore(broker)
        if made:
            for name in ("x", "y"):
                value = {"type": "x-later", "auto_delete": False, "internal": False, "arguments": {}, "user": ""}
                storage.store.put("exchange", ("/", name), value)
        storage.close()
    reason = "cannot be restored: unknown exchange type 'x-later' (and 1 more; see the log)"
    assert [f"exchange (vhost '/', name 'x') {reason}"] == broker.notices
