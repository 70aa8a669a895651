"""Requests to the daemon over its control socket (pybroker-control(7)), one connection each."""

import socket
from collections.abc import Iterable
from typing import Any, Final

from pybroker.control import codec

# Nothing that a test asks for takes long; a daemon that was stopped by a debugger must not hang the run.
ANSWER_S_MAX: Final = 60.0


class Refused(Exception):
    """The daemon refused a request; the text is its sentence."""


def request(path: str, command: str, /, *, document: Iterable[list[Any]] = (), **arguments: Any) -> Any:
    """Run a command; return the rows of a listing as objects by column, else its value.

    `document` are the lines that some commands ask for. Raises Refused; OSError: the daemon is down.
    """
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(ANSWER_S_MAX)
        peer.connect(path)
        with peer.makefile("rb") as answers:
            # The node introduces itself.
            _next(answers)
            peer.sendall(codec.encode_request(command, arguments))
            first = _next(answers)
            if "send" in first:
                lines = list(document)
                peer.sendall(codec.encode_lines([*lines, {"end": len(lines)}]))
                first = _next(answers)
            if "columns" not in first:
                return first.get("value")
            rows = []
            while isinstance(row := _next(answers), list):
                rows.append(dict(zip(first["columns"], row, strict=True)))
            return rows


def _next(answers: Any) -> Any:
    """Return the value of the next line. Raises Refused, ConnectionError."""
    line = answers.readline()
    if not line:
        raise ConnectionResetError("the broker closed the control connection before its answer was complete")
    value = codec.decode(line)
    if isinstance(value, dict) and "error" in value:
        raise Refused(value["error"]["text"])
    return value
