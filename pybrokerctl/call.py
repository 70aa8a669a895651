"""One call from a parsed command line to its exit code: find the node, ask, render. Knows no sockets."""

import sys
from collections.abc import Callable, Generator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from pybroker.control.spec import BadArguments, Command, Refused
from pybrokerctl import definitions, exit_codes, render, response, views
from pybrokerctl.client import Connection, Gone, TimedOut, Unreachable
from pybrokerctl.locate import Target, explain_unreachable, is_rabbit, is_same_node, locate
from pybrokerctl.options import Options
from pybrokerctl.render import cell
from pybrokerctl.terminal import confirm, terminal
from pybrokerctl.terminal.spinner import Spinner

# More of a file than any process id, and as much of another one as a sentence may have.
PID_CHARACTERS_MAX: Final = 64
DRY_RUN: Final = "this was a dry run: the arguments are well formed, the node was not asked, and nothing was done"
# Stands for the node where there is none: a data folder that is not in use, a backup.
ALONE: Final = Target(Path(), "(stopped)")


class Call(NamedTuple):
    """A command with its arguments; `idle_vhost` was given to a command that is not scoped to one."""

    command: Command
    given: dict[str, Any]
    options: Options
    idle_vhost: str | None = None

    @property
    def timeout_s(self) -> float | None:
        """Return how long it may take: as given, else the command's own; None is for ever."""
        return self.command.timeout_s if self.options.timeout_s is None else self.options.timeout_s or None


def perform(call: Call) -> int:
    """Do it; return the exit code. Raises BadArguments."""
    command, options = call.command, call.options
    given = _ask_missing(call)
    args = command.parse(given)
    if command.warn is not None and not options.silent and (warning := command.warn(args)):
        sys.stderr.write(f"warning: {cell.lines(warning)}\n")
    if call.idle_vhost is not None:
        _note(call, f"{command.name} does not work on a virtual host, so -p has no effect")
    target = None
    try:
        if command.offline in {"pipeline", "results"}:
            from pybrokerctl import pipeline  # noqa: PLC0415 - it starts a process

            return pipeline.perform(call, args)
        lines = definitions.prepare(command, args)
        target = ALONE if _is_alone(call) else locate(options.node, options.socket)
        if options.dry_run:
            _print_banner(call, args, target.node)
            _note(call, DRY_RUN)
            return exit_codes.OK
        timeout_s = call.timeout_s
        if command.awaits_daemon:
            from pybrokerctl import wait_for_node  # noqa: PLC0415 - two commands

            where = (options.node, options.socket)
            target, timeout_s = wait_for_node.await_node(command.name, given, timeout_s, _progress(call), *where)
        if command.offline:
            from pybrokerctl import offline  # noqa: PLC0415 - it starts a process

            check = partial(_check_node, call)
            with offline.connect(None if target is ALONE else target, timeout_s, check) as connection:
                return _converse(call, args, connection, given)
        with Connection(target.path, timeout_s) as connection:
            _check_node(call, connection)
            target = target._replace(node=connection.node)
            connection.lines = lines
            return _converse(call, args, connection, given)
    except Refused as refused:
        return _fail(call, target, f"Error:\n{refused.text}", refused.text, refused.exit_code, refused.facts)
    except TimedOut:
        return _timed_out(call, target)
    except Gone:
        text = f"Error:\nnode {target.node if target else ''} disconnected before its answer was complete"
        return _fail(call, target, text, text.removeprefix("Error:\n"), exit_codes.UNAVAILABLE)
    except Unreachable as unreachable:
        assert target is not None
        if getattr(args, "idempotent", False):
            return exit_codes.OK
        text = explain_unreachable(target.node, unreachable.path, unreachable.why)
        short = f"node {target.node} does not respond: {unreachable}"
        return _fail(call, target, text, short, exit_codes.UNAVAILABLE)


def _converse(call: Call, args: Any, connection: Connection, given: Mapping[str, Any]) -> int:
    """Say what is done, ask whether it is meant, do it, show the answer; return the exit code."""
    command, options = call.command, call.options
    if command.name in views.LIVE and options.formatter == render.TERMINAL and not terminal.is_dumb():
        from pybrokerctl.top import live  # noqa: PLC0415 - people only

        return live.run(connection, given, options.watch_s)
    if options.watch_s is not None:
        from pybrokerctl.terminal import watch  # noqa: PLC0415 - people only

        return watch.watch(call, args, connection, given)
    if confirm.is_asked(command, yes=options.yes):
        if not confirm.is_confirmed(_banner(call, args, connection.node) or command.summary):
            sys.stderr.write("Nothing was done.\n")
            return exit_codes.DECLINED
        connection.restart_clock()
    else:
        _print_banner(call, args, connection.node)
    _check_pid_file(args, connection.pid)
    if options.talks and Spinner.is_wanted():
        connection.patience = Spinner(_banner(call, args, connection.node) or command.summary)
    code = exit_codes.OK
    try:
        if command.composed:
            from pybrokerctl import composed  # noqa: PLC0415 - one command

            composed.show(call, connection.ask(command.name, given)[1]["calls"])
        else:
            code = _answered(call, args, connection, given)
        if command.ends_daemon and not getattr(args, "no_wait", False):
            connection.wait_until_gone()
    finally:
        if connection.patience:
            connection.patience.stop()
    return code


def _answered(call: Call, args: Any, connection: Connection, given: Mapping[str, Any]) -> int:
    """Show the answer; return the exit code, which is all that `-s` leaves of a health check. Raises Refused."""
    try:
        code = _write(response.texts(call, args, connection, given))
        connection.confirm_shown()
    except Refused as refused:
        options = call.options
        if not (call.command.is_health_check and options.silent and refused.exit_code == exit_codes.UNAVAILABLE):
            raise
        return refused.exit_code
    return code


def _is_alone(call: Call) -> bool:
    """Tell whether the command works on files that no node uses."""
    return call.command.offline == "alone" or (call.command.offline == "held" and bool(call.given.get("data_dir")))


def _check_node(call: Call, connection: Connection) -> None:
    """Refuse to talk to another node than the one named by -n: --socket or the environment may know of that only."""
    named = call.options.node
    if named is None or is_same_node(named, connection.node):
        return
    if not is_rabbit(named):
        raise Refused(f"the node at {connection.path} is {connection.node}, not {named}", exit_codes.UNAVAILABLE)
    _note(call, f"{named} means the local node {connection.node}")


def _write(texts: Generator[str, None, int | None]) -> int:
    """Write each text at once: the first rows are to be seen while the last are not there yet. Return the exit code."""
    on_terminal = sys.stdout.isatty()
    while True:
        try:
            text = next(texts)
        except StopIteration as end:
            return end.value or exit_codes.OK
        sys.stdout.write(cell.drawn(text) if on_terminal else text)
        sys.stdout.flush()


def _ask_missing(call: Call) -> dict[str, Any]:
    """Return the arguments with what can be asked for: from the terminal without echo, else a line of stdin."""
    given = dict(call.given)
    for field in call.command.fields():
        if field.arg.prompt and field.name not in given:
            if sys.stdin.isatty():
                from getpass import getpass  # noqa: PLC0415 - rarely needed

                word = getpass(field.arg.prompt)
            else:
                word = sys.stdin.readline().rstrip("\n")
            if not word:
                name = field.name.capitalize()
                raise BadArguments(f"{name} is not provided via argument or stdin", exit_codes.DATAERR)
            given[field.name] = word
    return given


def _print_banner(call: Call, args: Any, node: str) -> None:
    if call.options.talks and (banner := _banner(call, args, node)):
        sys.stdout.write(f"{cell.lines(banner)}\n")
        sys.stdout.flush()


def _banner(call: Call, args: Any, node: str) -> str:
    """Return what is done, in rabbitmqctl's words; nothing for a command that goes without."""
    banner = call.command.banner
    template = banner if isinstance(banner, str) else banner(args)
    seconds = call.timeout_s
    values = {name: ", ".join(one) if isinstance(one, tuple) else one for name, one in args._asdict().items()}
    timeout = "infinity" if seconds is None else float(seconds)
    timeout_ms = "infinity" if seconds is None else int(seconds * 1000)
    return template.format(**values, node=node, timeout=timeout, timeout_ms=timeout_ms)


def _check_pid_file(args: Any, pid: int) -> None:
    """Refuse to stop one node while watching another: `stop <pidfile>` names the node's own file."""
    path = getattr(args, "pidfile", None)
    if path is None:
        return
    try:
        with Path(path).open(encoding="ascii", errors="replace") as file:
            text = file.read(PID_CHARACTERS_MAX)
    except OSError as error:
        raise Refused(
            f"could not read pid from file {path}. Error: {error.strerror}", exit_codes.UNAVAILABLE
        ) from error
    if not text.strip().isdecimal():
        shown = text.strip() if len(text) < PID_CHARACTERS_MAX else f"{text.strip()}..."
        raise Refused(f"could not read pid from file {path}. File contents: {shown}", exit_codes.UNAVAILABLE)
    if int(text) != pid:
        raise Refused(
            f"pid file {path} names process {int(text)}, but the node is process {pid}", exit_codes.UNAVAILABLE
        )


def _progress(call: Call) -> Callable[[str], None]:
    """Return a callback that shows, line by line, what a command waits for."""

    def say(text: str) -> None:
        if call.options.talks:
            sys.stdout.write(f"{cell.lines(text)}\n")
            sys.stdout.flush()

    return say


def _note(call: Call, text: str) -> None:
    if call.options.talks:
        sys.stderr.write(f"note: {cell.lines(text)}\n")


def _timed_out(call: Call, target: Target | None) -> int:
    node = target.node if target else ""
    ms = int((call.timeout_s or 0) * 1000)
    if call.command.name in {"ping", "status"}:
        text = f"Error: timed out while waiting for a response from {node}."
        return _fail(call, target, text, text, exit_codes.SOFTWARE)
    text = f"Error: operation {call.command.name} on node {node} timed out. Timeout value used: {ms}"
    return _fail(call, target, text, text, exit_codes.TEMPFAIL)


def _fail(
    call: Call, target: Target | None, text: str, short: str, code: int, facts: Mapping[str, Any] | None = None
) -> int:
    """Say what is wrong on stderr: `text` to people, `short` as an object with `facts` to programs that want JSON."""
    sys.stdout.flush()
    if call.options.formatter == "json":
        from pybrokerctl.render import json  # noqa: PLC0415 - only here

        sys.stderr.write(json.error(short.removeprefix("Error: "), target.node if target else "", facts))
    else:
        # The sentence may hold a name, and a name anything.
        sys.stderr.write(terminal.complaint(cell.lines(text.rstrip("\n"))) + "\n")
    return code
