"""Command lines by click: the group of all commands, and each command's specification as a click command.

Only the chosen command's file is loaded. Parsing ends in a value, `Parsed`, and what click finds wrong in rabbitmqctl's
text and code: click knows neither our exit codes nor our sockets.
"""

import os
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any, Final, NamedTuple

import click

from pybroker.control import commands, spec
from pybroker.control.spec import BadArguments, Command, Field
from pybrokerctl.general import ABOUT, EVERYWHERE, WATCH, WATCH_S, General, further

PROGRAM: Final = "pybrokerctl"
LOCAL_NAMES: Final = ("autocomplete", "completion", "help", "version")
# What general options are called in click's contexts, apart from a command's own arguments of the same name.
PREFIX: Final = "general_"
# No word of a command line can hold it: it hides the dash of a negative number from click, who would see an option.
HIDDEN: Final = "\0"
# By which a shell asks click to complete a line.
COMPLETION_VARIABLE: Final = "_PYBROKERCTL_COMPLETE"

Completer = Callable[[click.Context, click.Parameter, str], list[Any]]


class Parsed(NamedTuple):
    """What a command line says: the command, None without one, its arguments, and the general options."""

    command: Command | None
    given: dict[str, Any]
    general: dict[str, Any]


class UnknownCommand(Exception):
    """There is no such command."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class CommandTable(click.Group):
    """All commands, none of them loaded. `chosen` is the one that a command line named, for the text of an error."""

    def __init__(self) -> None:
        super().__init__(
            PROGRAM,
            params=[_general_option(one) for one in (*EVERYWHERE, *ABOUT)],
            callback=self._parsed,
            invoke_without_command=True,
            add_help_option=False,
        )
        self.chosen: Command | None = None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        del ctx
        return [*LOCAL_NAMES, *commands.NAMES]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, whose file is loaded now; None if there is none."""
        del ctx
        command = find(cmd_name)
        return CommandLine(command) if command else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return name, command and the words after it. Raises UnknownCommand."""
        command = find(args[0])
        if command is not None:
            self.chosen = command
            return args[0], CommandLine(command), args[1:]
        if ctx.resilient_parsing:
            return None, None, args
        raise UnknownCommand(args[0])

    def _parsed(self, **_params: Any) -> Parsed | None:
        """Return what was parsed if no command follows."""
        ctx = click.get_current_context()
        return None if ctx.invoked_subcommand else Parsed(None, {}, _general_of(ctx))


class CommandLine(click.Command):
    """One command's arguments and options."""

    def __init__(self, command: Command) -> None:
        self.spec = command
        super().__init__(
            command.name,
            params=[
                *(_own(command, field) for field in command.fields()),
                *map(_general_option, _accepted(command)),
            ],
            callback=self._parsed,
            add_help_option=False,
            short_help=command.summary,
            # How many are too many is said in rabbitmqctl's words.
            context_settings={"allow_extra_args": True},
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words after the command's name."""
        return super().parse_args(ctx, list(_disambiguated(args)))

    def _parsed(self, **params: Any) -> Parsed:
        """Return what was parsed. Raises BadArguments when there are too few or too many words."""
        ctx = click.get_current_context()
        fields = self.spec.fields()
        given = {
            field.name: list(params[field.name]) if field.many else params[field.name]
            for field in fields
            if _is_given(params[field.name])
        }
        general = _general_of(ctx)
        if not general.get("help"):
            # What can be asked for may be missing.
            if any(field.required and field.name not in given and not field.arg.prompt for field in fields):
                raise BadArguments("not enough arguments.")
            if ctx.args:
                raise BadArguments("too many arguments.")
        return Parsed(self.spec, given, general)


def parse(words: list[str], table: CommandTable) -> Parsed:
    """Return what the words say. Raises BadArguments, UnknownCommand; SystemExit when a shell asks to complete them."""
    if COMPLETION_VARIABLE in os.environ:
        from pybrokerctl import completion  # noqa: F401, PLC0415 - it makes our way with bash and fish known to click

        table.main(words, PROGRAM, COMPLETION_VARIABLE)
    try:
        # Not click's main: it answers signals and closed pipes in its own way.
        with table.make_context(PROGRAM, list(words)) as ctx:
            parsed = table.invoke(ctx)
    except click.UsageError as error:
        raise BadArguments(f"Invalid options for this command:\n{_explain(error)}") from error
    assert isinstance(parsed, Parsed), parsed
    return parsed


def find(name: str) -> Command | None:
    """Return the command of this name, loading it now; None if there is none."""
    if name in commands.NAMES:
        return commands.load(name)
    if name in LOCAL_NAMES:
        from pybrokerctl import local  # noqa: PLC0415 - rarely needed

        return local.COMMANDS[name]
    return None


def _accepted(command: Command) -> Iterator[General]:
    """Yield the general options a command takes after its name: all but for flags that it uses itself."""
    own = {flag for field in command.fields() for flag in field.arg.flags.split()}
    return (one for one in (*EVERYWHERE, *further(command)) if own.isdisjoint(one.flags.split()))


def _general_option(one: General) -> click.Option:
    declared = [*one.flags.split(), PREFIX + one.name]
    if not one.metavar:
        return click.Option(declared, is_flag=True, help=one.help)
    return click.Option(declared, type=_shown, help=one.help, shell_complete=_completer(one.name))


def _own(command: Command, field: Field) -> click.Parameter:
    """Return a field of a command's Args as click's parameter. What is required, we look at ourselves."""

    def convert(word: str) -> Any:
        return spec.convert(field, _shown(word))

    words = tuple(column.name for column in command.columns) if field.arg.names == "column" else field.arg.choices
    complete = _completer(field.arg.names, words)
    if field.positional:
        count = -1 if field.many else 1
        return click.Argument([field.name], required=False, nargs=count, type=convert, shell_complete=complete)
    declared = [*field.arg.flags.split(), field.name]
    if field.kind is bool:
        return click.Option(declared, is_flag=True, help=field.arg.help)
    return click.Option(declared, multiple=field.many, type=convert, help=field.arg.help, shell_complete=complete)


def _completer(names: str, words: tuple[str, ...] = ()) -> Completer:
    """Return what completes a word: names of the running node, or some of `words`."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[Any]:
        from pybrokerctl import completion  # noqa: PLC0415 - the shell asks for it, a call does not

        return completion.complete(names, words, {**ctx.params, **_general_of(ctx)}, incomplete)

    return complete


def _disambiguated(words: list[str]) -> Iterator[str]:
    """Yield words so that negative numbers are no options and --watch takes the next one only if it is a number."""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        if word == WATCH.flags and not following.replace(".", "", 1).isdecimal():
            yield f"{word}={WATCH_S:g}"
        elif word[:1] == "-" and word[1:].replace(".", "", 1).isdecimal():
            yield HIDDEN + word
        else:
            yield word


def _is_given(value: Any) -> bool:
    return value is not None and value is not False and value != ()


def _shown(word: str) -> str:
    return word.removeprefix(HIDDEN)


def _general_of(ctx: click.Context) -> dict[str, Any]:
    """Return the general options given, before and after the command's name; the later one counts."""
    found = _general_of(ctx.parent) if ctx.parent else {}
    for name, value in ctx.params.items():
        if name.startswith(PREFIX) and _is_given(value):
            found[name.removeprefix(PREFIX)] = value
    return found


def _explain(error: click.UsageError) -> str:
    """Return `--bogus : ` in rabbitmqctl's form, with a near miss or with what click says of one that exists."""
    if isinstance(error, click.NoSuchOption):
        from difflib import get_close_matches  # noqa: PLC0415 - 8 ms, and only this needs it

        # click's own idea of near is as near as --bogus and --tags.
        near = get_close_matches(error.option_name, error.possibilities or [], n=1, cutoff=0.75)
        return f"{error.option_name} : " + "".join(f"Did you mean {other}?" for other in near)
    if isinstance(error, click.BadOptionUsage):
        return f"{error.option_name} : {error.format_message()}"
    return error.format_message()
