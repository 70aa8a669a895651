"""One command line from its words to its exit code: parse, then help, a local answer, or a call to the node."""

import os
import sys
from typing import Any, cast

from pybroker.control.spec import BadArguments, Command, Node, Refused
from pybrokerctl import exit_codes, messages
from pybrokerctl.call import Call, perform
from pybrokerctl.command_line import COMPLETION_VARIABLE, LOCAL_NAMES, CommandLine, Parsed, UnknownCommand
from pybrokerctl.options import Options
from pybrokerctl.render import cell
from pybrokerctl.terminal import terminal


def run(words: list[str]) -> int:
    """Do what the words say; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks is shown escaped, never as a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if os.environ.get(COMPLETION_VARIABLE):
        from pybrokerctl.help import completion  # noqa: PLC0415 - it loads click, which a call does without

        return completion.answer()
    line = CommandLine(words)
    try:
        code = _act(line.parse())
        sys.stdout.flush()
    except UnknownCommand as unknown:
        from pybrokerctl.help import usage  # noqa: PLC0415 - it loads every command

        sys.stderr.write(usage.unknown_command(unknown.name, sys.stderr))
        return exit_codes.USAGE
    except BadArguments as error:
        _complain(error, words, line.chosen)
        return error.exit_code
    return code


def _act(parsed: Parsed) -> int:
    command, general = parsed.command, parsed.general
    if "version" in general:
        return _answer("version", {})
    if "man_page" in general:
        from pybrokerctl.help import man_page  # noqa: PLC0415 - it loads every command

        sys.stdout.write(man_page.page())
        return exit_codes.OK
    if "help" in general:
        return _answer("help", {"command": command.name} if command else {})
    if command is None:
        from pybrokerctl.help import usage  # noqa: PLC0415 - it loads every command

        sys.stderr.write(usage.general_usage(sys.stderr))
        return exit_codes.USAGE
    if command.name in LOCAL_NAMES:
        return _answer(command.name, parsed.given)
    return perform(make_call(parsed))


def make_call(parsed: Parsed) -> Call:
    """Return the call that a parsed command line means. Raises BadArguments."""
    command, given, general = parsed
    assert command is not None
    idle_vhost = None
    if any(field.name == "vhost" and field.arg.flags for field in command.fields()):
        # -p before the command's name; after it, it is the command's own option.
        if "vhost" in general:
            given = {"vhost": general["vhost"], **given}
    else:
        idle_vhost = general.get("vhost")
    if messages.has_format(command):
        given, general = messages.read_format(given, general)
    return Call(command, given, Options.read(general), idle_vhost)


def _answer(name: str, given: dict[str, Any]) -> int:
    """Write what a command says that asks no node. Raises BadArguments, UnknownCommand."""
    from pybrokerctl import local  # noqa: PLC0415 - rarely needed

    command = local.COMMANDS[name]
    text = command.run(cast("Node", None), command.parse(given))
    sys.stdout.write(f"{text}\n")
    return exit_codes.OK


def _complain(error: Refused, words: list[str], command: Command | None) -> None:
    from pybrokerctl.help import usage  # noqa: PLC0415 - only for what is wrong

    line = usage.usage_text(command, sys.stderr)
    shown = " ".join(words)
    text = f"Error (argument validation): {error.text}\nArguments given:\n\t{shown}\n\nUsage\n\n{line}\n"
    sys.stderr.write(terminal.complaint(cell.lines(text)))
