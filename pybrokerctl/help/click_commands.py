"""All commands as click sees them: for shells that complete, and for nothing else.

Only the command that is typed is loaded. Checks nothing: a line that is completed is not finished.
"""

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from pybroker.control import commands
from pybroker.control.spec import Command, Field
from pybrokerctl.command_line import LOCAL_NAMES, PROGRAM, accepted, find
from pybrokerctl.general import ABOUT, EVERYWHERE, WATCH, WATCH_S, General

# Prefix of general options in click's contexts, which tells them from a command's own arguments of the same name.
PREFIX: Final = "general_"
# In click's context: words that are no command, or only the first of two.
UNKNOWN: Final = "unknown"

# Called with a kind of name (`Arg.names`), words that are known, the line's values by name, and what is typed so far.
Complete = Callable[[str, tuple[str, ...], dict[str, Any], str], list[Any]]


class CommandTable(click.Group):
    """All commands, none of them loaded."""

    def __init__(self, complete: Complete) -> None:
        super().__init__(
            PROGRAM,
            params=[_general_option(one, complete) for one in (*EVERYWHERE, *ABOUT)],
            invoke_without_command=True,
            add_help_option=False,
        )
        self._complete = complete

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        del ctx
        return [*LOCAL_NAMES, *commands.NAMES]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, whose file is loaded now; None if there is none."""
        del ctx
        command = find(cmd_name)
        return ClickCommand(command, self._complete) if command else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the words name; `stream read` is stream_read, as on a command line."""
        joined = "_".join(args[:2])
        name, command, rest = super().resolve_command(ctx, [joined, *args[2:]] if joined in commands.NAMES else args)
        if command is None:
            ctx.meta[UNKNOWN] = args
        return name, command, rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Return what the command may become; behind the first of two words, the second one."""
        words = ctx.meta.get(UNKNOWN)
        if words is None or incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        first = "_".join([*words, ""])
        names = (name for name in commands.NAMES if name.startswith(first + incomplete))
        return [CompletionItem(name.removeprefix(first)) for name in names]


class ClickCommand(click.Command):
    """One command's arguments and options."""

    def __init__(self, command: Command, complete: Complete) -> None:
        super().__init__(
            command.name,
            params=[
                *(_own(command, field, complete) for field in command.fields()),
                *(_general_option(one, complete) for one in accepted(command)),
            ],
            add_help_option=False,
            short_help=command.summary,
            context_settings={"allow_extra_args": True},
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words after the command's name."""
        return super().parse_args(ctx, list(_watching(args)))


def general_of(ctx: click.Context) -> dict[str, Any]:
    """Return the general options given, before and after the command's name; the later one counts."""
    found = general_of(ctx.parent) if ctx.parent else {}
    for name, value in ctx.params.items():
        if name.startswith(PREFIX) and value not in {None, False}:
            found[name.removeprefix(PREFIX)] = value
    return found


def _general_option(one: General, complete: Complete) -> click.Option:
    declared = [*one.flags.split(), PREFIX + one.name]
    if not one.metavar:
        return click.Option(declared, is_flag=True, help=one.help)
    return click.Option(declared, help=one.help, shell_complete=_completer(complete, one.name))


def _own(command: Command, field: Field, complete: Complete) -> click.Parameter:
    """Return a field of a command's Args as click's parameter, whatever its kind a word."""
    words = tuple(column.name for column in command.columns) if field.arg.names == "column" else field.arg.choices
    completer = _completer(complete, field.arg.names, words)
    if field.positional:
        count = -1 if field.many else 1
        return click.Argument([field.name], required=False, nargs=count, shell_complete=completer)
    declared = [*field.arg.flags.split(), field.name]
    if field.kind is bool:
        return click.Option(declared, is_flag=True, help=field.arg.help)
    return click.Option(declared, multiple=field.many, help=field.arg.help, shell_complete=completer)


def _completer(complete: Complete, names: str, words: tuple[str, ...] = ()) -> Any:
    """Return what click asks what a word may become."""

    def completer(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[Any]:
        return complete(names, words, {**ctx.params, **general_of(ctx)}, incomplete)

    return completer


def _watching(words: list[str]) -> Iterator[str]:
    """Yield words so that --watch takes the next one only if it is a number."""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        if word == WATCH.flags and not following.replace(".", "", 1).isdecimal():
            yield f"{word}={WATCH_S:g}"
        else:
            yield word
