"""The control socket, with real sockets on a loop of its own."""

import logging
import os
import stat
import sys
from pathlib import Path
from typing import Any

import gevent
import pytest
from gevent import socket

from pybroker.control import codec, commands, server as server_module
from pybroker.control.execute import ROWS_PER_SLICE
from pybroker.control.identity import Identity, login_uid, user_name
from pybroker.control.server import ControlServer
from pybroker.control.spec import Column, Command, Early, NoArgs, Progress
from pybroker.errors import NotFound
from pybroker.store.memory import MemoryDefinitions


def called() -> str:
    """Return how the node calls this process."""
    login = login_uid(os.getpid())
    names = user_name(os.getuid()), "" if login is None else user_name(login)
    return Identity(os.getpid(), os.getuid(), os.getgid()).called(*names)


class Caller:
    """A client that reads when it is told to."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rb")

    def line(self) -> Any:
        """Return the next line's value; None at the end."""
        line = self.file.readline()
        return codec.decode(line) if line else None

    def ask(self, command: str, **args: Any) -> list[Any]:
        """Return all lines of one answer."""
        self.socket.sendall(codec.encode_request(command, args))
        lines = [self.line()]
        while lines[-1] is not None and not (isinstance(lines[-1], dict) and lines[-1].keys() & {"end", "error"}):
            lines.append(self.line())
        return lines


@pytest.fixture
def caller(server):
    caller = Caller(server.path)
    assert caller.line()["protocol"] == 1
    return caller


def listing(name: str, rows: Any, columns: tuple[Column, ...] = (Column("n", lambda n: n, "a number"),)) -> Command:
    return Command(name, "Tests", "Tests", NoArgs, "read", "none", lambda _node, _args: rows, columns)


def test_the_file_is_for_its_owner_only(server):
    assert stat.S_IMODE(server.path.stat().st_mode) == 0o600


def test_commands_for_a_node_without_descriptors_are_loaded(server):
    loaded = {name.rpartition(".")[2] for name in sys.modules if name.startswith(commands.__name__)}
    assert not set(commands.IN_NEED) - loaded


def test_the_node_says_who_it_is(server):
    assert Caller(server.path).line() == {"node": "pybroker@vm", "version": "0.1.0", "protocol": 1}


def test_a_connection_carries_any_number_of_requests(caller):
    assert caller.ask("ping") == [{"value": "Ping succeeded"}, {"end": 0}]
    assert caller.ask("list_users") == [{"columns": ["user", "tags"]}, ["guest", ["administrator"]], {"end": 1}]


def test_requests_may_arrive_octet_by_octet_and_together(caller):
    request = codec.encode_request("ping", {})
    for octet in request:
        caller.socket.sendall(bytes([octet]))
    caller.socket.sendall(b"\n" + request + request)
    assert [caller.line() for _ in range(6)] == [{"value": "Ping succeeded"}, {"end": 0}] * 3


def test_an_empty_listing_has_its_header(caller):
    assert caller.ask("list_queues") == [{"columns": ["name", "messages"]}, {"end": 0}]


def test_a_listing_of_one_thing_may_be_a_document(caller):
    assert "{}" == caller.ask("list_user_limits")[0]["value"]["message"]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (b"nonsense\n", 64),
        (b"[]\n", 64),
        (b'{"command":"os"}\n', 64),
        (b'{"command":"__init__"}\n', 64),
        (b'{"command":"list_queues","args":{"columns":["zz"]}}\n', 64),
        (b'{"command":"list_queues","args":{"vhost":5}}\n', 65),
        (b'{"command":"list_queues","args":{"vhost":"nosuch"}}\n', 65),
        (b'{"command":"list_consumers","args":{"vhost":"nosuch"}}\n', 65),
        (b'{"command":"delete_user","args":{"username":"nobody"}}\n', 67),
        (b'{"command":"delete_user"}\n', 64),
    ],
)
def test_wrong_requests_are_answered_and_the_conversation_goes_on(caller, request_, code):
    caller.socket.sendall(request_)
    assert caller.line()["error"]["exit_code"] == code
    assert caller.ask("ping")[0] == {"value": "Ping succeeded"}


def test_a_request_without_end_is_cut_off(caller):
    caller.socket.sendall(b"x" * (codec.REQUEST_OCTETS_MAX + 1))
    assert caller.line()["error"] == {"text": "a request is longer than 1048576 octets", "exit_code": 64}
    assert caller.line() is None


def test_commands_want_the_app_in_their_state(caller, operator):
    assert caller.ask("reset")[0]["error"]["exit_code"] == 64
    operator.daemon.app_running = False
    text = "this command requires the 'rabbit' app to be running on the target node."
    assert caller.ask("list_queues")[0]["error"]["text"] == f"{text} Start it with 'pybrokerctl start_app'."
    assert caller.ask("ping")[0] == {"value": "Ping succeeded"}
    assert caller.ask("reset")[0] == {"value": None}
    operator.daemon.recovering = 40
    text = "the node is starting: recovering its messages, 40 %. Wait for it with 'pybrokerctl await_startup'."
    assert caller.ask("list_queues")[0]["error"] == {"text": text, "exit_code": 69, "facts": {"app": "starting"}}


def test_a_bug_in_a_command_is_answered_and_logged(caller, add, caplog):
    add(Command("broken", "Tests", "Tests", NoArgs, "read", "none", lambda _node, _args: 1 / 0))
    error = caller.ask("broken")[0]["error"]
    assert error["exit_code"] == 70
    assert "ZeroDivisionError" in error["text"]
    assert "a command failed" in caplog.text
    assert caller.ask("ping")[0] == {"value": "Ping succeeded"}


def test_a_file_that_a_command_cannot_open_is_no_vanished_caller(caller, add, caplog):
    def run(_node, _args):
        raise OSError(24, "Too many open files")

    add(Command("open", "Tests", "Tests", NoArgs, "read", "none", run))
    text = "internal error of the daemon (OSError: [Errno 24] Too many open files); see its log"
    assert caller.ask("open") == [{"error": {"text": text, "exit_code": 70}}]
    assert "Too many open files" in caplog.text
    assert caller.ask("ping")[0]


def test_an_amqp_refusal_is_a_refusal(caller, add):
    def run(_node, _args):
        raise NotFound("no queue 'q' in vhost '/'")

    add(Command("refused", "Tests", "Tests", NoArgs, "read", "none", run))
    text = "no queue 'q' in vhost '/'"
    facts = {"reply_code": 404, "reply_name": "NOT_FOUND", "reply_text": text}
    assert caller.ask("refused") == [{"error": {"text": text, "exit_code": 69, "facts": facts}}]


def test_a_listing_gives_way_to_others_after_each_slice(caller, add):
    turns = 0

    def count():
        nonlocal turns
        while True:
            turns += 1
            gevent.sleep(0)

    add(listing("many", range(2_000)))
    counter = gevent.spawn(count)
    rows = caller.ask("many")
    counter.kill()
    assert rows[-1] == {"end": 2_000}
    assert turns >= 2_000 / ROWS_PER_SLICE


def test_what_nobody_reads_is_not_made(caller, add):
    made = 0

    def rows():
        nonlocal made
        for n in range(1_000_000):
            made += 1
            yield n

    add(listing("endless", rows(), (Column("text", lambda n: f"{n:>1000}", "long"),)))
    caller.socket.sendall(codec.encode_request("endless", {}))
    for _ in range(50):
        gevent.sleep(0.001)
    before = made
    for _ in range(20):
        gevent.sleep(0.001)
    # A kernel's buffer full and one slice, then nothing more.
    assert 0 < before == made < 5_000


def test_a_caller_who_vanishes_ends_the_listing(server, caller, add, caplog):
    add(listing("endless", iter(range(10**9)), (Column("text", lambda n: f"{n:>1000}", "long"),)))
    caller.socket.sendall(codec.encode_request("endless", {}))
    assert caller.line() == {"columns": ["text"]}
    caller.file.close()
    caller.socket.close()
    for _ in range(100):
        gevent.sleep(0.001)
        if not server._callers:
            break
    assert len(server._callers) == 0
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def long_work(steps: int, done: list[int]) -> Command:
    """Return a command that counts what it has done, with a rest after each step."""

    def run(_node, _args):
        for step in range(1, steps + 1):
            done.append(step)
            gevent.sleep(0.001)
            yield Progress(step, steps)
        return "done"

    return Command("long", "Tests", "Tests", NoArgs, "write", "none", run)


def test_long_work_is_told_of_to_who_wants_to_hear(caller, add, monkeypatch):
    monkeypatch.setattr(server_module, "PROGRESS_S", 0)
    add(long_work(3, []))
    assert caller.ask("long") == [{"value": "done"}, {"end": 0}]
    caller.socket.sendall(codec.encode_request("long", {}, progress=True))
    told = [caller.line() for _ in range(5)]
    assert told == [*({"progress": [n, 3]} for n in (1, 2, 3)), {"value": "done"}, {"end": 0}]


def test_long_work_is_left_undone_when_who_wanted_to_hear_of_it_goes(server, caller, add, monkeypatch):
    monkeypatch.setattr(server_module, "PROGRESS_S", 0)
    done = []
    add(long_work(10**6, done))
    caller.socket.sendall(codec.encode_request("long", {}, progress=True))
    assert caller.line() == {"progress": [1, 10**6]}
    caller.file.close()
    caller.socket.close()
    for _ in range(1000):
        gevent.sleep(0.001)
        if not server._callers:
            break
    assert len(server._callers) == 0
    assert len(done) < 1000


def test_an_answer_may_come_before_the_work_is_done(server, caller, add, monkeypatch):
    monkeypatch.setattr(server_module, "PROGRESS_S", 0)
    ended = []

    def run(_node, _args):
        try:
            yield Early({"held": 1})
            while True:
                gevent.sleep(0.001)
                yield Progress(0, 0)
        finally:
            ended.append(True)

    add(Command("hold", "Tests", "Tests", NoArgs, "write", "none", run))
    caller.socket.sendall(codec.encode_request("hold", {}, progress=True))
    assert [caller.line() for _ in range(3)] == [{"value": {"held": 1}}, {"progress": [0, 0]}, {"progress": [0, 0]}]
    assert ended == []
    caller.file.close()
    caller.socket.close()
    for _ in range(1000):
        gevent.sleep(0.001)
        if ended:
            break
    assert ended == [True]


def test_what_is_done_beside_the_node_is_not_its_business(caller):
    text = "log_verify does not run in the node; use pybrokerctl"
    assert caller.ask("log_verify") == [{"error": {"text": text, "exit_code": 64}}]


def test_changes_are_logged_without_secrets(caller, caplog):
    caplog.set_level(logging.INFO, "pybroker")
    caller.ask("list_users")
    caller.ask("add_user", username="u", password="hush")
    told = [record.getMessage() for record in caplog.records if record.getMessage().startswith("control:")]
    assert told == [f"control: {called()} runs add_user username='u' password=***"]


def test_a_dead_nodes_socket_is_replaced_a_living_ones_is_not(server, operator, folder):
    second = ControlServer(operator.world.broker, server.path, operator.daemon)
    with pytest.raises(OSError, match="another daemon is listening"):
        second.start()
    dead = folder / "dead.sock"
    leftover = socket.socket(socket.AF_UNIX)
    leftover.bind(str(dead))
    leftover.close()
    third = ControlServer(operator.world.broker, dead, operator.daemon)
    third.start()
    assert Caller(dead).line()["node"] == "pybroker@vm"
    third.stop()


def test_after_stop_nobody_answers_and_the_file_is_gone(server, caller):
    server.stop()
    assert not server.path.exists()
    assert caller.line() is None
    server.stop()  # again, and nothing happens


def test_stop_leaves_a_successors_socket_alone(server):
    server.path.unlink()
    server.path.write_text("not ours")
    server.stop()
    assert server.path.read_text() == "not ours"


class Stranger:
    """A caller that, as the kernel says, is neither root nor the broker's own user."""

    size = server_module.PEERCRED.size

    @staticmethod
    def unpack(_octets: bytes) -> tuple[int, int, int]:
        return 1, os.geteuid() + 1, 1


def test_a_refusal_may_hold_facts_for_programs(caller, operator):
    operator.world.broker.alarms.set("memory", "much")
    error = caller.ask("check_alarms")[0]["error"]
    assert (69, ["Memory alarm on node pybroker@vm: much"]) == (error["exit_code"], error["facts"]["local"])
    assert caller.ask("list_queues", vhost="nosuch")[0]["error"]["facts"] == {"missing": "vhost"}
    assert "facts" not in caller.ask("list_queues", columns=["nosuch"])[0]["error"]


def test_other_users_are_refused(server, monkeypatch):
    monkeypatch.setattr(server_module, "PEERCRED", Stranger)
    caller = Caller(server.path)
    ours = os.geteuid()
    text = f"the control socket serves root and the daemon's user (uid {ours}), not uid {ours + 1}"
    assert caller.line() == {"error": {"text": text, "exit_code": 69}}
    assert caller.line() is None


class SlowDefinitions(MemoryDefinitions):
    """Hands out commit positions; the test completes them."""

    __slots__ = ()

    def put(self, kind, key, value):
        self.commit_position += 1
        return self.commit_position


@pytest.fixture
def definitions(operator, server):
    broker = operator.world.broker
    broker.definitions = SlowDefinitions()
    return broker.definitions


def test_a_change_is_answered_when_it_is_on_disk(caller, definitions):
    caller.socket.sendall(codec.encode_request("add_vhost", {"vhost_name": "v"}))
    caller.socket.settimeout(0.05)
    with pytest.raises(TimeoutError):
        caller.socket.recv(1)
    definitions.completed = definitions.commit_position
    caller.socket.settimeout(60)
    assert b'{"value":null}\n{"end":0}\n' == caller.socket.recv(1_000)


def test_a_change_that_never_gets_to_disk_is_an_error(caller, definitions):
    definitions.failed = "cannot write x"
    (answer,) = caller.ask("add_vhost", vhost_name="v")
    assert {"text": "the change is in effect, but not on disk: cannot write x", "exit_code": os.EX_IOERR} == answer[
        "error"
    ]
