"""Definitions, as RabbitMQ's files of definitions have them: exported, imported, and the plan of an import."""

import re
from typing import TYPE_CHECKING, Any, Final

from pybroker.control import codec
from pybroker.control.access import ADMINISTRATOR
from pybroker.http.errors import HttpError, bad_request, of_command
from pybroker.http.node import Refused
from pybroker.http.route import DONE, Reply, Route

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document

# Of the file that a browser saves them in.
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._@-]")
NAME_MAX: Final = 200


def _export(call: "Call", vhost: str | None = None) -> Reply:
    more = {} if vhost is None else {"vhost": vhost}
    document: Document = {}
    for row in call.records("export_definitions", file="-", **more):
        _add(document, row["section"], row["item"])
    headers = {}
    if name := call.query.get("download", ""):
        safe = _UNSAFE.sub("_", name)[:NAME_MAX]
        headers["Content-Disposition"] = f'attachment; filename="{safe}"'
    return Reply(200, document, headers)


def _add(document: "Document", section: str, item: Any) -> None:
    """Add an item to its section, or a section without items, or a member above the sections."""
    if item is None:
        document.setdefault(section, [])
    elif isinstance(item, dict):
        document.setdefault(section, []).append(item)
    else:
        document[section] = item


def _import(call: "Call", vhost: str | None = None) -> Reply:
    """Import definitions, all of them or none."""
    try:
        call.change("import_definitions", _lines(call), **_options(call, vhost))
    except HttpError as error:
        raise bad_request("failed_to_parse_json") if error.reason == "not_json" else error from None
    return DONE


def _plan(call: "Call") -> "list[Document]":
    """Return what an import would change."""
    columns: list[str] = []
    found: list[Document] = []
    try:
        for line in call.answer("definitions_plan", _lines(call), **_options(call, call.query.get("vhost"))):
            if isinstance(line, list):
                found.append(dict(zip(columns, line, strict=True)))
            else:
                columns = line.get("columns", columns)
    except Refused as refused:
        raise of_command(refused) from None
    return found


def _lines(call: "Call") -> list[bytes]:
    """Return the definitions in the body, as the node takes them. Raises HttpError."""
    try:
        lines = list(codec.document_lines(call.fields(upload=True)))
    except codec.BadLine as error:
        raise bad_request(str(error)) from None
    return [*lines, codec.encode({"end": len(lines)})]


def _options(call: "Call", vhost: str | None) -> dict[str, Any]:
    """Return whether what is not supported is left out, and of which virtual host the definitions are."""
    return {"skip_unsupported": call.flag("skip_unsupported"), **({"vhost": vhost} if vhost else {})}


ROUTES: Final = (
    Route("GET", "/api/definitions", ADMINISTRATOR, _export),
    Route("GET", "/api/definitions/<vhost>", ADMINISTRATOR, _export),
    Route("POST", "/api/definitions", ADMINISTRATOR, _import),
    Route("POST", "/api/definitions/<vhost>", ADMINISTRATOR, _import),
    Route("POST", "/api/pybroker/definitions/plan", ADMINISTRATOR, _plan),
    Route("GET", "/api/all-configuration", ADMINISTRATOR, _export),
)
