"""Completion and parser read the same line: one description, two readers."""

import pytest

from pybroker.control import commands
from pybrokerctl.command_line import LOCAL_NAMES, CommandLine, find
from pybrokerctl.help.click_commands import ClickCommand, CommandTable, general_of

LINES = [
    "-q -t 5 ping",
    "ping -q -t 5",
    "-t 5 ping --timeout=7",
    "list_queues name -p v messages --offline -qs",
    "list_queues -pv",
    "list_queues -qpv --vhost=w",
    "list_queues --watch name",
    "list_queues --watch 0.5 name",
    "delete_user -- -q",
    "-q -- delete_user a",
    "close_all_connections --limit 1 bye",
    "set_user_tags u a b c",
    "-p v set_permissions u a b c",
    "list_exchanges --formatter json --no-table-headers",
    "add_vhost v --description d --tags=a,b",
    "set_topic_permissions -p v u e w r",
    "-n rabbit@vm --socket /s status --unit mb",
    "--dry-run -y delete_vhost v",
    "version",
    "help ping",
    "--version",
]


def nothing(*_args):
    return []


def read_by_click(words: list[str]) -> tuple[str | None, dict, dict]:
    """Return the command's name, its arguments and the general options, as click reads them."""
    table = CommandTable(nothing)
    with table.make_context("pybrokerctl", list(words), resilient_parsing=True) as ctx:
        if not ctx._protected_args and not ctx.args:
            return None, {}, general_of(ctx)
        rest = [*ctx._protected_args, *ctx.args]
        command = table.get_command(ctx, rest[0])
        with command.make_context(rest[0], rest[1:], parent=ctx, resilient_parsing=True) as inner:
            given = {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in inner.params.items()
                if not name.startswith("general_") and value not in (None, False, ())
            }
            return rest[0], given, general_of(inner)


@pytest.mark.parametrize("line", LINES)
def test_click_reads_a_line_as_we_do(line):
    command, given, general = CommandLine(line.split()).parse()
    as_words = {
        name: [str(one) for one in value] if isinstance(value, list) else value if value is True else str(value)
        for name, value in given.items()
    }
    assert read_by_click(line.split()) == (command and command.name, as_words, general)


@pytest.mark.parametrize("name", [*LOCAL_NAMES, *commands.NAMES])
def test_click_knows_every_option_and_argument(name):
    command = find(name)
    flags = {flag for one in ClickCommand(command, nothing).params for flag in one.opts}
    for field in command.fields():
        assert set(field.arg.flags.split() or [field.name]) <= flags
