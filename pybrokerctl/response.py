"""One answer as text: asked for over a connection, shown by a view or a formatter, as it comes."""

import sys
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from pybrokerctl import definitions, messages, render, views
from pybrokerctl.render import cell

if TYPE_CHECKING:
    from pybrokerctl.call import Call
    from pybrokerctl.client import Connection


def texts(
    call: "Call", args: Any, connection: "Connection", given: Mapping[str, Any]
) -> Generator[str, None, int | None]:
    """Ask, and yield the pieces of the answer; return an exit code if it is another one than usual.

    Raises Refused, TimedOut, Gone, also between two pieces.
    """
    command, options = call.command, call.options
    formatter = render.load(options.formatter)
    columns, answer = connection.ask(command.name, given, progress=command.effect != "read" or bool(command.offline))
    if messages.has_format(command):
        yield from messages.texts(args, answer, options, lambda: connection.facts)
    elif command.name in views.STREAMS and options.formatter in render.FOR_PEOPLE:
        events = ([row[0] for row in batch] for batch in answer)
        yield from views.lines(command.name, events, drawn=options.formatter == render.TERMINAL)
    elif command.streams:
        for batch in answer:
            yield "".join(_line(row[0], is_json=command.streams == "json") for row in batch)
    elif columns is not None:
        tables = {column.name for column in command.columns if column.table}
        head = render.Head(
            tuple(columns),
            frozenset(index for index, name in enumerate(columns) if name in tables),
            show=options.headers,
            pad=options.pad,
        )
        if command.name in definitions.COMMANDS:
            return (yield from definitions.texts(call, args, head, answer))
        yield from formatter.rows(head, answer)
    elif options.silent and isinstance(answer, str) and options.formatter not in render.MACHINE:
        return None
    elif isinstance(answer, dict) and options.formatter != "json" and (notes := answer.get("notes")):
        sys.stderr.write("".join(f"note: {cell.lines(note)}\n" for note in notes if not options.silent))
        if answer.get("message"):
            yield from formatter.value(answer["message"], connection.node)
    elif isinstance(answer, dict) and options.formatter in render.FOR_PEOPLE and (view := views.find(command.name)):
        yield from view(answer, args, drawn=options.formatter == render.TERMINAL)
    elif isinstance(answer, dict) and command.name in views.TABLES and options.formatter != "json":
        names, found = views.table(command.name, answer)
        yield from formatter.rows(render.Head(names, show=options.headers, pad=options.pad), [found])
    elif isinstance(answer, dict) and "message" in answer and options.formatter != "json":
        yield from formatter.value(answer["message"], connection.node)
    else:
        yield from formatter.value(answer, connection.node)
    return None


def _line(value: Any, *, is_json: bool) -> str:
    """Return what a stream says as one line."""
    import json  # noqa: PLC0415 - two commands

    return (json.dumps(value) if is_json else cell.lines(value)) + "\n"
