"""Orders of operators for queues and messages: look, move, redrive, pause, trace; the preview of a policy."""

from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import ADMINISTRATOR, MANAGEMENT, POLICYMAKER
from pybroker.http import errors, fields, messages
from pybroker.http.node import Refused
from pybroker.http.route import Route
from pybroker.http.streams import stream

if TYPE_CHECKING:
    from werkzeug.wrappers import Response

    from pybroker.http.call import Call
    from pybroker.http.lists import Document

PEEK: Final = ("start", "newest_first", "number", "where", "match", "unacked", "delayed", "body_size", "format")
PEEK_MAX: Final = 500
MOVE: Final = ("to", "to_exchange", "routing_key", "number", "rate", "where", "older_than", "dry_run")
REDRIVE: Final = ("reason", "origin", "through_exchange", "number", "rate", "dry_run")
PAUSE: Final = ("why", "publish", "consume", "mode")
TRACE: Final = ("vhost", "queue", "exchange", "header", "number", "duration")
PREVIEW: Final = ("pattern", "apply-to", "priority", "definition")


def _options(call: "Call", known: tuple[str, ...]) -> dict[str, Any]:
    """Return the members of the body, which are arguments of a command. Raises HttpError."""
    given = call.fields()
    if unknown := sorted(given.keys() - set(known)):
        raise errors.bad_request(f"unknown members: {', '.join(unknown)}")
    return given


def _asked(call: "Call", command: str, **args: Any) -> Any:
    try:
        return call.ask(command, **args)
    except Refused as refused:
        raise errors.of_command(refused) from None


def _peek(call: "Call", vhost: str, name: str) -> "Document":
    given = _options(call, PEEK)
    if isinstance(given.get("number"), int) and given["number"] > PEEK_MAX:
        raise errors.bad_request(f"number may be {PEEK_MAX} at most")
    documents: list[Document] = []
    facts: Mapping[str, Any] = {}
    try:
        for line in call.answer("peek_messages", **{**given, "queue": name, "vhost": vhost}):
            if isinstance(line, list):
                documents += line
            elif "facts" in line:
                facts = line["facts"]
    except Refused as refused:
        raise errors.of_command(refused) from None
    return {"messages": [_whole(*each) for each in messages.with_parts(iter(documents))], **facts}


def _whole(document: Mapping[str, Any], body: bytes | None) -> "Document":
    """Return a message; a long body stays in base64."""
    more = {} if body is None else {"body": b64encode(body).decode(), "body_format": "base64"}
    return {**{name: value for name, value in document.items() if name != "body_parts"}, **more}


def _move(call: "Call", vhost: str, name: str) -> "Response":
    return stream(call, "move_messages", **{**_options(call, MOVE), "source": name, "vhost": vhost})


def _redrive(call: "Call", vhost: str, name: str) -> "Response":
    return stream(call, "redrive", **{**_options(call, REDRIVE), "queue": name, "vhost": vhost})


def _trace(call: "Call") -> "Response":
    return stream(call, "trace_message", **_options(call, TRACE))


def _pause(call: "Call", vhost: str, name: str) -> Any:
    given = _options(call, PAUSE)
    fields.required(given, "why")
    return _asked(call, "pause_queue", **{**given, "queue": name, "vhost": vhost})


def _resume(call: "Call", vhost: str, name: str) -> Any:
    return _asked(call, "resume_queue", queue=name, vhost=vhost)


def _preview(call: "Call", vhost: str, name: str) -> Any:
    given = _options(call, PREVIEW)
    pattern, definition = fields.required(given, "pattern", "definition")
    what = {
        "pattern": fields.text(pattern, "pattern"),
        "definition": fields.as_json(definition),
        "priority": given.get("priority", 0),
        "apply_to": fields.text(given.get("apply-to", "all"), "apply-to"),
    }
    return _asked(call, "preview_policy", name=name, vhost=vhost, **what)


_QUEUE: Final = "/api/pybroker/queues/<vhost>/<name>"
ROUTES: Final = (
    Route("POST", f"{_QUEUE}/peek", MANAGEMENT, _peek),
    Route("POST", f"{_QUEUE}/move", ADMINISTRATOR, _move),
    Route("POST", f"{_QUEUE}/redrive", ADMINISTRATOR, _redrive),
    Route("PUT", f"{_QUEUE}/pause", ADMINISTRATOR, _pause),
    Route("DELETE", f"{_QUEUE}/pause", ADMINISTRATOR, _resume),
    Route("POST", "/api/pybroker/trace", ADMINISTRATOR, _trace),
    Route("POST", "/api/pybroker/policies/<vhost>/<name>/preview", POLICYMAKER, _preview),
)
