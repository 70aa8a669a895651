"""Audit records of the control socket: each command that changes something, and its outcome."""

import os
import tempfile
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest
from pamqp import commands as amqp

from pybroker.control import commands
from pybroker.control.server import ControlServer
from pybroker.control.spec import Arg, Command, NoArgs, Refused
from tests.control.test_server import Caller, called

SECRET = "hunter2-planted"


@pytest.fixture
def entries(operator) -> list[tuple[Any, ...]]:
    entries: list[tuple[Any, ...]] = []
    operator.world.broker.events.add_receiver(lambda *given: entries.append(given))
    return entries


@pytest.fixture
def caller(operator, entries):
    with tempfile.TemporaryDirectory(prefix="ctl") as folder:
        server = ControlServer(operator.world.broker, Path(folder) / "c.sock", operator.daemon)
        server.start()
        caller = Caller(server.path)
        caller.line()
        yield caller
        server.stop()


def of_commands(entries: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [dict(facts) for event, facts, _, _ in entries if event == "command"]


def test_a_command_is_told_with_who_called_and_what_came_of_it(caller, entries, peer):
    peer.declare("q")
    entries.clear()
    caller.ask("delete_queue", queue_name="q")
    deleted, command = entries
    who = called()
    assert ("queue.deleted", ("command delete_queue", "rmq-cli", who)) == (deleted[0], deleted[2])
    assert ("command", deleted[2]) == (command[0], command[2])
    assert {
        "name": "delete_queue",
        "arguments": "queue_name='q'",
        "exit": 0,
        "error": "",
        "uid": os.getuid(),
        "gid": os.getgid(),
        "pid": os.getpid(),
    } == command[1]


def test_one_that_is_refused_is_told_as_well(caller, entries):
    caller.ask("delete_queue", queue_name="nowhere")
    [command] = of_commands(entries)
    assert ("delete_queue", 65) == (command["name"], command["exit"])
    assert "nowhere" in command["error"]


def test_one_that_only_looks_is_not(caller, entries):
    caller.ask("list_queues")
    caller.ask("status")
    assert [] == entries


def test_what_happens_later_is_not_laid_to_the_command(caller, entries, operator, peer):
    peer.declare("q")
    caller.ask("purge_queue", queue="q")
    peer.call(amqp.Queue.Delete(queue="q"))
    why = [(event, cause.why) for event, _, cause, _ in entries if event.startswith(("queue", "command"))]
    assert [
        ("queue.created", "client"),
        ("queue.purged", "command purge_queue"),
        ("command", "command purge_queue"),
        ("queue.deleted", "client"),
    ] == why


def test_a_command_that_fails_inside_is_told(caller, entries, monkeypatch):
    def fail(_node: Any, _args: Any) -> None:
        raise RuntimeError("a bug")

    put(monkeypatch, Command("faulty", "Tests", "Tests", NoArgs, "write", "none", fail))
    caller.ask("faulty")
    assert [(70, "it failed")] == [(one["exit"], one["error"]) for one in of_commands(entries)]


def put(monkeypatch, command: Command) -> None:
    load = commands.load
    monkeypatch.setattr(commands, "KNOWN", {*commands.KNOWN, command.name})
    monkeypatch.setattr(commands, "load", lambda name: command if name == command.name else load(name))


def test_a_command_that_is_refused_amid_its_work_is_told(caller, entries, monkeypatch):
    seen = []

    class Args(NamedTuple):
        word: Annotated[str, Arg("secret", secret=True)]

    def work(node: Any, _args: Any) -> Any:
        def steps() -> Any:
            seen.append(node.cause.why)
            raise Refused("no")
            yield

        return steps()

    put(monkeypatch, Command("slow", "Tests", "Tests", Args, "destroy", "none", work))
    caller.ask("slow", word=SECRET)
    assert ["command slow"] == seen
    [command] = of_commands(entries)
    assert ("word=***", "no", 65) == (command["arguments"], command["error"], command["exit"])


def test_no_password_is_told(caller, entries):
    caller.ask("add_user", username="ann", password=SECRET)
    caller.ask("change_password", username="ann", password=SECRET)
    caller.ask("add_user", username="ann", password=SECRET)
    assert 3 == len(of_commands(entries))
    assert SECRET not in str(entries)
