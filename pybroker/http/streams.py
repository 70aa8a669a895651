"""Streams: answers that are sent as they are made: of commands that go on, as lines of JSON, and long lists."""

import traceback
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from werkzeug.wrappers import Request, Response

from pybroker.http import errors
from pybroker.http.compression import compress_parts
from pybroker.http.fields import as_json
from pybroker.http.node import IDLE, Refused, Unavailable

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document

# Without anything to tell an empty line is sent, so that a client that has gone is noticed.
IDLE_S: Final = 5.0
TYPE: Final = "application/x-ndjson"


def stream(call: "Call", command: str, **args: Any) -> Response:
    """Return the answer of a command as it comes; it ends when the client leaves. Raises HttpError, Unavailable.

    A line is `{"progress": [done, total]}` or `{"event": ...}`, the last one `{"value": ...}` or `{"error": ...}`.
    """
    try:
        lines = call.answer(command, progress=True, idle_s=IDLE_S, **args)
    except Refused as refused:
        raise errors.of_command(refused) from None
    return Response(_shown(lines), 200, content_type=TYPE)


def listed(request: Request, parts: "Iterable[list[Document]]", headers: Mapping[str, str]) -> Response:
    """Return a JSON array of the documents of all parts, of which the first is waited for. Raises what that raises."""
    left = iter(parts)
    first = next(left, [])
    response = Response(_array(chain([first], left)), 200, dict(headers), content_type="application/json")
    return compress_parts(request, response)


def _array(parts: "Iterable[list[Document]]") -> Iterator[str]:
    """Yield the text of an array; a fault amid it ends the connection, so that nobody takes a part for the whole."""
    begin = "["
    try:
        for documents in parts:
            if documents:
                yield begin + as_json(documents)[1:-1]
                begin = ","
    except (Refused, Unavailable) as error:
        raise ConnectionAbortedError(str(error)) from None
    except Exception:
        traceback.print_exc()  # to the log of the node
        raise
    yield "[]" if begin == "[" else "]"


def _shown(lines: Iterator[Any]) -> Iterator[str]:
    value: Any = {}
    try:
        for line in lines:
            match line:
                case [event]:
                    yield _line({"event": event})
                case {"progress": progress}:
                    yield _line({"progress": progress})
                case {"value": value}:
                    pass
                case _ if line is IDLE:
                    yield "\n"
        yield _line({"value": value})
    except Refused as refused:
        yield _line({"error": errors.of_command(refused).document})
    except Unavailable as error:
        yield _line({"error": errors.unavailable(str(error)).document})


def _line(value: Any) -> str:
    return as_json(value) + "\n"
