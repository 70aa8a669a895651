"""A caller of the control socket in the test's own process: starting pybrokerctl takes as long as a whole lifetime."""

import json
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

WAIT_S = 60.0
LINE_ITEMS = 200


class RefusedError(Exception):
    """The daemon said no; the text is its sentence."""


class GoneError(Exception):
    """The daemon ended before it answered."""


def document(**sections: list[dict[str, Any]]) -> list[bytes]:
    """Return a definitions document as it is sent behind import_definitions."""
    lines = [
        _line([name, items[at : at + LINE_ITEMS]])
        for name, items in sections.items()
        for at in range(0, len(items), LINE_ITEMS)
    ]
    return [*lines, _line({"end": len(lines)})]


def ask(path: Path, command: str, *, lines: Iterable[bytes] = (), **args: object) -> Any:
    """Run one command; return its value, or the rows of a listing. Raises RefusedError, GoneError."""
    try:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(WAIT_S)
            peer.connect(str(path))
            answers = _answers(peer)
            next(answers)
            peer.sendall(_line({"command": command, "args": args}))
            return _result(peer, answers, lines)
    except (ConnectionError, FileNotFoundError, StopIteration) as error:
        raise GoneError(command) from error


def _result(peer: socket.socket, answers: Iterator[Any], lines: Iterable[bytes]) -> Any:
    rows = []
    for answer in answers:
        if isinstance(answer, list):
            rows.append(answer)
        elif "error" in answer:
            raise RefusedError(answer["error"]["text"])
        elif "send" in answer:
            peer.sendall(b"".join(lines))
        elif "value" in answer:
            return answer["value"]
        elif "end" in answer:
            return rows
    raise StopIteration


def _answers(peer: socket.socket) -> Iterator[Any]:
    with peer.makefile("rb") as stream:
        for line in stream:
            if line.endswith(b"\n"):  # half a line is all that some are left with
                yield json.loads(line)


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
