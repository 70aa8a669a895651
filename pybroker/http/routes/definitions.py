"""Definitions, as RabbitMQ's files of definitions have them."""

import re
from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import ADMINISTRATOR
from pybroker.http.route import Reply, Route

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


ROUTES: Final = (
    Route("GET", "/api/definitions", ADMINISTRATOR, _export),
    Route("GET", "/api/definitions/<vhost>", ADMINISTRATOR, _export),
    Route("GET", "/api/all-configuration", ADMINISTRATOR, _export),
)
