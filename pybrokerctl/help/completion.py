"""Completion in a shell: options and commands by click, names by asking the running node, quickly or not at all."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    shell_complete,
    split_arg_string,
)

from pybroker import paths
from pybroker.control import commands
from pybroker.control.spec import Refused
from pybrokerctl import render
from pybrokerctl.client import Connection, TimedOut, Unreachable
from pybrokerctl.command_line import COMPLETION_VARIABLE, LOCAL_NAMES, PROGRAM
from pybrokerctl.help.click_commands import CommandTable
from pybrokerctl.locate import locate

Item = CompletionItem[str]

# Somebody has pressed a key and waits.
TIMEOUT_S: Final = 0.5
# More than anybody reads; the shell asks before it shows a hundred.
NAMES_MAX: Final = 1_000
# The listing for a kind of name: command, column, and whether a virtual host is chosen.
LISTINGS: Final = {
    "queue": ("list_queues", "name", True),
    "exchange": ("list_exchanges", "name", True),
    "vhost": ("list_vhosts", "name", False),
    "user": ("list_users", "user", False),
    "connection": ("list_connections", "pid", False),
}
# Characters without a special meaning within a word in any shell.
SAFE: Final = frozenset("_-+.,/:@%=^")


def answer() -> int:
    """Write what a shell asks for by its environment variable; return the exit code."""
    asked = os.environ[COMPLETION_VARIABLE]
    return shell_complete(CommandTable(complete), {}, PROGRAM, COMPLETION_VARIABLE, asked)


def complete(names: str, words: Sequence[str], given: Mapping[str, Any], incomplete: str) -> list[Item]:
    """Return what a word may become: a kind of name (`Arg.names`, or a general option's), else one of `words`.

    `given` is the rest of the command line: which node, which virtual host.
    """
    found: Iterator[str]
    match names:
        case "file" | "socket":
            return [CompletionItem(incomplete, type="file")]
        case "column":
            return [CompletionItem(column) for column in _columns(words, incomplete)]
        case "formatter":
            found = iter(render.NAMES)
        case "node":
            found = (path.stem for path in paths.running_sockets())
        case "command":
            found = iter((*LOCAL_NAMES, *commands.NAMES))
        case _ if names in LISTINGS:
            found = _ask(names, given)
        case _:
            found = iter(words)
    matching = (name for name in found if name.startswith(incomplete) and name.isprintable())
    return [CompletionItem(name) for name, _ in zip(matching, range(NAMES_MAX), strict=False)]


def script(shell: str) -> str:
    """Return the script that teaches a shell to complete our command lines."""
    completion = get_completion_class(shell)
    assert completion is not None, shell
    # Not click's own source() of bash, which asks for its version.
    return ShellComplete.source(completion(CommandTable(complete), {}, PROGRAM, COMPLETION_VARIABLE))


def _columns(columns: Sequence[str], incomplete: str) -> Iterator[str]:
    """Yield the columns that the last one of `name,mess` may become, those before it kept."""
    before, comma, last = incomplete.rpartition(",")
    chosen = before.split(",")
    return (before + comma + name for name in columns if name.startswith(last) and name not in chosen)


def _ask(names: str, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names that there are. None when the node does not answer at once."""
    command, column, in_vhost = LISTINGS[names]
    args: dict[str, Any] = {"vhost": given["vhost"]} if in_vhost and given.get("vhost") else {}
    if any(field.name == "columns" for field in commands.load(command).fields()):
        args["columns"] = [column]
    try:
        target = locate(given.get("node"), given.get("socket"))
        with Connection(target.path, TIMEOUT_S) as connection:
            columns, batches = connection.ask(command, args)
            if columns is None or column not in columns:
                return
            for batch in batches:
                yield from (row[columns.index(column)] for row in batch)
    except (Refused, Unreachable, TimedOut):
        return


@add_completion_class
class Bash(BashComplete):
    """Bash, with names that hold what it takes for a border between words (`:`, `@`, `=`), for a list or a pattern.

    Bash replaces only what follows the last border, so the script hands over the line as it is typed, and gets back
    what is to stand there, with backslashes unless the person has begun to quote.
    """

    source_template = """\
%(complete_func)s() {
    local response completion type value
    response=$(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" \
%(complete_var)s=bash_complete "$1")
    COMPREPLY=()
    while IFS= read -r completion; do
        type=${completion%%%%,*}
        value=${completion#*,}
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done <<< "$response"
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one to complete, and what there is of that one."""
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line)
        incomplete = words.pop() if last_word(line) else ""
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return `plain,VALUE`, of the value what follows the last border."""
        typed = last_word(os.environ["COMP_LINE"])
        borders = os.environ.get("COMP_WORDBREAKS", "")
        return f"{item.type},{replacement(typed, str(item.value), borders)}"


def last_word(line: str) -> str:
    """Return what is typed of the last word, quotes and backslashes as they are; nothing behind a blank."""
    start, quote, escaped = 0, "", False
    for index, char in enumerate(line):
        if escaped:
            escaped = False
        elif char == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char.isspace():
            start = index + 1
    return line[start:]


def replacement(typed: str, value: str, borders: str) -> str:
    """Return what bash is to put in place of the part of `typed` that follows its last border."""
    if typed.startswith(("'", '"')):
        # It knows no borders within quotes, and closes them itself.
        return value
    escaped = "".join(char if char.isalnum() or char in SAFE else f"\\{char}" for char in value)
    cut = 0
    for index, char in enumerate(typed):
        if char in borders and typed[index - 1 : index] != "\\":
            cut = index + 1
    # The value of --formatter=j stands alone already.
    return escaped[cut:] if escaped.startswith(typed[:cut]) else escaped


@add_completion_class
class Fish(FishComplete):
    """Fish, with names that hold a comma, as columns do."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')
