"""Streams: the answer of a command that goes on, as lines of JSON, each sent as soon as it comes."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from werkzeug.wrappers import Response

from pybroker.http import errors
from pybroker.http.node import IDLE, Refused, Unavailable

if TYPE_CHECKING:
    from pybroker.http.call import Call

# Without anything to tell an empty line is sent, so that a client that has gone is noticed.
IDLE_S: Final = 5.0
TYPE: Final = "application/x-ndjson"
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def stream(call: "Call", command: str, **args: Any) -> Response:
    """Return the answer of a command as it comes; it ends when the client leaves. Raises HttpError, Unavailable.

    A line is `{"progress": [done, total]}` or `{"event": ...}`, the last one `{"value": ...}` or `{"error": ...}`.
    """
    try:
        lines = call.answer(command, progress=True, idle_s=IDLE_S, **args)
    except Refused as refused:
        raise errors.of_command(refused) from None
    return Response(_shown(lines), 200, content_type=TYPE)


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
    return _encode(value) + "\n"
