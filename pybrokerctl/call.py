"""One call from a parsed command line to its exit code: find the node, ask, render. Knows no sockets."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pybroker.control.spec import BadArguments, Command, Refused
from pybrokerctl import exit_codes, render, views
from pybrokerctl.client import Connection, TimedOut, Unreachable
from pybrokerctl.locate import Target, explain_unreachable, locate
from pybrokerctl.options import Options


class Call(NamedTuple):
    """A command with its arguments; `idle_vhost` was given to a command that is not scoped to one."""

    command: Command
    given: dict[str, Any]
    options: Options
    idle_vhost: str | None = None

    @property
    def timeout_s(self) -> float | None:
        """Return how long it may take: what was given, else the command's own; None is for ever."""
        return self.command.timeout_s if self.options.timeout_s is None else self.options.timeout_s or None


def perform(call: Call) -> int:
    """Do it; return the exit code. Raises BadArguments."""
    command, options = call.command, call.options
    given = _ask_missing(call)
    args = command.parse(given)
    if call.idle_vhost is not None:
        _note(call, f"{command.name} is not scoped to a virtual host, so -p changes nothing")
    target = None
    try:
        target = locate(options.node, options.socket)
        if options.dry_run:
            _print_banner(call, args, target.node)
            return exit_codes.OK
        with Connection(target.path, call.timeout_s) as connection:
            if options.node not in {None, connection.node, connection.node.partition("@")[0]}:
                _note(call, f"{options.node} means the local node {connection.node}")
            _print_banner(call, args, connection.node)
            _check_pid_file(args, connection.pid)
            _show(call, args, connection, given)
            if command.ends_daemon:
                connection.wait_until_gone()
    except Refused as refused:
        return _fail(call, target, f"Error:\n{refused.text}", refused.text, refused.exit_code)
    except TimedOut:
        return _timed_out(call, target)
    except Unreachable as unreachable:
        assert target is not None
        if getattr(args, "idempotent", False):
            return exit_codes.OK
        text = explain_unreachable(target.node, unreachable.path, unreachable.why)
        short = f"node {target.node} does not answer: {unreachable}"
        return _fail(call, target, text, short, exit_codes.UNAVAILABLE)
    return exit_codes.OK


def _show(call: Call, args: Any, connection: Connection, given: Mapping[str, Any]) -> None:
    """Ask, and write the answer as it comes."""
    command, options = call.command, call.options
    formatter = render.load(options.formatter)
    columns, answer = connection.ask(command.name, given)
    if columns is not None:
        tables = {column.name for column in command.columns if column.table}
        head = render.Head(
            tuple(columns),
            frozenset(index for index, name in enumerate(columns) if name in tables),
            show=options.headers,
            pad=options.pad,
        )
        _write(formatter.rows(head, answer))
    elif options.silent and isinstance(answer, str) and options.formatter not in render.MACHINE:
        return
    elif isinstance(answer, dict) and options.formatter in render.FOR_PEOPLE and (view := views.find(command.name)):
        _write(view(answer, args))
    else:
        _write(formatter.value(answer, connection.node))


def _write(texts: Iterable[str]) -> None:
    """Write each text at once: the first rows are to be seen while the last are not there yet."""
    for text in texts:
        sys.stdout.write(text)
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
    banner = call.command.banner
    if not banner or not call.options.talks:
        return
    template = banner if isinstance(banner, str) else banner(args)
    seconds = call.timeout_s
    values = {name: ", ".join(one) if isinstance(one, tuple) else one for name, one in args._asdict().items()}
    timeout = "infinity" if seconds is None else float(seconds)
    timeout_ms = "infinity" if seconds is None else int(seconds * 1000)
    sys.stdout.write(template.format(**values, node=node, timeout=timeout, timeout_ms=timeout_ms) + "\n")
    sys.stdout.flush()


def _check_pid_file(args: Any, pid: int) -> None:
    """Refuse to stop one node while watching another: `stop <pidfile>` names the node's own file."""
    path = getattr(args, "pidfile", None)
    if path is None:
        return
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise Refused(
            f"could not read pid from file {path}. Error: {error.strerror}", exit_codes.UNAVAILABLE
        ) from error
    if not text.strip().isdecimal():
        raise Refused(f"could not read pid from file {path}. File contents: {text}", exit_codes.UNAVAILABLE)
    if int(text) != pid:
        raise Refused(
            f"pid file {path} names process {int(text)}, but the node is process {pid}", exit_codes.UNAVAILABLE
        )


def _note(call: Call, text: str) -> None:
    if call.options.talks:
        sys.stderr.write(f"note: {text}\n")


def _timed_out(call: Call, target: Target | None) -> int:
    node = target.node if target else ""
    ms = int((call.timeout_s or 0) * 1000)
    if call.command.name in {"ping", "status"}:
        text = f"Error: timed out while waiting for a response from {node}."
        return _fail(call, target, text, text, exit_codes.SOFTWARE)
    text = f"Error: operation {call.command.name} on node {node} timed out. Timeout value used: {ms}"
    return _fail(call, target, text, text, exit_codes.TEMPFAIL)


def _fail(call: Call, target: Target | None, text: str, short: str, code: int) -> int:
    """Say what is wrong on stderr: `text` to people, `short` as an object to programs that asked for JSON."""
    sys.stdout.flush()
    if call.options.formatter == "json":
        from pybrokerctl.render import json  # noqa: PLC0415 - only here

        sys.stderr.write(json.error(short.removeprefix("Error: "), target.node if target else ""))
    else:
        sys.stderr.write(text.rstrip("\n") + "\n")
    return code
