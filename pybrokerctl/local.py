"""The commands that ask no node: help, version, completion, autocomplete."""

import sys
from typing import Annotated, Any, Final, NamedTuple

from pybroker.control import commands
from pybroker.control.spec import Arg, BadArguments, Command, NoArgs
from pybroker.version import VERSION
from pybrokerctl.command_line import LOCAL_NAMES, UnknownCommand, find
from pybrokerctl.help import usage

SHELLS: Final = ("bash", "zsh", "fish")


class HelpArgs(NamedTuple):
    """The command to explain."""

    command: Annotated[str | None, Arg("command to explain; default: list all commands", names="command")] = None
    list_commands: Annotated[bool, Arg("list only the names of the commands", "--list-commands")] = False


class CompletionArgs(NamedTuple):
    """The shell."""

    shell: Annotated[str, Arg(f"the shell: {', '.join(SHELLS)}", choices=SHELLS)]


class AutocompleteArgs(NamedTuple):
    """The words typed so far."""

    prefix: Annotated[str, Arg("beginning of a command's name", names="command")]


def say_help(_node: Any, args: HelpArgs) -> str:
    """Return the list of commands, or the page of one. Raises UnknownCommand."""
    if args.list_commands:
        return "\n".join([*LOCAL_NAMES, *commands.NAMES])
    if args.command is None:
        return usage.general_usage(sys.stdout).removesuffix("\n")
    command = find(args.command)
    if command is None:
        raise UnknownCommand(args.command)
    return usage.command_help(command, sys.stdout).removesuffix("\n")


def say_version(_node: Any, _args: NoArgs) -> str:
    """Return the version."""
    return VERSION


def say_completion(_node: Any, args: CompletionArgs) -> str:
    """Return the shell's script that completes our command lines."""
    from pybrokerctl.help import completion  # noqa: PLC0415 - one of four

    return completion.script(args.shell).removesuffix("\n")


def say_matches(_node: Any, args: AutocompleteArgs) -> str:
    """Return the commands that begin so, one a line. Raises BadArguments without any."""
    found = [name for name in (*LOCAL_NAMES, *commands.NAMES) if name.startswith(args.prefix)]
    if not found:
        raise BadArguments(f"no command begins with '{args.prefix}'")
    return "\n".join(found)


COMMANDS: Final = {
    "autocomplete": Command(
        name="autocomplete",
        section="Help",
        summary="Lists the commands whose names begin with a prefix",
        args=AutocompleteArgs,
        effect="read",
        access="none",
        run=say_matches,
    ),
    "completion": Command(
        name="completion",
        section="Help",
        summary="Displays the completion script for a shell, which completes commands, options and names of "
        "queues, virtual hosts, users, exchanges and connections",
        args=CompletionArgs,
        effect="read",
        access="none",
        run=say_completion,
    ),
    "help": Command(
        name="help",
        section="Help",
        summary="Displays usage information for a command",
        args=HelpArgs,
        effect="read",
        access="none",
        run=say_help,
    ),
    "version": Command(
        name="version",
        section="Help",
        summary="Displays the version",
        args=NoArgs,
        effect="read",
        access="none",
        run=say_version,
    ),
}
