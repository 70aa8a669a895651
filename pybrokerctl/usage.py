"""What `--help` says: usage lines, the list of commands, a command's page; all read off the specifications."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from pybroker.control import commands
from pybroker.control.spec import Command, Field

PROGRAM: Final = "pybrokerctl"
GENERAL_USAGE: Final = f"{PROGRAM} [--node <node>] [--timeout <timeout>] [--quiet] <command> [<command options>]"

# (short, long, what it does). What is accepted stands in main.py; the man page shows these too.
GENERAL_OPTIONS: Final = (
    ("-?", "--help", "displays command help"),
    ("-n", "--node <node>", "target node; rabbit@HOST means the local node, so that runbooks keep working"),
    ("", "--socket <path>", "control socket of the node, instead of looking for it (also PYBROKER_SOCKET)"),
    ("-l", "--longnames", "accepted for rabbitmqctl's sake: a node is found with either form of its host's name"),
    ("-t", "--timeout <seconds>", "how long the whole operation may take"),
    ("-q", "--quiet", "no informational messages"),
    ("-s", "--silent", "neither informational messages nor a table header row"),
    ("-p", "--vhost <vhost>", "virtual host, for commands that are scoped to one"),
    ("", "--formatter <name>", "table (default), pretty_table, json or csv"),
    ("", "--no-table-headers", "no header row (table)"),
    ("", "--pad-to-header", "values padded to the width of their header (table)"),
    ("", "--dry-run", "check the arguments, print what would be done, do nothing"),
    ("", "--version", "displays the version"),
)
BUILT_IN: Final = (("help", "Displays usage information for a command"), ("version", "Displays the version"))


def general_usage() -> str:
    """Return the usage line and the commands by section."""
    lines = ["", "Usage", "", GENERAL_USAGE, "", "Available commands:"]
    sections: dict[str, list[tuple[str, str]]] = {"Help": list(BUILT_IN)}
    for command in map(commands.load, commands.NAMES):
        sections.setdefault(command.section, []).append((command.name, command.summary))
    for section, entries in sections.items():
        lines += ["", f"{section}:", "", *(f"   {name:<29} {summary}" for name, summary in entries)]
    return "\n".join([*lines, "", f"Use '{PROGRAM} help <command>' to learn more about a command", ""])


def usage_line(command: Command) -> str:
    """Return one command's usage line."""
    parts = [PROGRAM, "[--node <node>]", "[--timeout <timeout>]", "[--quiet]", command.name, *_signature(command)]
    return " ".join(parts)


def _signature(command: Command) -> Iterator[str]:
    for field in command.fields():
        text = field.label
        if not field.positional and field.kind is not bool:
            text += f" <{field.arg.metavar or field.name}>"
        if field.many:
            text += " ..."
        yield text if field.required else f"[{text}]"
    if command.columns:
        yield "[--no-table-headers]"


def command_help(command: Command) -> str:
    """Return the page that `help <command>` shows."""
    lines = ["", "Usage", "", usage_line(command), "", f"{command.summary}.", ""]
    if command.fields():
        lines += ["Arguments and Options", ""]
        for field in command.fields():
            lines += [flags_and_label(field), f"\t{field.arg.help}", ""]
    if command.columns:
        default = " ".join(command.default or (column.name for column in command.columns))
        lines += ["Columns", ""]
        lines += [f"   {column.name:<29} {column.help}" for column in command.columns]
        lines += ["", f"Shown by default: {default}", ""]
    lines += ["General Options", ""]
    lines += [f"   {short:<4}{long:<24} {text}" for short, long, text in GENERAL_OPTIONS]
    return "\n".join([*lines, ""])


def flags_and_label(field: Field) -> str:
    """Return `<queue>`, `--if-empty, -e` or `--limit <limit>`."""
    if field.positional:
        return field.label
    value = "" if field.kind is bool else f" <{field.arg.metavar or field.name}>"
    return ", ".join(sorted(field.arg.flags.split(), key=len, reverse=True)) + value


def unknown_command(name: str) -> str:
    """Return rabbitmqctl's text for a command that does not exist: the nearest one, or all of them."""
    known = [*commands.NAMES, *(built_in for built_in, _ in BUILT_IN)]
    near = get_close_matches(name, known, n=1, cutoff=0.75)
    if near:
        return f"\nCommand '{name}' not found. \nDid you mean '{near[0]}'? \n"
    return f"\nCommand '{name}' not found. \n{general_usage()}"
