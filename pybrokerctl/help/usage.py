"""Texts of `--help`: usage lines, the list of commands, a command's page; all read off the specifications.

On a terminal lines are wrapped at its width; in a pipe they are as long as they are.
"""

from collections.abc import Iterable, Iterator
from typing import Final, TextIO

from pybroker.control import commands
from pybroker.control.spec import Command, Field
from pybrokerctl.command_line import LOCAL_NAMES, PROGRAM, find
from pybrokerctl.general import ABOUT, EVERYWHERE, further
from pybrokerctl.help import absent
from pybrokerctl.terminal import terminal

GENERAL_USAGE: Final = f"{PROGRAM} [--node <node>] [--timeout <timeout>] [--quiet] <command> [<command options>]"
# The column where texts begin, after the names; longer names have a line of their own.
TEXT_COLUMN: Final = 33
# How alike two names are, of 1, when nothing else can be meant.
SURE: Final = 0.9
# Verbs of commands that take something away: one is suggested only if its verb, or almost that, was typed.
TAKE_AWAY: Final = frozenset({"clear", "delete", "force", "forget", "purge", "remove", "reset"})
SAME_VERB: Final = 0.7


def general_usage(stream: TextIO) -> str:
    """Return the usage line and the commands by section."""
    page = _Page(stream)
    lines = ["", page.title("Usage"), "", *page.wrap(GENERAL_USAGE, "", "    "), "", page.title("Available commands:")]
    sections: dict[str, list[Command]] = {}
    for name in (*LOCAL_NAMES, *commands.NAMES):
        command = find(name)
        assert command is not None, name
        sections.setdefault(command.section, []).append(command)
    for section, found in sections.items():
        lines += ["", page.title(f"{section}:"), "", *page.entries((one.name, one.summary) for one in found)]
    lines += ["", *page.wrap(f"Use '{PROGRAM} help <command>' to learn more about a specific command"), ""]
    return "\n".join(lines)


def usage_line(command: Command) -> str:
    """Return one command's usage line."""
    parts = [PROGRAM, "[--node <node>]", "[--timeout <timeout>]", "[--quiet]", command.name, *signature(command)]
    return " ".join(parts)


def usage_text(command: Command | None, stream: TextIO) -> str:
    """Return one command's usage line, or the general one, in as many lines as a terminal needs."""
    return "\n".join(_Page(stream).wrap(usage_line(command) if command else GENERAL_USAGE, "", "    "))


def signature(command: Command) -> Iterator[str]:
    """Yield the words of the usage line after the command's name."""
    fields = {field.name: field for field in command.fields()}
    groups = {name: group for group in command.one_of for name in group}
    for name, field in fields.items():
        if name not in groups:
            yield _word(field) if field.required else f"[{_word(field)}]"
        elif name == groups[name][0]:
            yield f"({' | '.join(_word(fields[one]) for one in groups[name])})"
    if command.columns:
        yield "[--no-table-headers]"
    for one in further(command):
        yield f"[{one.long_with_value}]"


def _word(field: Field) -> str:
    text = field.label
    if not field.positional and field.kind is not bool:
        text += f" <{field.arg.metavar or field.name}>"
    return f"{text} ..." if field.many else text


def command_help(command: Command, stream: TextIO) -> str:
    """Return the page that `help <command>` shows."""
    page = _Page(stream)
    lines = ["", page.title("Usage"), "", *page.wrap(usage_line(command), "", "    "), ""]
    lines += [*page.wrap(f"{command.summary}."), ""]
    explained = arguments(command)
    if explained:
        lines += [page.title("Arguments and Options"), ""]
        for label, text in explained:
            lines += [label, *page.wrap(text, "\t", "\t"), ""]
    if command.columns:
        lines += [page.title("Columns"), "", *page.entries((column.name, column.help) for column in command.columns)]
        lines += ["", *page.wrap(f"Shown by default: {' '.join(shown_by_default(command))}"), ""]
    if command.verdicts:
        lines += [page.title("Verdicts"), "", *page.entries(command.verdicts), ""]
    if command.examples:
        lines += [page.title("Examples"), "", *(f"    {line}" for line in command.examples), ""]
    general = ((f"{one.short:<4}{one.long_with_value}", one.help) for one in (*EVERYWHERE, *ABOUT))
    lines += [page.title("General Options"), "", *page.entries(general)]
    return "\n".join([*lines, ""])


def arguments(command: Command) -> list[tuple[str, str]]:
    """Return what a command takes, (label, explanation) each; --help and the man page show the same."""
    own = [(flags_and_label(field), field.arg.help) for field in command.fields()]
    return own + [(one.long_with_value, one.help) for one in further(command)]


def general_options() -> list[tuple[str, str]]:
    """Return the general options, (flags, explanation) each."""
    return [(", ".join(filter(None, (one.short, one.long_with_value))), one.help) for one in (*EVERYWHERE, *ABOUT)]


def shown_by_default(command: Command) -> tuple[str, ...]:
    """Return the columns shown when none are asked for."""
    # If the columns depend on the arguments, these all have defaults.
    shown = command.shown(command.args()) if callable(command.default) else command.default
    return shown or tuple(column.name for column in command.columns)


def flags_and_label(field: Field) -> str:
    """Return `<queue>`, `--if-empty, -e` or `--limit <limit>`: long flags first, else in their order."""
    if field.positional:
        return field.label
    value = "" if field.kind is bool else f" <{field.arg.metavar or field.name}>"
    return ", ".join(sorted(field.arg.flags.split(), key=lambda flag: flag[:2] != "--")) + value


def unknown_command(name: str, stream: TextIO) -> str:
    """Return why a command does not exist, the names that come nearest, and how to get help."""
    found = f"\nCommand '{name}' not found. \n"
    names = " or ".join(f"'{near}'" for near in _nearest(name))
    told = [explained] if (explained := absent.explain(name)) else [f"Did you mean {names}? "] * bool(names)
    # Differs from RabbitMQ: it lists all commands, which push the sentence off the screen.
    told.append(f"Use '{PROGRAM} help' to list all commands")
    page = _Page(stream)
    return found + "".join(f"{line}\n" for text in told for line in page.wrap(text))


def _nearest(name: str) -> list[str]:
    """Return the commands that a name may stand for: those whose first word it is, or up to three that look like it."""
    from difflib import SequenceMatcher, get_close_matches  # noqa: PLC0415 - 8 ms, and only this needs it

    if "_" not in name and (longer := [other for other in commands.NAMES if other.startswith(f"{name}_")]):
        return [other.replace("_", " ", 1) for other in longer]
    names = [*commands.NAMES, *LOCAL_NAMES]
    verbs = {other.partition("_")[0] for other in names}
    typed = name.partition("_")[0]

    def is_typed(verb: str) -> bool:
        """Tell whether a verb is what was typed, its beginning, or a slip; another command's verb is none."""
        if typed in verbs:
            return typed == verb
        alike = SequenceMatcher(None, typed, verb).ratio() >= SAME_VERB or sorted(typed) == sorted(verb)
        return alike or (len(typed) > 1 and verb.startswith(typed))

    harmless = [other for other in names if (verb := other.partition("_")[0]) not in TAKE_AWAY or is_typed(verb)]
    near = get_close_matches(name, harmless, n=3, cutoff=0.7)
    # One that is all but the same is meant.
    return near[:1] if near and SequenceMatcher(None, name, near[0]).ratio() > SURE else near


class _Page:
    """Lays text out for one stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._columns = terminal.width(stream)

    def title(self, text: str) -> str:
        """Return a heading."""
        return terminal.bold(text, self._stream)

    def wrap(self, text: str, first: str = "", others: str = "") -> Iterator[str]:
        """Yield the lines of a text, the first and the others indented; a single line in a pipe."""
        if self._columns is None:
            yield first + text
        else:
            # One column stays free: a full line makes some terminals add an empty one.
            yield from terminal.wrap(text, self._columns - 1, first.expandtabs(), others.expandtabs())

    def entries(self, entries: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Yield names with their texts beside them."""
        for name, text in entries:
            label = f"   {name:<{TEXT_COLUMN - 4}} "
            if len(label) > TEXT_COLUMN and self._columns is not None:
                yield label.rstrip()
                label = " " * TEXT_COLUMN
            yield from self.wrap(text, label, " " * TEXT_COLUMN)
