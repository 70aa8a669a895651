"""pybrokerctl's entry: a command line becomes one call, its end an exit code.

Loads what the one command needs and nothing else: a call must cost less than a tenth of a second. That is why getopt
reads the options, which come from the same table as the help: click costs 30 ms of CPU, as much as all the rest.
"""

import getopt
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from pybroker.control import commands, spec
from pybroker.control.spec import BadArguments, Command, Refused
from pybrokerctl import exit_codes
from pybrokerctl.call import Call, Options, perform

# (name, flags, whether a value follows). usage.py explains each of them.
GENERAL: Final = (
    ("help", "-? --help", False),
    ("node", "-n --node", True),
    ("socket", "--socket", True),
    ("longnames", "-l --longnames", False),
    ("timeout", "-t --timeout", True),
    ("quiet", "-q --quiet", False),
    ("silent", "-s --silent", False),
    ("vhost", "-p --vhost", True),
    ("formatter", "--formatter", True),
    ("no_table_headers", "--no-table-headers", False),
    ("pad_to_header", "--pad-to-header", False),
    ("dry_run", "--dry-run", False),
)
# Only before a command's name.
ABOUT: Final = (("version", "--version", False), ("man_page", "--man-page", False))

Option = tuple[str, str, bool]


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line; return the exit code. Answers go to stdout, errors to stderr."""
    given = list(sys.argv[1:] if words is None else words)
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks is shown escaped, never as a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(given)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except BrokenPipeError:
        # Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.PIPE_CLOSED
    return code


def _run(given: list[str]) -> int:
    command: Command | None = None
    try:
        general, words = parse_general(given)
        name = words.pop(0) if words else ""
        if name == "version" or general.get("version"):
            return _say_version()
        if general.get("man_page"):
            return _say_man_page()
        if name == "help":
            general["help"], name = True, words.pop(0) if words else ""
        if not name or name not in commands.NAMES:
            return _without_command(name, wants_help=bool(general.get("help")))
        command = commands.load(name)
        options, words = parse_command(command, words)
        merged = {**general, **options}
        if merged.pop("help", None):
            return _say_help(command)
        return perform(make_call(command, words, merged))
    except BadArguments as error:
        _complain(error, given, command)
        return error.exit_code


def parse_general(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Split what stands before the command's name off: (options given, the rest). Raises BadArguments."""
    return parse([*GENERAL, *ABOUT], words, getopt.getopt)


def parse_command(command: Command, words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Split a command's words: (options given, positional words). Raises BadArguments."""
    own = [(field.name, field.arg.flags, field.kind is not bool) for field in command.fields() if field.arg.flags]
    # The general -p is the --vhost of the commands that have one.
    return parse([*GENERAL, *(one for one in own if one[0] != "vhost")], words, getopt.gnu_getopt)


def parse(options: Iterable[Option], words: list[str], split: Any) -> tuple[dict[str, Any], list[str]]:
    """Return (value by option name, words that are none), as `split` of getopt sees them. Raises BadArguments."""
    named = {flag: (name, valued) for name, flags, valued in options for flag in flags.split()}
    short = "".join(flag[1] + ":" * valued for flag, (_, valued) in named.items() if flag[1] != "-")
    long = [flag[2:] + "=" * valued for flag, (_, valued) in named.items() if flag[1] == "-"]
    try:
        found, rest = split(list(words), short, long)
    except getopt.GetoptError as error:
        dashes = "-" if len(error.opt) == 1 else "--"
        why = "" if "not recognized" in error.msg else error.msg
        raise BadArguments(f"Invalid options for this command:\n{dashes}{error.opt} : {why}") from None
    given: dict[str, Any] = {}
    for flag, value in found:
        name, valued = named[flag]
        given[name] = value if valued else True
    return given, rest


def make_call(command: Command, words: list[str], merged: dict[str, Any]) -> Call:
    """Return the call that a parsed command line means. Raises BadArguments."""
    general = {name for name, _, _ in GENERAL}
    fields = {field.name: field for field in command.fields()}
    own = {
        name: spec.convert(fields[name], value) if isinstance(value, str) else value
        for name, value in merged.items()
        if name in fields
    }
    options = Options.read({name: value for name, value in merged.items() if name in general})
    idle_vhost = merged.get("vhost") if "vhost" not in fields else None
    given = spec.bind(command, words, own)
    return Call(command, given, options, idle_vhost)


def _say_version() -> int:
    from pybroker.version import VERSION  # noqa: PLC0415 - only this command needs it

    sys.stdout.write(f"{VERSION}\n")
    return exit_codes.OK


def _say_man_page() -> int:
    from pybrokerctl import man_page  # noqa: PLC0415 - it loads every command

    sys.stdout.write(man_page.page())
    return exit_codes.OK


def _say_help(command: Command) -> int:
    from pybrokerctl import usage  # noqa: PLC0415 - it loads every command

    sys.stdout.write(usage.command_help(command))
    return exit_codes.OK


def _without_command(name: str, *, wants_help: bool) -> int:
    from pybrokerctl import usage  # noqa: PLC0415 - it loads every command

    if name:
        sys.stderr.write(usage.unknown_command(name))
        return exit_codes.USAGE
    (sys.stdout if wants_help else sys.stderr).write(usage.general_usage())
    return exit_codes.OK if wants_help else exit_codes.USAGE


def _complain(error: Refused, given: list[str], command: Command | None) -> None:
    from pybrokerctl import usage  # noqa: PLC0415 - it loads every command

    line = usage.usage_line(command) if command else usage.GENERAL_USAGE
    shown = " ".join(given)
    sys.stderr.write(
        f"Error (argument validation): {error.text}\nArguments given:\n\t{shown}\n\nUsage\n\n{line}\n",
    )
