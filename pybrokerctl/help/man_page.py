"""pybrokerctl(1) in roff, made of the same specifications as `--help`, so that the two cannot differ.

`pybrokerctl --man-page > man/pybrokerctl.1` writes it; a test compares.
"""

from collections.abc import Iterable, Iterator

from pybroker.control import commands
from pybroker.control.spec import Command
from pybrokerctl import exit_codes
from pybrokerctl.command_line import LOCAL_NAMES, find
from pybrokerctl.general import WATCH
from pybrokerctl.help import usage
from pybrokerctl.help.man_text import HEAD, TAIL

_REPORT = find("report_backlog")
assert _REPORT is not None
OF_REPORTS = usage.arguments(_REPORT)
COMMON = frozenset({("--vhost, -p <vhost>", "virtual host"), (WATCH.long_with_value, WATCH.help), *OF_REPORTS})


def page() -> str:
    """Return the whole page."""
    return HEAD + "".join(_options()) + "".join(_commands()) + "".join(_exit_status()) + TAIL


def section(command: Command) -> str:
    """Return one command's part of the page."""
    words = " ".join(usage.signature(command))
    lines = [f".SS {escape(command.name)}", f".B {escape(command.name)}", escape(words), ".PP"]
    lines.append(f"{escape(command.summary)}.")
    lines += _entries(each for each in usage.arguments(command) if each not in COMMON)
    if command.columns:
        default = " ".join(usage.shown_by_default(command))
        lines += [".PP", f"Columns; without any, {escape(default)}:"]
        lines += _entries((column.name, column.help) for column in command.columns)
    if command.verdicts:
        lines += [".PP", "Verdicts:", *_entries(command.verdicts)]
    if command.examples:
        lines += [".PP", ".nf", *map(escape, command.examples), ".fi"]
    return "\n".join(line for line in lines if line) + "\n"


def _entries(entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    for label, text in entries:
        yield f".TP\n.B {escape(label)}\n{escape(text)}"


def escape(text: str) -> str:
    """Return text in which roff sees nothing but text: dashes stay dashes, no line starts a request."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


def _options() -> Iterator[str]:
    yield ".SH OPTIONS\nOptions may precede or follow the command.\n"
    yield from (f"{one}\n" for one in _entries((*usage.general_options(), (WATCH.long_with_value, WATCH.help))))
    yield ".PP\nReports have these options, the pipeline's commands some of them:\n"
    yield from (f"{one}\n" for one in _entries(OF_REPORTS))


def _commands() -> Iterator[str]:
    yield ".SH COMMANDS\n"
    for name in (*LOCAL_NAMES, *commands.NAMES):
        command = find(name)
        assert command is not None, name
        yield section(command)


def _exit_status() -> Iterator[str]:
    yield ".SH EXIT STATUS\n"
    for code, meaning in exit_codes.MEANINGS.items():
        yield f".TP\n.B {code}\n{escape(meaning)}\n"
