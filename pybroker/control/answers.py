"""Answers: what the control socket says to a request, line by line, and how a request reads in the log.

Knows no socket: `control/server.py` sends what is made here.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pybroker.control import codec
from pybroker.control.spec import EX_UNAVAILABLE, EX_USAGE, Column, Command, Refused

if TYPE_CHECKING:
    from pybroker.control.roles import Controller

ROWS_PER_SLICE: Final = 200

# Yields octets to be sent, and returns those at which the caller knows that all is done.
Answer: TypeAlias = Generator[bytes, None, bytes]


def describe(command: Command, args: Any) -> str:
    """Return a command and its arguments for the log, secrets hidden."""
    words = [command.name]
    for field in command.fields():
        value = getattr(args, field.name)
        if value != field.default or field.required:
            words.append(f"{field.name}={'***' if field.arg.secret else repr(value)}")
    return " ".join(words)


def listing(columns: Sequence[Column], nouns: Iterator[Any]) -> Answer:
    """Yield header and rows, a slice at a time, return the end. What the first row refuses comes before the header."""
    batch = list(islice(nouns, ROWS_PER_SLICE))
    head = codec.encode({"columns": [column.name for column in columns]})
    count = 0
    while batch:
        count += len(batch)
        yield head + codec.encode_lines(_rows(columns, batch))
        head = b""
        batch = list(islice(nouns, ROWS_PER_SLICE))
    return head + codec.encode({"end": count})


def _rows(columns: Iterable[Column], nouns: Iterable[Any]) -> Iterator[list[Any]]:
    if any(column.table for column in columns):
        for noun in nouns:
            yield [codec.table_triples(c.read(noun)) if c.table else c.read(noun) for c in columns]
    else:
        reads = [column.read for column in columns]
        for noun in nouns:
            yield [read(noun) for read in reads]


def error_line(refused: Refused) -> bytes:
    """Return the line that ends an answer which is none."""
    facts = {"facts": refused.facts} if refused.facts else {}
    return codec.encode({"error": {"text": refused.text, "exit_code": refused.exit_code, **facts}})


def check_app(command: Command, controller: "Controller") -> None:
    """Raise Refused where the command wants the app in another state."""
    if command.app == "running" and controller.recovering is not None:
        text = f"the node is starting: recovering its messages, {controller.recovering} %"
        raise Refused(f"{text}. Wait for it with 'pybrokerctl await_startup'.", EX_UNAVAILABLE)
    if command.app == "running" and not controller.app_running:
        text = "this command requires the 'rabbit' app to be running on the target node."
        raise Refused(f"{text} Start it with 'pybrokerctl start_app'.", EX_USAGE)
    if command.app == "stopped" and controller.app_running:
        text = "this command requires the 'rabbit' app to be stopped on the target node."
        raise Refused(f"{text} Stop it with 'pybrokerctl stop_app'.", EX_USAGE)
