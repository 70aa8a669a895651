"""Rules for every command: the table, the files, the columns, the banner and the man page agree."""

from itertools import pairwise
from pathlib import Path

import pytest
from pamqp import commands as methods

from pybroker.control import codec, commands
from pybroker.control.spec import Command
from pybroker.core.queue.queue import Queue
from pybroker.wire.stream.commands import StoreOffset
from tests.control.made_stream import make_stream
from tests.stream_peer import StreamPeer

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = [commands.load(name) for name in commands.NAMES]
LISTINGS = [command for command in COMMANDS if command.columns]


def each(of: list[Command]):
    return pytest.mark.parametrize("command", of, ids=[command.name for command in of])


def test_the_table_and_the_folder_name_the_same_commands():
    files = {path.stem for path in (ROOT / "pybroker/control/commands").rglob("*.py")} - {"__init__"}
    assert files == commands.KNOWN == {*commands.NAMES, *commands.INTERNAL}
    assert len(set(commands.NAMES)) == len(commands.NAMES)
    assert [command.name for command in COMMANDS] == list(commands.NAMES)


def test_every_command_has_a_test_file_of_its_name():
    tests = {path.stem.removeprefix("test_") for path in (ROOT / "tests/control/commands").rglob("test_*.py")}
    assert tests == commands.KNOWN


def test_sections_are_not_torn_apart():
    starts = [after.section for before, after in pairwise(COMMANDS) if before.section != after.section]
    assert len(set(starts)) == len(starts)


@each(COMMANDS)
def test_the_description_is_complete(command):
    assert command.summary
    assert not command.summary.endswith(".")
    assert command.effect in ("read", "write", "destroy")
    assert command.app in ("running", "stopped", "any")
    flags = [flag for field in command.fields() for flag in field.arg.flags.split()]
    assert len(set(flags)) == len(flags)
    for field in command.fields():
        assert field.arg.help
        assert field.positional or field.option


@each([command for command in COMMANDS if isinstance(command.banner, str)])
def test_the_banner_names_only_what_there_is(command):
    values = dict.fromkeys([field.name for field in command.fields()], "x")
    # An empty one is for commands that say nothing but their answer, as rabbitmqctl's do.
    assert bool(command.banner.format(**values, node="n", timeout=1.0, timeout_ms=1)) == bool(command.banner)


@each(LISTINGS)
def test_columns_are_named_once_and_the_default_ones_exist(command):
    names = [column.name for column in command.columns]
    assert len(set(names)) == len(names)
    assert set(command.shown(command.args()) if callable(command.default) else command.default) <= set(names)
    assert all(column.help for column in command.columns)


@each(LISTINGS)
def test_every_column_of_every_row_is_plain_json(command, operator, peer, monkeypatch):
    peer.declare("q", {"x-max-length": 1})
    make_stream(operator.world)
    client = StreamPeer(operator.world)
    client.declare(reference="writer")
    client.publish(b"x")
    client.send(StoreOffset("g", "s", 0))
    client.subscribe(name="g", **{"single-active-consumer": "true"})
    peer.call(methods.Queue.Bind(queue="q", exchange="amq.topic", routing_key="#"))
    peer.declare("mine", exclusive=True)
    delayed = {"exchange_type": "x-delayed-message", "arguments": {"x-delayed-type": "fanout"}}
    peer.call(methods.Exchange.Declare(exchange="later", **delayed))
    peer.publish("later", "k", b"x", headers={"x-delay": 60_000})
    peer.publish("", "q", b"x")
    peer.consume("q", exclusive=True)
    operator.ask("set_topic_permissions", username="guest", exchange="amq.topic", write=".*", read=".*")
    operator.ask("set_vhost_limits", definition='{"max-queues": 9}')
    operator.ask("set_global_parameter", name="g", value="1")
    for name in ("set_policy", "set_operator_policy"):
        operator.ask(name, name="p", pattern="q", definition='{"max-length": 5}')
    operator.daemon.audited = [b'{"time":"t","event":"command","facts":{"exit":0}}']
    # A queue of ours is never anything but running, and one that is not is what one of the listings lists.
    monkeypatch.setattr(Queue, "state", "stopped")
    takes = {field.name for field in command.fields()}
    known = {"username": "guest", "file": "-"}
    known |= {"name": "q"} if command.name == "list_policies_that_match" else {}
    known |= {"stream": "s"} if command.name == "list_stream_tracking" else {}
    known |= {"stream": "s", "reference": "g"} if command.name == "list_stream_group_consumers" else {}
    operator.ask("set_user_limits", username="guest", definition='{"max-channels": 9}')
    # Without these, one document is shown instead of a table.
    known |= dict.fromkeys(("all_vhosts", "all_users"), True)
    given = {name: value for name, value in known.items() if name in takes}
    operator.lines = [["queues", [{"name": "new", "vhost": "/"}]]]
    rows = operator.list(command.name, *[column.name for column in command.columns if "columns" in takes], **given)
    assert rows
    for row in rows:
        assert len(row) == len(command.columns)
        assert codec.decode(codec.encode(row)) == row


def test_a_name_that_is_not_in_the_table_is_never_imported():
    with pytest.raises(AssertionError):
        commands.load("os")
